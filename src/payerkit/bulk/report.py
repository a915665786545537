"""The report of a run: the outcome of every row."""

from __future__ import annotations

import csv
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from payerkit import html
from payerkit.bulk.accounts import id_form
from payerkit.bulk.journal import Journal, digest
from payerkit.bulk.naming import FindingTexts, findings_frame
from payerkit.bulk.outcomes import Outcomes, Reasons, RowOutcome
from payerkit.bulk.rows import Problems
from payerkit.bulk.table import Step
from payerkit.bulk.tasks import Limit, Tasks
from payerkit.bulk.to_correct import Which, require_cells, require_which, rows_with_warnings, save_rows
from payerkit.checks.inputs import strip_blanks, unwrap_secret
from payerkit.checks.schema import PAYER
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.html import is_web_address, visible
from payerkit.reasons import Outcome
from payerkit.tables.mapping import name_columns
from payerkit.tables.spreadsheets import inert, open_for_owner, write_rows
from payerkit.wording import count_of, in_words

if TYPE_CHECKING:
    from payerkit.bulk.row_browser import RowBrowser

_ADVICE = {
    "again": "{rows} {are} not finished: call again with the same journal.",
    "left": "{rows} {are} left to a later call: call again with the same journal, without limit (--limit).",
    "look": "{rows} {wait} for a last look: call again with the same journal.",
    "waiting": "{rows} {wait} until the payer is compliant: call again later, see reason.",
    "refused": "{rows} {were} refused: correct what reason says, or send as before with "
    'RunOptions(retry=["refused"]) (--retry refused).',
    "unknown": "{rows} {stay} unknown: check as reason says, or look again with "
    'RunOptions(retry=["unknown"]) (--retry unknown).',
    "duplicate": "{rows} {are} stored twice: ask the service to deactivate the extra accounts, see reason and "
    "other_ids.",
    "perhaps_there": "{rows} may be there already: compare with list_payment_details(), and send what is missing with "
    'existing="send" (--existing send).',
    "there_failed": "{rows} {are} there, but failed, rejected or deactivated: store another account with "
    'existing="send" (--existing send).',
    "held": "{rows} {are} held back because of warnings: correct what findings says, or call again without hold "
    "(--hold).",
    "without_links": "{rows} {have} no links, which were lost with a response: call create_payer() again for each "
    "payer whose reason says so.",
    "there": "{rows} {were} there already, and nothing was stored again for {them}.",
    "changed": "{rows} {were} changed after storing, and the service keeps what it has: see findings.",
    "strays": "{writes} with unknown outcome in the journal {belong} to rows that this table no longer has: call again "
    "with a table that has them.",
}
"""What to do, by situation, in the order in which a report says it."""

_THERE = {"there_already", "payer_there_already"}
"""Why rows are done for which nothing was stored."""

_VERBS = {
    "are": "is",
    "have": "has",
    "were": "was",
    "wait": "waits",
    "stay": "stays",
    "belong": "belongs",
    "them": "it",
}
"""Verbs and pronouns of many rows, and those of one."""

_SHOWN_REASONS = 5
"""Reasons that the text of a report has; its picture has more."""

_PICTURED_REASONS = 12

_COLUMNS = ["state", "reason", "reason_code", *(name for name in RowOutcome._fields if name not in {"state", "reason"})]
"""The columns of a report, but for the findings, which come last."""

_NOT_TEXT: dict[str, Any] = {"attempts": np.int64, "retryable": np.bool_}
"""The columns of a report that hold no text, with their dtypes."""

_WIDTH = 50
_MARKS = {"done": "█", "refused": "▒", "unknown": "?", "not_sent": "·", "waiting": "~", "duplicate": "="}
_KINDS: dict[str, html.Kind] = {
    "refused": "error",
    "unknown": "warning",
    "duplicate": "other",
    "not_sent": "neutral",
    "waiting": "info",
    "warning": "warning",
    "done": "success",
}
"""The colour of each state, and of a warning that rows were sent with; most urgent first."""


class Report:
    """The outcome of every row of a run.

    `str()` and a notebook show a summary, what to do next, and the reasons with their numbers of rows; `browse()` shows
    the rows.

    Attributes:
        frame: One row for each row of the input, in its order and with its index. Columns, all of dtype string unless
            noted: `state`: done, refused (the service refused it), unknown (it was sent, the outcome is unknown),
            not_sent, waiting (an account that is sent once its payer is compliant), or duplicate (an account that is
            stored twice); `reason`, empty for most rows that are done; `reason_code`, the same for programs, such as
            "perhaps_there"; `client_user_id` (an e-mail address is masked);
            `step`, the last one that was tried (payer, bank_details); `user_id`, `payment_details_id`, `kyc_status`,
            `agreement_status`, `status` (of the bank details), `agreement_url` and `kyc_url`, as the service returned
            them; `attempts` (int64), times that the row's requests were sent; `retryable` (bool), True if the same call
            again may do more; `findings`, the warnings and infos that the row was sent with, "" for none; `other_ids`,
            of a duplicate, the ids of the other accounts, separated by commas, else "".
        rows: The records of which `frame` is made.
        stopped: Why the run stopped before all rows were tried; "" if it did not.

    Example:
        >>> report = onboard(client, pd.DataFrame([payer]), journal="run.journal")
        >>> report
        1 row: 1 done.
        ██████████████████████████████████████████████████
        >>> report.frame[["state", "client_user_id", "step", "kyc_status", "attempts"]]
          state client_user_id   step   kyc_status  attempts
        0  done       user-123  payer  not_started         1
    """

    def __init__(self, outcomes: Outcomes) -> None:
        self.rows = outcomes.rows
        self.stopped = outcomes.stopped.text if outcomes.stopped else ""
        self._findings = Problems([*outcomes.table.found, *outcomes.changes]).in_order()
        self._naming = outcomes.table.naming
        self._stored, self._strays = outcomes.stored, outcomes.count_strays()
        self._salt = secrets.token_bytes(16)
        self._ids = _hash_ids(self._salt, [row.client_user_id for row in outcomes.table.rows])
        self.frame = self._make_frame()

    def _make_frame(self) -> pd.DataFrame:
        """Return the rows as a frame, each with the warnings and infos that it was sent with."""
        told = [row._asdict() | {"reason": row.text, "reason_code": row.code} for row in self.rows]
        frame = pd.DataFrame(told, index=self._naming.labels, columns=_COLUMNS)
        warnings_first = [*self._findings.of_severity("warning"), *self._findings.of_severity("info")]
        frame["findings"] = FindingTexts(warnings_first, self._naming).of(range(len(self.rows)))
        return frame.astype({name: _NOT_TEXT.get(name, "string") for name in frame.columns})

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows in each state; together, all rows."""
        counted = Counter(row.state for row in self.rows)
        return {state: counted[state] for state in _MARKS}

    @property
    def findings(self) -> pd.DataFrame:
        """One row per finding, with the columns of `Plan.findings`; and what was changed after it was stored."""
        return findings_frame(self._findings, self._naming)

    @property
    def retryable(self) -> pd.DataFrame:
        """The rows of `frame` for which the same call again, with the same journal, may do more."""
        return self.frame[self.frame["retryable"]]

    def save(self, path: str | Path) -> None:
        """Write the frame as CSV, its index first.

        A cell or label that a spreadsheet would compute, such as `=1+1`, has an apostrophe in front. If it has links,
        which let their reader act as the payer, only its owner may read the file.
        """
        if self.frame[["agreement_url", "kyc_url"]].notna().any(axis=None):
            with open_for_owner(Path(path)) as file:
                write_rows(self.frame, file)
        else:
            write_rows(self.frame, path)

    def browse(self) -> RowBrowser:
        """Return a widget that shows the rows by the page, filtered by state, searched and sorted.

        The rows stay in the kernel: the notebook saves none. A row is found by its label, its id, its reason and its
        other texts.

        Example:
            >>> onboard(client, pd.DataFrame([payer]), journal="rows.journal").browse()
            <RowBrowser: 1 row>
        """
        from payerkit.bulk.row_browser import RowBrowser  # noqa: PLC0415 - for notebooks alone

        columns = ("reason", "client_user_id", "step", "findings")
        return RowBrowser(self.frame, _KINDS, columns, title="Rows of the report")

    @without_internal_frames
    def save_links(self, path: str | Path, rows: pd.DataFrame) -> dict[str, int]:
        """Write a CSV file for a mail merge: one row for each payer that is done, with the links to its pages.

        The file has **personal data**: ids and e-mail addresses in full, and links that let their reader act as the
        payer. Hence it is never written unasked, and only its owner may read it. Its columns: `client_user_id`,
        `email`, `agreement_url`, `kyc_url`. A link is empty if the service did not return it as a web address; so is
        one that contains the payer's id, since a journal keeps no ids. A payer without any link has no row. An id or
        address that a spreadsheet would compute, such as `=1+1@example.com`, has an apostrophe in front.

        Args:
            path: The file to write; an existing one is replaced.
            rows: The table of the run, for the e-mail addresses, which a report does not have.

        Returns:
            The number of rows `written`, and of payers `without_links`, who are done and have no row.

        Raises:
            InvalidInput: If the table is not the one of this report. Nothing was written.
            OSError: If the file cannot be written.

        Example:
            >>> rows = pd.DataFrame([payer])
            >>> report = onboard(client, rows, journal="links.journal")
            >>> report.save_links("links.csv", rows)
            {'written': 1, 'without_links': 0}
        """
        ids = self._require_same_rows(rows)
        emails = _read_cells(rows, "email")
        # A run takes the second step of a row only after its first, the payer, is done. A row without an e-mail address
        # is an account alone.
        is_done = (self.frame["step"] == "bank_details") | (self.frame["state"] == "done")
        links: dict[str, dict[str, str]] = {}
        for place in is_done.fillna(value=False).to_numpy(bool).nonzero()[0].tolist():
            row, own_id = self.rows[place], ids[place]
            if id_form(row.client_user_id or "") == id_form(own_id):  # as it was sent, unless the report masks it
                own_id = str(row.client_user_id)
            if emails[place] and id_form(own_id) not in links:
                urls = {"agreement_url": row.agreement_url or "", "kyc_url": row.kyc_url or ""}
                shown = {name: url if is_web_address(url) else "" for name, url in urls.items()}
                links[id_form(own_id)] = {"client_user_id": own_id, "email": emails[place], **shown}
        written = [link for link in links.values() if link["agreement_url"] or link["kyc_url"]]
        with open_for_owner(Path(path)) as file:
            writer = csv.DictWriter(file, ["client_user_id", "email", "agreement_url", "kyc_url"])
            writer.writeheader()
            # E-mail addresses come from others, and may be formulas.
            writer.writerows({name: inert(text) for name, text in link.items()} for link in written)
        return {"written": len(written), "without_links": len(links) - len(written)}

    @without_internal_frames
    def save_corrections(self, path: str | Path, rows: pd.DataFrame, *, which: Which = "problems") -> int:
        """Write the rows that need something to a corrections file, to be corrected and read again, as `Plan.save`.

        The file has **personal data** and account numbers in full, so only its owner may read it. `problems` has the
        findings of each row, or why it was refused or not sent.

        Args:
            path: The file to write, .xlsx or .csv, which must not exist.
            rows: The table of the run, for its cells, which a report does not have.
            which: "problems": rows that are not done and that the same call again would not send, and others that are
                not done and have warnings; "all". (The service keeps what is done as it is.)

        Returns:
            The number of rows written; if it is 0, there is no file.

        Raises:
            InvalidInput: If the file exists or is of another kind, and if the table is not the
                one of this report. Nothing was written.
            ImportError: If openpyxl, which .xlsx files need, is not installed.
            OSError: If the file cannot be written.

        Example:
            >>> rows = pd.DataFrame([payer, {**payer, "clientUserId": "user-2", "email": "john.doe"}])
            >>> report = onboard(client, rows, journal="twice.journal")
            >>> report.save_corrections("twice-to-correct.csv", rows)
            1
        """
        require_which("which", which)
        require_cells(rows)
        self._require_same_rows(rows)
        warned = rows_with_warnings(self._findings, len(self.rows)).tolist()
        pairs = zip(self.rows, warned, strict=True)
        needed = np.array([row.state != "done" and (not row.retryable or has) for row, has in pairs], bool)
        chosen = np.ones(len(needed), bool) if which == "all" else needed
        return save_rows(path, rows, self._findings, self._naming.columns, chosen=chosen, reason=self._reason_of)

    def _require_same_rows(self, rows: Any) -> list[str]:
        """Return the ids of the run's table as they were sent. Raises InvalidInput for another table.

        The report shows e-mail addresses masked, and a link, or a row, must not be taken for that of another payer.
        """
        if not isinstance(rows, pd.DataFrame):
            raise InvalidInput(f"rows: expected the DataFrame of the run, got {kind_of(rows)}.")
        if len(rows) == len(self.frame) and rows.index.equals(self.frame.index):
            ids = _read_cells(rows, "client_user_id")
            if _hash_ids(self._salt, ids) == self._ids:
                return ids
        raise InvalidInput(
            "rows: they are not those of this report. Give the table of the run, with its rows in the same order and "
            "with the same index."
        )

    def _reason_of(self, row: int) -> tuple[str, str] | None:
        """Return the state of a row and the reason for it, unless it is done or its findings say it."""
        found = self.rows[row]
        is_said = found.code == "held" or row in self._rows_with_errors
        return None if found.state == "done" or is_said else (in_words(found.state), found.text)

    @cached_property
    def _rows_with_errors(self) -> frozenset[int]:
        return frozenset(self._findings.of_severity("error").rows.tolist())

    def _summary(self) -> str:
        parts = [f"{count:,} {in_words(state)}" for state, count in self.counts.items() if count]
        with_warnings = set(self._findings.of_severity("warning").rows.tolist())
        if warned := sum(self.rows[row].state == "done" for row in with_warnings):
            parts.insert(1, f"{warned:,} with {'a warning' if warned == 1 else 'warnings'}")
        return f"{count_of(len(self.frame), 'row')}: {', '.join(parts) or 'nothing to do'}."

    def _advice(self) -> list[str]:
        """Return what happened and what to do, one sentence a line."""
        nouns: dict[Step, str] = {"payer": "payer", "bank_details": "account"}
        stored = " and ".join(count_of(number, nouns[step]) for step, number in self._stored.items())
        early = [f"The run stopped early: {self.stopped}", f"Stored so far: {stored}."]
        numbers = self._count_situations()
        return [
            *(early if self.stopped else []),
            *(_filled(text, numbers[situation]) for situation, text in _ADVICE.items() if numbers[situation]),
        ]

    def _count_situations(self) -> Counter[str]:
        """Return the number of rows, or writes, in each situation of `_ADVICE`."""
        numbers = Counter(map(_situation, self.rows))
        numbers["there"] = sum(row.state == "done" and row.code in _THERE for row in self.rows)
        numbers["changed"] = len(np.unique(self._findings.with_codes("changed_after_storing").rows))
        numbers["strays"] = self._strays
        numbers["without_links"] = sum(row.reason is not None and row.reason.code == "links_lost" for row in self.rows)
        return numbers

    def _reasons(self) -> Reasons:
        """Return the reasons of the rows, and the warnings that they have; those of rows that are done come last.

        The reason of a row with errors, or that is held, names its own cells: it is grouped by its findings.
        """
        errors, warnings = self._findings.of_severity("error"), self._findings.of_severity("warning")
        is_blocked = [
            row.state == "not_sent" and place in self._rows_with_errors for place, row in enumerate(self.rows)
        ]
        is_held = [row.code == "held" for row in self.rows]
        shown = [
            "" if blocked or held else _shown_reason(row)
            for row, blocked, held in zip(self.rows, is_blocked, is_held, strict=True)
        ]
        held = Reasons.of_findings(warnings.in_rows(np.array(is_held, bool)), self._naming, as_kind="not_sent")
        parts = [
            Reasons.of_states([row.state for row in self.rows], shown),
            Reasons.of_findings(errors.in_rows(np.array(is_blocked, bool)), self._naming, as_kind="not_sent"),
            Reasons(each._replace(kind=each.kind._replace(message=f"held: {each.kind.message}")) for each in held),
            Reasons.of_findings(warnings, self._naming),
        ]
        return Reasons.join(parts).sorted(list(_KINDS))

    def __str__(self) -> str:
        reasons = self._reasons().first(_SHOWN_REASONS, ("refused", "not_sent"))
        lines = [
            f"{count_of(each.times, 'row'):>10}  {in_words(each.kind.kind)}: {visible(each.text(self._naming))} "
            f"({self._naming.where(each.kind.column, each.rows)})"
            for each in reasons
        ]
        return "\n".join([self._summary(), _text_bar(self.counts), *self._advice(), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        advice = "".join(f"<div>{html.advice(line)}</div>" for line in self._advice())
        rows = [
            (
                f"{each.times:,}",
                html.chip(_KINDS[each.kind.kind], in_words(each.kind.kind)),
                each.text(self._naming),
                self._naming.where(each.kind.column, each.rows),
            )
            for each in self._reasons().first(_PICTURED_REASONS, [kind for kind in _KINDS if kind != "done"])
        ]
        table = html.grid(("rows", "state", "reason", "which"), rows, caption="Reasons") if rows else ""
        return html.picture(html.title(self._summary()), _html_bar(self.counts), advice, table)


def _filled(text: str, number: int) -> str:
    """Return a text with a number of rows or writes, and words to match."""
    verbs = {many: one if number == 1 else many for many, one in _VERBS.items()}
    return text.format(rows=count_of(number, "row"), writes=count_of(number, "write"), **verbs)


def _text_bar(counts: Mapping[str, int]) -> str:
    """Return the states as a bar of text, with at least one mark for every state that occurs."""
    total = sum(counts.values()) or 1
    return "".join(_MARKS[state] * max(1, round(_WIDTH * count / total)) for state, count in counts.items() if count)


def _html_bar(counts: Mapping[str, int]) -> str:
    """Return the states as a coloured bar, hidden from screen readers: the summary says the same."""
    parts = "".join(
        f'<span style="flex:{count} 0 3px;background:var(--pk-{_KINDS[state]})"></span>'
        for state, count in counts.items()
        if count
    )
    return (
        f'<div aria-hidden="true" style="display:flex;height:10px;max-width:500px;gap:1px;margin:4px 0">{parts}</div>'
    )


def _situation(row: RowOutcome) -> str:
    """Return the situation of `_ADVICE` in which a row is, "" for none."""
    if row.retryable and row.code == "left_by_limit":
        return "left"
    if row.state in {"waiting", "refused", "duplicate"}:
        return row.state
    if row.retryable:
        return "look" if row.state == "done" else "again"
    return row.code if row.state == "not_sent" else "unknown" if row.state == "unknown" else ""


def _shown_reason(row: RowOutcome) -> str:
    """Return the reason of a row without its own errors, so that rows can be counted by it."""
    if row.reason and row.reason.code == "has_errors_now":  # of a row that was sent before it had errors
        return Outcome("has_errors_now", {**row.reason.params, "findings": "it has errors now."}).text
    return row.text


def _hash_ids(salt: bytes, ids: Iterable[str | None]) -> bytes:
    """Return what recognises the ids of a table's rows, and holds none; near duplicates are one id, as in a run."""
    return digest(salt, *(id_form(each or "") for each in ids))


def _read_cells(rows: pd.DataFrame, name: str) -> list[str]:
    """Return a column of the table as it was sent; "" for an empty cell."""
    columns = [column for column, field in name_columns(rows.columns).items() if field == name]
    if not columns:
        raise InvalidInput(f"rows: the table has no column {name}, which the links file needs.")
    cells = (strip_blanks(PAYER, name, unwrap_secret(value))[0] for value in rows[columns[0]])
    return ["" if cell is None else str(cell) for cell in cells]


def make_report(tasks: Tasks, journal: Journal, stopped: Outcome | None, limit: Limit | None = None) -> Report:
    """Return the report of a table, from its journal."""
    return Report(Outcomes(tasks, journal, stopped, limit))
