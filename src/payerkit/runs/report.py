"""The report of a run: the outcome of every row; and what it has in common with a plan:
reasons, and corrections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import pandas as pd

from payerkit import _tsv, html
from payerkit.errors import without_internal_frames
from payerkit.findings import COLUMNS, Severity, table_finding
from payerkit.frames import frame_of
from payerkit.html import is_web_address
from payerkit.reasons import Outcome
from payerkit.runs.intent import gone_accounts
from payerkit.runs.journal import Entry, Journal
from payerkit.runs.locate import other_journals
from payerkit.runs.rows import NOUNS, Naming, Problem, Row, Step, of_severity, shown_id
from payerkit.runs.tasks import Limit, Table, Tasks
from payerkit.tables.corrections import RowProblem, write_corrections
from payerkit.tables.damage import BASIS
from payerkit.tables.normalise import SourceTable, findings_in
from payerkit.tables.spreadsheets import save_rows
from payerkit.wording import count_of, in_words, visible

PAYER_NOT_SENT = Outcome("payer_not_sent")
HELD = Outcome("held")
"""Why rows are not sent that a plan and a report have in common."""


class Reason(NamedTuple):
    """A reason in words, with the rows that have it, in their order. kind: a state of
    rows, or a finding's severity.

    code: of a warning, by which rows are held back, "" for any other reason. column: of
    the table, "" for none.
    """

    kind: str
    message: str
    hint: str = ""
    code: str = ""
    column: str = ""
    rows: Sequence[int] = ()

    def hint_with_readings(self, naming: Naming) -> str:
        """Return what to do, and how normalise=True would change the cells of the
        rows.
        """
        return naming.with_readings(self.hint, self.column, self.rows)

    def text(self, naming: Naming) -> str:
        """Return the reason in words, with what to do and its code."""
        code = self.code and f"[{self.code}]"
        words = [self.message, self.hint_with_readings(naming), code]
        return " ".join(each for each in words if each)


ReasonOfRow = tuple[Reason, int]
"""A reason without rows, and the number of a row that has it."""


class Overview:
    """Rows of a table with what was found in them. A plan and a report have a `frame`
    of these rows.
    """

    frame: pd.DataFrame
    _kinds: ClassVar[dict[str, html.ChipKind]]
    """The colour of each state, and of each severity that is shown; most urgent
    first.
    """

    def __init__(self, table: Table, found: Sequence[Problem]) -> None:
        self._table = table
        self._found = found
        self._naming = table.naming

    @property
    def findings(self) -> pd.DataFrame:
        """One row per finding; a report also has one for each row that was changed
        after it was stored.
        """
        rows = []
        labels = self._naming.labels.take([each.row for each in self._found])
        for each, label in zip(self._found, labels, strict=True):
            cell, header, hint = self._naming.place(each)
            finding = {name: getattr(each.finding, name) for name in COLUMNS}
            rows.append(
                {
                    "row": label,
                    "cell": cell,
                    "column": header,
                    **finding,
                    "hint": hint,
                    "step": each.step,
                }
            )
        texts = dict.fromkeys(("cell", "column", *COLUMNS, "step"), "string")
        return frame_of(rows, {"row": self._naming.labels.dtype, **texts})

    def _texts_of(self, *severities: Severity) -> list[str]:
        """Return the findings of some severities as text, those of each row."""
        return self._naming.texts(of_severity(self._found, *severities))

    def _rows_with(self, severity: Severity) -> set[int]:
        return {each.row for each in of_severity(self._found, severity)}

    def _left_out(self) -> list[str]:
        """Return which rows under the table were left out when its file was read, one
        sentence a line.
        """
        notes = sorted(self._table.origin.notes.items())
        return [
            f"Row {row} is {kind} under the table, and left out." for row, kind in notes
        ]

    # Reasons

    def _shown_reasons(self) -> list[tuple[str, str]]:
        """Return the state of each row, and the reason in words; "" if there is nothing
        to add.
        """
        raise NotImplementedError

    def _reasons_of_findings(
        self, found: Iterable[Problem], kind: str = ""
    ) -> Iterator[ReasonOfRow]:
        """Yield findings as reasons. kind: that of all; by default, it is the
        severity.
        """
        for each in found:
            problem = each._replace(finding=each.general or each.finding)
            finding = problem.finding
            column = problem.column(self._naming.columns)
            message = finding.message
            if column:
                message = f"{self._naming.origin.shown_header(column)}: {message}"
            code = finding.code if finding.severity == "warning" else ""
            yield (
                Reason(
                    kind or finding.severity,
                    message,
                    self._naming.hint(problem),
                    code,
                    column,
                ),
                each.row,
            )

    def _grouped(self, found: Iterable[ReasonOfRow]) -> list[Reason]:
        """Return the reasons of the rows, and those found, with all rows of each.

        The most frequent ones of each kind come first. A row may have several.
        """
        rows: dict[Reason, set[int]] = {}
        states = (
            (Reason(state, text), row)
            for row, (state, text) in enumerate(self._shown_reasons())
            if text
        )
        for reason, row in chain(states, found):
            rows.setdefault(reason, set()).add(row)
        ranks = {kind: rank for rank, kind in enumerate(self._kinds)}
        grouped = (reason._replace(rows=sorted(own)) for reason, own in rows.items())
        return sorted(grouped, key=lambda each: (ranks[each.kind], -len(each.rows)))

    def _line(self, reason: Reason, words: str) -> str:
        """Return a line of text about a reason."""
        where = self._naming.where(reason.column, reason.rows)
        return f"{count_of(len(reason.rows), 'row'):>10}  {words} ({where})"

    def _grid(
        self,
        reasons: Iterable[Reason],
        words: Callable[[Reason], str],
        head: tuple[str, str],
        caption: str,
    ) -> str:
        """Return reasons as a picture, "" without any. head: of the columns of kinds
        and of words.
        """
        rows = []
        for each in reasons:
            chip = html.chip(self._kinds[each.kind], in_words(each.kind))
            where = self._naming.where(each.column, each.rows)
            rows.append((f"{len(each.rows):,}", chip, words(each), where))
        if not rows:
            return ""
        return html.grid(("rows", *head, "which"), rows, caption=caption)

    # Files

    @without_internal_frames
    def save(self, path: str | Path) -> None:
        """Write `frame`, its index first, to a file that only its owner may read: an
        Excel workbook if the name ends in .xlsx, and CSV otherwise.

        The links of a report let their reader act as the payer. A cell or label that a
        spreadsheet would compute, such as `=1+1`, has an apostrophe in front.

        Args:
            path: The file to write; an existing one is replaced.

        Raises:
            InvalidInput: If the path is that of a symbolic link, or of no file.
            OSError: If the file cannot be written; what was there is as it was.

        Example:
            >>> plan_onboarding(pd.DataFrame([payer])).save("plan.csv")
            >>> pd.read_csv("plan.csv").columns.tolist()
            ['row', 'state', 'reason', 'client_user_id', 'payer', 'bank_details',
            'findings']
        """
        save_rows(self.frame, path)

    @without_internal_frames
    def save_corrections(self, path: str | Path) -> int:
        """Write the rows that need something to a corrections file, to be corrected and
        read again: of a plan, the rows that would not be sent, and those with warnings;
        of a report, those with errors, refused, or not sent and with warnings.

        The file has the sender's own columns, in their order, with **personal data**
        and account numbers in full, so only its owner may read it. The column
        `problems` says what is wrong and what to do, and in a workbook the cells to
        correct are coloured. All cells are text, and none is computed.

        `read_payers` knows the file: it reads the columns as before, gives each row the
        label that it had, and leaves out what payerkit wrote. A damaged cell that
        nobody corrected is still an error. Whoever writes `keep Null` into `problems`
        keeps this placeholder in its row. Sent with the same journal, only what was
        not sent yet is sent.

        Args:
            path: The file to write, .xlsx or .csv, which must not exist.

        Returns:
            The number of rows written; if it is 0, there is no file.

        Raises:
            InvalidInput: If the file exists or is of another kind. Nothing was written.
            ImportError: If openpyxl, which .xlsx files need, is not installed.
            OSError: If the file cannot be written.

        Example:
            >>> plan_onboarding(
            ...     pd.DataFrame([{**payer, "email": "john.doe"}])
            ... ).save_corrections("to-correct.csv")
            1
        """
        chosen = list(self._needing_something())
        if chosen:
            table = SourceTable.of(self._table.planned, self._table.origin)
            problems = self._problems(table, set(chosen))
            reasons = self._shown_reasons()
            for row in set(chosen) - self._rows_with("error"):
                state, text = reasons[row]
                if text and state != "done":
                    problems.append(RowProblem(row, "", in_words(state), text))
            write_corrections(Path(path), table, problems, chosen=chosen)
        return len(chosen)

    def _needing_something(self) -> Iterable[int]:
        """Return the numbers of the rows for a corrections file."""
        raise NotImplementedError

    def _problems(self, rows: pd.DataFrame, chosen: set[int]) -> list[RowProblem]:
        """Return the errors and warnings of some rows, errors first."""
        checked = [
            (each.row, each.column(self._naming.columns), each.finding)
            for each in self._found
        ]
        found = [
            *findings_in(rows),
            *(each for each in checked if each[2].basis != BASIS),
        ]
        problems = dict.fromkeys(
            RowProblem(row, column, each.severity, each.message, each.hint, each.code)
            for row, column, each in found
            if row in chosen and each.severity != "info"
        )
        return sorted(problems, key=lambda each: (each.place, each.kind != "error"))


# The outcome of every row

_THERE = {"there_already", "payer_there_already"}
"""Why rows are done for which nothing was stored."""

_NOT_OF_THE_ROW = {"account_conflict", "listed_failed", "stored_failed"}
"""Why rows are refused in which there is nothing to correct."""

_SHOWN_REASONS = 5
"""Reasons that the text of a report has; its picture has more."""

_PICTURED_REASONS = 12

_SHOWN_IDS = 5
"""Ids of accounts that the text of a report has."""

_STATES = ("done", "refused", "unknown", "not_sent", "waiting", "duplicate")

_OF_A_PERSON = {"perhaps_there", "there_failed", "held", "row_gone", "id_respelled"}
"""Why rows are not sent that no run sends until a person decides about it."""

_FACTS = (
    "user_id",
    "kyc_status",
    "agreement_status",
    "status",
    "agreement_url",
    "kyc_url",
)
_COLUMN_OF = {"id": "payment_details_id"} | {name: name for name in _FACTS}
"""The column of each fact in the journal."""


class RowOutcome(NamedTuple):
    """The outcome of a row: what a row of the report shows, beside its findings."""

    client_user_id: str | None
    step: str = ""
    state: str = "not_sent"
    user_id: str | None = None
    payment_details_id: str | None = None
    kyc_status: str | None = None
    agreement_status: str | None = None
    status: str | None = None
    agreement_url: str | None = None
    kyc_url: str | None = None
    attempts: int = 0
    retryable: bool = False
    reason: Outcome | None = None
    other_ids: str = ""

    def after(self, step: Step, entry: Entry | None, stopped: Outcome | None) -> Self:
        """Return the outcome with one more step, from the journal's record of its
        task.
        """
        if entry is None:
            return self.not_sent(step, stopped or Outcome("not_tried"), is_open=True)
        known = {
            column: entry.facts[name]
            for name, column in _COLUMN_OF.items()
            if name in entry.facts
        }
        found = self._replace(
            **known,
            attempts=self.attempts + entry.attempts,
            other_ids=", ".join(entry.facts.get("other_ids", ())),
        )
        if entry.state == "not_sent":
            return found.not_sent(step, entry.reason, is_open=True)
        state = entry.shown_state
        # The next run looks for what is unknown.
        is_open = state == "unknown" or entry.is_unsent
        return found._replace(
            step=step, state=state, retryable=is_open, reason=entry.reason
        )

    def not_sent(self, step: Step, reason: Outcome | None, *, is_open: bool) -> Self:
        """Return the outcome with a step that was not sent. A step is taken only after
        the one before it is done.
        """
        is_of_a_person = reason is not None and reason.code in _OF_A_PERSON
        if self.step == "payer" and not is_of_a_person:
            reason = Outcome("payer_stored", {"noted": reason})
        return self._replace(
            step=step,
            state="not_sent",
            reason=reason,
            retryable=is_open and not is_of_a_person,
        )

    @property
    def code(self) -> str:
        """The code of the reason, without remarks; "" for no reason."""
        return self.reason.main.code if self.reason else ""

    @property
    def text(self) -> str:
        """The reason in words, "" for none."""
        return self.reason.text if self.reason else ""


_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(
        ("state", "reason", "reason_code", *RowOutcome._fields, "findings"), "string"
    ),
    "attempts": "int64",
    "retryable": "bool",
}
"""The columns of a report and their dtypes."""


class Report(Overview):
    """The outcome of every row of a run.

    `str()` and a notebook show a summary, what to do next, and the reasons with their
    numbers of rows; `frame` has the rows.

    Attributes:
        frame: One row for each row of the input, in its order and with its index.
            Columns, all of dtype string unless noted: `state`: done, refused (the
            service refused it), unknown (it was sent, the outcome is unknown),
            not_sent, waiting (an account that is sent once its payer is compliant), or
            duplicate (an account that is stored twice); `reason`, empty for most rows
            that are done; `reason_code`, the same for programs, such as
            "perhaps_there"; `client_user_id` (an e-mail address is masked); `step`, the
            last one that was tried (payer, bank_details); `user_id`,
            `payment_details_id`, `kyc_status`, `agreement_status`, `status` (of the
            bank details), `agreement_url` and `kyc_url`, as the service returned them;
            `attempts` (int64), times that the row's requests were sent; `retryable`
            (bool), True if the same call again may do more; `findings`, the warnings
            and infos that the row was sent with, "" for none; `other_ids`, of a
            duplicate, the ids of the other accounts, separated by commas, else "".
        journal: The path of the journal of the run.
        stopped: Why the run stopped before all rows were tried; "" if it did not.

    Example:
        >>> report = onboard(client, pd.DataFrame([payer]), journal="run.journal")
        >>> report
        1 row: 1 done.
        >>> report.frame[["state", "client_user_id", "step", "kyc_status", "attempts"]]
          state client_user_id   step   kyc_status  attempts
        0  done       user-123  payer  not_started         1
    """

    _kinds: ClassVar[dict[str, html.ChipKind]] = {
        "refused": "error",
        "unknown": "warning",
        "duplicate": "other",
        "not_sent": "neutral",
        "waiting": "info",
        "warning": "warning",
        "done": "success",
    }

    def __init__(
        self,
        tasks: Tasks,
        journal: Journal,
        stopped: Outcome | None,
        limit: Limit,
        *,
        others: int = 0,
    ) -> None:
        """Read the outcomes from a journal. stopped: why the run stopped early. limit:
        what it tried. others: how many accounts were listed that no row explains.
        """
        outcomes = _Outcomes(tasks, journal, stopped, limit)
        table = tasks.table
        super().__init__(
            table, sorted([*table.found, *outcomes.changes], key=attrgetter("row"))
        )
        self._rows = outcomes.rows
        self.stopped = stopped.text if stopped else ""
        self._stored = outcomes.stored
        self._strays = outcomes.strays
        self._gone_ids = outcomes.gone_ids
        self._others = others
        self.journal = journal.path
        self._notes = _journal_notes(journal, table)
        self._changed = sorted({each.row for each in outcomes.changes})
        findings = self._texts_of("warning", "info")
        cells = (
            {
                **row._asdict(),
                "reason": row.text,
                "reason_code": row.code,
                "findings": text,
            }
            for row, text in zip(self._rows, findings, strict=True)
        )
        self.frame = frame_of(cells, _COLUMNS, index=self._naming.labels)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows in each state; together, all rows."""
        counted = Counter(row.state for row in self._rows)
        return {state: counted[state] for state in _STATES}

    @without_internal_frames
    def save_links(self, path: str | Path) -> int:
        """Write a CSV file for a mail merge: one row for each payer that is done, with
        the links to its pages.

        The file has **personal data**: ids and e-mail addresses in full, and links that
        let their reader act as the payer. Hence it is never written unasked, and only
        its owner may read it. Its columns: `client_user_id`, `email`, `agreement_url`,
        `kyc_url`. A link is empty if the service did not return it as a web address; so
        is one that contains the payer's id, since a journal keeps no ids. A payer
        without any link has no row. An id or address that a spreadsheet would compute,
        such as `=1+1@example.com`, has an apostrophe in front.

        Args:
            path: The file to write; an existing one is replaced.

        Returns:
            The number of rows written.

        Raises:
            InvalidInput: If the path is that of a symbolic link, or of no file.
            OSError: If the file cannot be written; what was there is as it was.

        Example:
            >>> onboard(
            ...     client, pd.DataFrame([payer]), journal="links.journal"
            ... ).save_links("links.csv")
            1
        """
        links: dict[int, list[str]] = {}
        for row, outcome in zip(self._table.rows, self._rows, strict=True):
            # A row without an e-mail address is an account alone. Its payer is done if
            # its account was tried.
            email = row.data.get("payer", {}).get("email")
            is_done = outcome.step == "bank_details" or outcome.state == "done"
            urls = [_link(outcome.agreement_url), _link(outcome.kyc_url)]
            if email and is_done and any(urls):
                own = [str(row.client_user_id), str(email), *urls]
                links.setdefault(row.payer, own)
        found = pd.DataFrame(
            [*links.values()],
            columns=["client_user_id", "email", "agreement_url", "kyc_url"],
        )
        save_rows(found.set_index("client_user_id"), path)
        return len(found)

    def _needing_something(self) -> Iterable[int]:
        """Return the numbers of the rows in which there is something to correct."""
        faulty = self._rows_with("error") | self._rows_with("warning")
        for place, row in enumerate(self._rows):
            is_faulty = place in faulty and row.state == "not_sent"
            is_refused = row.state == "refused" and row.code not in _NOT_OF_THE_ROW
            if is_faulty or is_refused or row.code in {"row_gone", "id_respelled"}:
                yield place

    def _summary(self) -> str:
        parts = [
            f"{count:,} {in_words(state)}"
            for state, count in self.counts.items()
            if count
        ]
        states = [self._rows[row].state for row in self._rows_with("warning")]
        warned = states.count("done")
        if warned == 1:
            parts.insert(1, "1 with a warning")
        elif warned:
            parts.insert(1, f"{warned:,} with warnings")
        return (
            f"{count_of(len(self.frame), 'row')}:"
            f" {', '.join(parts) or 'nothing to do'}."
        )

    def _advice(self) -> list[str]:
        """Return what happened and what to do, one sentence a line."""
        lines = [*self._left_out(), *self._notes]
        if self.stopped:
            lines.append(f"The run stopped early: {self.stopped}")
            stored = [
                count_of(each, NOUNS[step]) for step, each in self._stored.items()
            ]
            lines.append(f"Stored so far: {' and '.join(stored)}.")
        numbers = self._count_situations()
        changed = self._naming.where("", self._changed)
        gone = ", ".join(self._gone_ids[:_SHOWN_IDS])
        if len(self._gone_ids) > _SHOWN_IDS:
            gone += ", ..."
        for row in _tsv.rows("payerkit.runs", "advice"):
            number = numbers[row["situation"]]
            if number:
                happened = row["one"] if number == 1 else row["several"]
                text = f"{happened} {row['what_to_do']}".rstrip()
                lines.append(text.format(number, which=changed, ids=gone))
        return lines

    def _count_situations(self) -> Counter[str]:
        """Return the number of rows, or writes, in each situation of the table of
        advice.
        """
        numbers = Counter(_situation(row) for row in self._rows)
        numbers["there"] = sum(
            row.state == "done" and row.code in _THERE for row in self._rows
        )
        numbers["changed"] = len(self._changed)
        numbers["strays"] = self._strays
        numbers["gone"] = len(self._gone_ids)
        numbers["others"] = self._others
        ids = self.frame["payment_details_id"].dropna()
        accounts = {
            (row.payer, row.account_row or row)
            for row, outcome in zip(self._table.rows, self._rows, strict=True)
            if outcome.payment_details_id is not None
        }
        numbers["one_id"] = max(0, len(accounts) - ids.nunique())
        return numbers

    def _shown_reasons(self) -> list[tuple[str, str]]:
        errors = self._rows_with("error")
        return [
            (row.state, _shown_reason(row, has_errors=number in errors))
            for number, row in enumerate(self._rows)
        ]

    def _reasons(self) -> list[Reason]:
        """Return the reasons of the rows, and the warnings that they have; those of
        rows that are done come last.

        The reason of a row with errors, or that is held, names its own cells: it is
        grouped by its findings.
        """
        warnings = of_severity(self._found, "warning")
        errors = [
            each
            for each in of_severity(self._found, "error")
            if self._rows[each.row].state == "not_sent"
        ]
        held = self._reasons_of_findings(
            [each for each in warnings if self._rows[each.row].code == "held"],
            "not_sent",
        )
        return self._grouped(
            [
                *self._reasons_of_findings(errors, "not_sent"),
                *(
                    (reason._replace(message=f"Held back: {reason.message}"), row)
                    for reason, row in held
                ),
                *self._reasons_of_findings(warnings),
            ]
        )

    def __str__(self) -> str:
        reasons = self._reasons()
        unknown = [each for each in reasons if each.kind == "unknown"]
        others = [each for each in reasons if each.kind in {"refused", "not_sent"}]
        shown = [*unknown, *others[:_SHOWN_REASONS]]
        lines = [
            self._line(
                each, f"{in_words(each.kind)}: {visible(each.text(self._naming))}"
            )
            for each in shown
        ]
        more = others[_SHOWN_REASONS:]
        if more:
            lines.append(
                f"and {count_of(len(more), 'more reason')}: see the column reason of"
                " the report."
            )
        return "\n".join([self._summary(), *self._advice(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        advice = "".join(f"<div>{html.advice(line)}</div>" for line in self._advice())
        reasons = [each for each in self._reasons() if each.kind != "done"][
            :_PICTURED_REASONS
        ]
        table = self._grid(
            reasons,
            lambda each: each.text(self._naming),
            ("state", "reason"),
            "Reasons",
        )
        return html.picture(
            html.title(self._summary()), self._html_bar(), advice, table
        )

    def _html_bar(self) -> str:
        """Return the states as a coloured bar, hidden from screen readers: the summary
        says the same.
        """
        parts = "".join(
            f'<span style="flex:{count} 0'
            f' 3px;background:{html.tone(self._kinds[state])}"></span>'
            for state, count in self.counts.items()
            if count
        )
        style = "display:flex;height:10px;max-width:500px;gap:1px;margin:4px 0"
        return f'<div aria-hidden="true" style="{style}">{parts}</div>'


class _Outcomes:
    """The outcome of each row of a table, found in the journal.

    rows: the outcomes. changes: a finding for each row that was changed after it was
    stored. stored: how many payers and accounts of the table are stored, by step.
    strays: how many writes with unknown outcome the journal has that no row explains.
    gone_ids: stored accounts of the table's payers that come from rows which are not
    in it any more. stopped: why the run stopped early, None if it did not.
    """

    def __init__(
        self, tasks: Tasks, journal: Journal, stopped: Outcome | None, limit: Limit
    ) -> None:
        self._tasks = tasks
        self._journal = journal
        self._stopped = stopped
        self._limit = limit
        self.changes: list[Problem] = []
        self.stored = dict.fromkeys(tasks.table.columns, 0)
        errors = tasks.table.naming.texts(of_severity(tasks.table.found, "error"))
        self.rows = [self._outcome(row, errors[row.number]) for row in tasks.table.rows]
        self.strays = self._count_strays()
        self.gone_ids = self._find_gone_ids()

    def _count_strays(self) -> int:
        """Return the number of unknown writes that no row of the table explains."""
        unknown = self._journal.unknown()
        if unknown:
            for row in self._tasks.table.rows:
                unknown -= {task.key for task in self._tasks.of(row)}
        return len(unknown)

    def _find_gone_ids(self) -> list[str]:
        """Return the ids of the accounts of the table's payers that are stored, and
        come from rows that the table does not have any more.
        """
        ids = []
        for payer in range(len(self._tasks.table.payers)):
            for entry in gone_accounts(self._tasks, self._journal, payer):
                ids += entry.account_ids
        return ids

    def _outcome(self, row: Row, errors: str) -> RowOutcome:
        is_payer_blocked = False
        outcome = RowOutcome(shown_id(row.client_user_id))
        blocked = outcome._replace(reason=Outcome("has_errors", {"findings": errors}))
        tasks = [*self._tasks.of(row)]
        if errors and not (row.data and tasks):  # it asks for nothing
            return blocked
        for task in tasks:
            step = task.step
            entry = self._journal.entry(task.key)
            is_payer_blocked |= task.row.is_blocked
            if errors and (entry is None or not entry.may_be_stored):
                return blocked
            is_unsent = entry is None or entry.is_unsent
            if is_payer_blocked and is_unsent:
                return outcome._replace(
                    step=step, state="not_sent", reason=PAYER_NOT_SENT
                )
            sent_row = task.row if step == "payer" else row
            if sent_row.is_held and is_unsent:
                reason = HELD if row.is_held else PAYER_NOT_SENT
                return outcome.not_sent(step, reason, is_open=False)
            left = self._stopped
            if self._limit.leaves(task):
                left = self._limit.reason
            outcome = outcome.after(step, entry, left)
            if entry is not None and entry.state in {"done", "duplicate"}:
                # Once for all rows that are the same.
                self.stored[step] += row is task.row
                if entry.content != task.content:
                    finding = table_finding("changed_after_storing")
                    self.changes.append(Problem(row.number, finding, step))
            if outcome.state != "done":
                break
        # The row was sent before it had errors, or before this table contradicted it.
        if errors:
            reason = Outcome(
                "has_errors_now", {"noted": outcome.reason, "findings": errors}
            )
            return outcome._replace(retryable=False, reason=reason)
        return outcome


def _journal_notes(journal: Journal, table: Table) -> list[str]:
    """Return what a person has to know about the journals of a run, one sentence a
    line.
    """
    notes = []
    if journal.set_aside:
        notes.append(
            f"{journal.path.name} was the journal of another sandbox: it was set aside"
            f" as {journal.set_aside}, and a new one begun."
        )
    others = other_journals(table.origin.path, journal.path)
    if others:
        notes.append(
            f"In the folder of the file there is also {', '.join(others)}. A run does"
            " not see what another journal knows: use one journal for a service."
        )
    return [visible(note) for note in notes]


def _link(url: str | None) -> str:
    """Return a link as it may be sent, "" for none."""
    if url and is_web_address(url):
        return url
    return ""


def _situation(row: RowOutcome) -> str:
    """Return the situation of the table of advice in which a row is, "" for none."""
    if row.code == "left_by_limit" and row.retryable:
        return "left"
    if row.state == "refused" and row.code == "account_conflict":
        return "conflict"
    if row.state in {"waiting", "refused", "duplicate"}:
        return row.state
    if row.state == "unknown" and row.step == "bank_details":
        return "unknown"
    if row.retryable:
        return "again"
    if row.state == "not_sent":
        return row.code
    return ""


def _shown_reason(row: RowOutcome, *, has_errors: bool) -> str:
    """Return the reason of a row in words, without its own errors, so that rows can be
    counted by it.

    "" if its findings say it: a row that has errors, or is held, is not sent because of
    them.
    """
    if row.code == "held" or (has_errors and row.state == "not_sent"):
        return ""
    if row.reason and row.reason.code == "has_errors_now":
        params = {**row.reason.params, "findings": "it has errors now."}
        return Outcome("has_errors_now", params).text
    return row.text
