"""The plan of a run: what would be sent, and what not and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from payerkit import html
from payerkit._tsv import grouped
from payerkit.errors import without_internal_frames
from payerkit.frames import frame_of
from payerkit.redaction import MASK
from payerkit.runs.intent import Intentions
from payerkit.runs.journal import Journal, failures_told
from payerkit.runs.locate import planned_journal
from payerkit.runs.options import DEFAULTS, Options, RunOptions
from payerkit.runs.report import (
    HELD,
    PAYER_NOT_SENT,
    Overview,
    Reason,
    ReasonOfRow,
)
from payerkit.runs.rows import NORMALISE, Placeholders, Row, Step, shown_id
from payerkit.runs.tasks import Table, Tasks
from payerkit.tables.normalise import Origin, changes_frame
from payerkit.wording import count_of, visible

_SHOWN_FINDINGS = 12

_COLUMNS = ("state", "reason", "client_user_id", "payer", "bank_details", "findings")


@without_internal_frames
def plan_onboarding(
    rows: Any,
    *,
    journal: str | Path | None = None,
    holder_is_payer: bool = False,
    placeholders: Placeholders = "error",
    options: RunOptions = DEFAULTS,
) -> Plan:
    """Return what `onboard` would send for a table, or `add_bank_details` for one of
    accounts; nothing is sent.

    Args:
        rows: The table, as for `onboard`.
        journal: As for `onboard`: what it has as done is not sent. By default, the one
            beside the file that was used last. It is not changed, and need not be there
            yet.
        holder_is_payer: As for `onboard`.
        placeholders: As for `onboard`.
        options: As for `onboard`; a plan needs `hold` and `retry` alone.

    Returns:
        A `Plan`: counts, findings, and what would be sent for each row.

    Raises:
        InvalidInput: For anything but a table with rows to send, for unknown columns,
            for a table that does not say who holds the accounts, and for a code that no
            warning has.

    Example:
        >>> other = {
        ...     **payer,
        ...     "clientUserId": "user-2",
        ...     "ssn": "219-09-9873",
        ...     "email": "john.doe",
        ... }
        >>> plan_onboarding(pd.DataFrame([payer, other]))
        2 rows: 1 payer and 0 accounts would be sent; rows with warnings: 0.
        1 row would not be sent: errors in the row or in its payer.
        <BLANKLINE>
        Errors, not sent until they are corrected: 1 row
             1 row  email: Not an e-mail address. (row 1)
                    -> Write it as name@example.com.
    """
    table = Table(
        rows,
        holder_is_payer=holder_is_payer,
        hold=options.hold,
        placeholders=placeholders,
    )
    return make_plan(table, journal, Options.of(options, "now", "skip"))


def make_plan(table: Table, journal: str | Path | None, options: Options) -> Plan:
    """Return the plan of a run with a journal, or with the one beside the file. Raises
    InvalidInput for a journal that cannot be read.
    """
    path = planned_journal(table.origin.path, journal)
    if path is None:
        return Plan(table)
    with failures_told(path), Journal(path, service=None) as opened:
        tasks = Tasks(table, opened.secret)
        intentions = Intentions(tasks, opened, options)
        return Plan(table, intentions)


class Plan(Overview):
    """What a run would send, and what not and why.

    `str()` says which file was read and how its columns were understood, what would be
    sent, and then what is to be done: errors first, each with its number of rows, its
    first cells, what is wrong and what to do. A notebook shows the most frequent
    findings. `frame` has the rows, and `save_corrections()` writes those that need
    something to a file to be corrected.

    Attributes:
        counts: Numbers of `rows`, rows `to_send`, `payers` and `accounts` that would be
            sent, and rows to send `with_warnings`; of rows that are `held` back because
            of warnings; and of rows that the journal has as `done`, or that it leaves
            to you (`left`).
        findings: One row per finding, with the columns of `check_payers` (`row` is the
            label of the row in the table's index), behind `row` two more: `cell`, its
            name in the file, such as B7, and `column`, the sender's name of the column,
            and at the end `step`: payer, bank_details, or empty. All are string. `cell`
            is empty for a table that was not read from a file.
        correctable: Number of cells with an error or a warning that
            `read_payers(normalise=True)` would rewrite.
        changes: One row per cell that `read_payers(normalise=True)` rewrote: `row`,
            `cell`, `column`, the sender's name of it, `from` and `to` (string, personal
            values masked).
        frame: One row for each row of the table, in its order and with its index.
            Columns, of dtype string: `state`: to_send, held (it is held back because of
            warnings) or not_sent; or what the journal has: done, refused, unknown (it
            would be looked for) or duplicate; `reason`, why the row would not be sent,
            or "";
            `client_user_id` (an e-mail address is masked); `payer` and `bank_details`,
            each "send", "as row ..." for the same data as in an earlier row, or "";
            `findings`, the row's warnings and infos.

    Example:
        >>> plan = plan_onboarding(pd.DataFrame([payer]))
        >>> plan.counts["to_send"], plan.frame["payer"].tolist()
        (1, ['send'])
    """

    _kinds: ClassVar[dict[str, html.ChipKind]] = {
        "rewritable": "error",
        "error": "error",
        "not_sent": "error",
        "held": "warning",
        "warning": "warning",
        "info": "info",
        "to_send": "success",
        "done": "success",
        "unknown": "warning",
        "refused": "error",
        "duplicate": "other",
    }

    def __init__(self, table: Table, intentions: Intentions | None = None) -> None:
        super().__init__(table, table.found)
        self._journal = "" if intentions is None else intentions.journal.path.name
        known = [_known(row, intentions) for row in table.rows]
        texts = zip(
            table.rows,
            known,
            self._texts_of("error"),
            self._texts_of("warning", "info"),
            strict=True,
        )
        planned = (
            _planned_row(row, of_journal, errors) | {"findings": others}
            for row, of_journal, errors, others in texts
        )
        self.frame = frame_of(
            planned, dict.fromkeys(_COLUMNS, "string"), index=self._naming.labels
        )
        states = self.frame["state"].tolist()
        warned = self._rows_with("warning")
        left = [
            each
            for each, state in zip(known, states, strict=True)
            if each.state and state == each.state and state not in {"done", "to_send"}
        ]
        self.counts = {
            "rows": len(table.rows),
            "to_send": states.count("to_send"),
            "payers": int((self.frame["payer"] == "send").sum()),
            "accounts": int((self.frame["bank_details"] == "send").sum()),
            "with_warnings": sum(states[row] == "to_send" for row in warned),
            "held": states.count("held"),
            "done": states.count("done"),
            "left": len(left),
        }

    @property
    def changes(self) -> pd.DataFrame:
        """One row per cell that was rewritten when the file was read."""
        return changes_frame(self._table.origin, self.frame.index)

    @property
    def correctable(self) -> int:
        """The number of cells with an error or a warning that
        `read_payers(normalise=True)` would rewrite.
        """
        return len(self._naming.readings)

    def __str__(self) -> str:
        sections = grouped(
            (_TITLES[each.kind], each)
            for each in self._grouped(self._reasons_to_describe())
        )
        parts = [
            self._describe_file(),
            _describe_columns(self._table.origin),
            _describe_changes(self.changes),
            _describe_counts(self.counts, self._journal),
        ]
        for title, reasons in sections.items():
            rows = set[int]().union(*(reason.rows for reason in reasons))
            lines = [f"{title}: {count_of(len(rows), 'row')}"]
            for reason in reasons:
                lines += self._describe(reason)
            parts.append(lines)
        return "\n\n".join("\n".join(part) for part in parts if part)

    __repr__ = __str__

    def _describe_file(self) -> list[str]:
        """Return what the table was read from, one sentence a line; nothing for a table
        that is from no file.
        """
        origin = self._table.origin
        if not origin.file:
            return []
        name = visible(origin.file)
        if origin.sheet:
            name += f', sheet "{visible(origin.sheet)}"'
        rows = count_of(len(self.frame), "row")
        line = f"{name}: {rows} below the header in row {origin.header_row}."
        return [line, *self._left_out()]

    def _reasons_to_describe(self) -> Iterator[ReasonOfRow]:
        """Yield the findings, and apart from other errors those of cells that
        normalise=True would rewrite.
        """
        for reason, row in self._reasons_of_findings(self._found):
            has_reading = (row, reason.column) in self._naming.readings
            if reason.kind == "error" and has_reading:
                yield reason._replace(kind="rewritable", hint=""), row
            else:
                yield reason, row

    def _describe(self, reason: Reason) -> list[str]:
        """Return what is wrong in which rows, and what to do about it."""
        message = visible(reason.message)
        if reason.code:
            message += f" [{reason.code}]"
        lines = [self._line(reason, message)]
        hint = reason.hint_with_readings(self._naming)
        if hint:
            lines.append(f"{' ' * 12}-> {hint}")
        return lines

    def _needing_something(self) -> Iterator[int]:
        warned = self._rows_with("warning")
        for row, state in enumerate(self.frame["state"]):
            is_wrong = state in {"not_sent", "held", "refused"}
            if is_wrong or (state == "to_send" and row in warned):
                yield row

    def _shown_reasons(self) -> list[tuple[str, str]]:
        waiting = (
            PAYER_NOT_SENT.text if row.waits_for_payer else ""
            for row in self._table.rows
        )
        return list(zip(self.frame["state"], waiting, strict=True))

    def _repr_html_(self) -> str:
        first, *lines = _describe_counts(self.counts, self._journal)
        lines = [*self._describe_file(), *lines]
        reasons = [
            each
            for each in self._grouped(self._reasons_of_findings(self._found))
            if each.kind != "info"
        ]
        head = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
        names = ("found", "what is wrong, and what to do")
        shown = reasons[:_SHOWN_FINDINGS]
        table = self._grid(shown, self._describe_html, names, "Found")
        tail = ""
        if len(reasons) > len(shown):
            more = count_of(len(reasons) - len(shown), "more finding")
            tail = f"<div>{more}: print(plan) has all of them.</div>"
        return html.picture(html.title(first), head, table, tail)

    def _describe_html(self, reason: Reason) -> html.Html:
        hint = html.advice(reason.hint_with_readings(self._naming))
        return html.Html(
            f"{html.escape(reason.message)}{hint}{html.small(reason.code)}"
        )


class _Known(NamedTuple):
    """What the journal has of a row: its state and the reason, "" without a record.

    settled: the steps that would not be sent.
    """

    state: str = ""
    reason: str = ""
    settled: frozenset[Step] = frozenset()


def _known(row: Row, intentions: Intentions | None) -> _Known:
    """Return what the journal has of a row; the state is to_send if any step is."""
    if intentions is None:
        return _Known()
    settled: set[Step] = set()
    state = ""
    reason = ""
    for task in intentions.tasks.of(row):
        entry = intentions.journal.entry(task.key)
        obstacle = intentions.obstacle(task, entry)
        if intentions.of(task, entry) == "send" and obstacle is None:
            state = "to_send"
            continue
        settled.add(task.step)
        if state == "to_send":
            continue
        why = obstacle
        state = "not_sent"
        if entry is not None and obstacle is None:
            why = entry.reason
            state = entry.shown_state
        reason = why.text if why is not None else ""
        if state != "done":
            break
    if state != "to_send":
        settled.update(row.data)
    return _Known(state, reason, frozenset(settled))


def _planned_row(row: Row, known: _Known, errors: str) -> dict[str, Any]:
    """Return a row as the plan shows it."""
    if row.is_blocked:
        planned = ("not_sent", errors)
    elif row.is_held:
        planned = ("held", HELD.text)
    elif row.waits_for_payer:
        planned = ("not_sent", PAYER_NOT_SENT.text)
    else:
        planned = ("to_send", "")
    if known.state == "done" or (known.state and planned[0] == "to_send"):
        planned = (known.state, known.reason)
    return {
        "state": planned[0],
        "reason": planned[1],
        "client_user_id": shown_id(row.client_user_id),
        "payer": _planned(row, known, "payer", row.payer_row),
        "bank_details": _planned(row, known, "bank_details", row.account_row or row),
    }


def _planned(row: Row, known: _Known, step: Step, source: Row | None) -> str:
    """Return "send", "as row ..." if another row sends the same, or "", if the row
    sends nothing in a step.
    """
    if source is None or not row.may_be_sent or row.waits_for_payer:
        return ""
    if step not in row.data or step in known.settled:
        return ""
    if source is row:
        return "send"
    return f"as row {shown_id(source.label)}"


# A plan as text: the file, how its columns were understood, what would be sent, and
# what to do about the rest

_NOT_SENT = "Errors, not sent until they are corrected"
_TITLES = {
    "rewritable": f"Errors that {NORMALISE} would correct",
    "error": _NOT_SENT,
    "not_sent": _NOT_SENT,
    "warning": "Warnings, sent all the same unless you hold them back by their code",
    "info": "Worth knowing",
}
"""The titles of the findings of each kind."""


def _describe_counts(counts: Mapping[str, int], journal: str) -> list[str]:
    """Return what would be sent and what not, one sentence a line. journal: the name of
    the one that was looked at, "" for none.
    """
    held = counts["held"]
    known = counts["done"] + counts["left"]
    blocked = counts["rows"] - counts["to_send"] - held - known
    sent = (
        f"{count_of(counts['payers'], 'payer')} and"
        f" {count_of(counts['accounts'], 'account')} would be sent"
    )
    rows = count_of(counts["rows"], "row")
    lines = [f"{rows}: {sent}; rows with warnings: {counts['with_warnings']:,}."]
    if journal:
        done = count_of(counts["done"], "row")
        line = f"The journal {visible(journal)} has {done} as done"
        if counts["left"]:
            line += f", and leaves {counts['left']:,} to you: see the column reason"
        lines.append(f"{line}.")
    if blocked:
        lines.append(
            f"{count_of(blocked, 'row')} would not be sent: errors in the row or in its"
            " payer."
        )
    if held:
        lines.append(f"{count_of(held, 'row')} would be held back because of warnings.")
    return lines


def _describe_columns(origin: Origin) -> list[str]:
    """Return which field each column of the file fills that has another name, and which
    columns are left out.
    """
    named = [each for each in origin.columns if each.column not in {None, each.header}]
    left_out = [
        f"{each.letters} ({each.shown_header or 'no name'})"
        for each in origin.columns
        if each.column is None
    ]
    lines = [
        f"  {each.letters:>3}  {origin.shown_header(str(each.column))} -> {each.column}"
        for each in named
    ]
    if left_out:
        lines.append(f"  Left out: {', '.join(left_out)}")
    if lines:
        lines.insert(0, "How the columns were understood")
    return lines


def _describe_changes(changes: pd.DataFrame) -> list[str]:
    """Return which cells were rewritten: of each column how many, and an example."""
    lines = []
    for column, own in changes.groupby("column", sort=False):
        before = str(own["from"].iloc[0])
        after = str(own["to"].iloc[0])
        line = f"{count_of(len(own), 'cell'):>12}  {column}"
        if MASK not in before + after:
            line += f", such as {before} -> {after or 'blank'}"
        lines.append(line)
    if lines:
        lines.insert(0, f"Rewritten with {NORMALISE}: {count_of(len(changes), 'cell')}")
    return lines
