"""The plan of a run: what would be sent, and what not and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

import pandas as pd

from payerkit import html
from payerkit._tsv import grouped
from payerkit.checks.schema import MASK
from payerkit.errors import without_internal_frames
from payerkit.frames import frame_of
from payerkit.onboarding.options import DEFAULTS, RunOptions
from payerkit.onboarding.report import HELD, PAYER_NOT_SENT, Overview, Reason, ReasonOfRow
from payerkit.onboarding.rows import Placeholders, Row, Step, shown_id
from payerkit.onboarding.tasks import Table
from payerkit.tables.normalise import Origin, changes_frame
from payerkit.wording import count_of, visible

_SHOWN_FINDINGS = 12

_COLUMNS = ("state", "reason", "client_user_id", "payer", "bank_details", "findings")


@without_internal_frames
def plan_onboarding(
    rows: Any, *, holder_is_payer: bool = False, placeholders: Placeholders = "error", options: RunOptions = DEFAULTS
) -> Plan:
    """Return what `onboard` would send for a table, or `add_bank_details` for one of accounts; nothing is sent.

    Args:
        rows: The table, as for `onboard`.
        holder_is_payer: As for `onboard`.
        placeholders: As for `onboard`.
        options: As for `onboard`; a plan needs `hold` alone.

    Returns:
        A `Plan`: counts, findings, and what would be sent for each row.

    Raises:
        InvalidInput: For anything but a table with rows to send, for unknown columns, for a table that does not say
            who holds the accounts, and for a code that no warning has.

    Example:
        >>> other = {**payer, "clientUserId": "user-2", "ssn": "219-09-9873", "email": "john.doe"}
        >>> plan_onboarding(pd.DataFrame([payer, other]))
        2 rows: 1 payer and 0 accounts would be sent; rows with warnings: 0.
        1 row would not be sent: errors in the row or in its payer.
          1 row   error    email: Not an e-mail address. Write it as name@example.com. (row 1)
    """
    return Plan(Table(rows, holder_is_payer=holder_is_payer, hold=options.hold, placeholders=placeholders))


class Plan(Overview):
    """What a run would send, and what not and why.

    `str()` and a notebook show a summary with the most frequent findings, `describe()` all of them, grouped by what to
    do, and `browse()` the rows; `save_corrections()` writes those that need something to a file to be corrected.

    Attributes:
        counts: Numbers of `rows`, rows `to_send`, `payers` and `accounts` that would be sent, and rows to send
            `with_warnings`; and of rows that are `held` back because of warnings.
        findings: One row per finding, with the columns of `check_payers` (`row` is the label of the row in the table's
            index), behind `row` two more: `cell`, its name in the file, such as B7, and `column`, the sender's name of
            the column, and at the end `step`: payer, bank_details, or empty. All are string. `cell` is empty for a
            table that was not read from a file.
        correctable: Number of cells with an error or a warning that `read_payers(normalise=True)` would rewrite.
        changes: One row per cell that `read_payers(normalise=True)` rewrote: `row`, `cell`, `column`, the sender's
            name of it, `from` and `to` (string, personal values masked).
        frame: One row for each row of the table, in its order and with its index. Columns, of dtype string:
            `state`: to_send, held (it is held back because of warnings) or not_sent; `reason`, why the row would not be
            sent, or ""; `client_user_id` (an e-mail address is masked); `payer` and `bank_details`, each "send",
            "as row ..." for the same data as in an earlier row, or ""; `findings`, the row's warnings and infos.

    Example:
        >>> plan = plan_onboarding(pd.DataFrame([payer]))
        >>> plan.counts["to_send"], plan.frame["payer"].tolist()
        (1, ['send'])
    """

    _browsed = ("reason", "client_user_id", "payer", "bank_details", "findings")
    _kinds: ClassVar[dict[str, html.Kind]] = {
        "rewritable": "error",
        "error": "error",
        "not_sent": "error",
        "held": "warning",
        "warning": "warning",
        "info": "info",
        "to_send": "success",
    }

    def __init__(self, table: Table, *, normalise: str = "normalise=True") -> None:
        super().__init__(table, table.found)
        self._naming.normalise = normalise
        texts = zip(table.rows, self._texts_of("error"), self._texts_of("warning", "info"), strict=True)
        planned = (_planned_row(row, errors) | {"findings": others} for row, errors, others in texts)
        self.frame = frame_of(planned, dict.fromkeys(_COLUMNS, "string"), index=self._naming.labels)
        states, warned = self.frame["state"].tolist(), self._rows_with("warning")
        self.counts = {
            "rows": len(table.rows),
            "to_send": states.count("to_send"),
            "payers": int((self.frame["payer"] == "send").sum()),
            "accounts": int((self.frame["bank_details"] == "send").sum()),
            "with_warnings": sum(states[row] == "to_send" for row in warned),
            "held": sum(row.is_held for row in table.rows),
        }

    @property
    def changes(self) -> pd.DataFrame:
        """One row per cell that was rewritten when the file was read."""
        return changes_frame(self._table.origin, self.frame.index)

    @property
    def correctable(self) -> int:
        """The number of cells with an error or a warning that `read_payers(normalise=True)` would rewrite."""
        return len(self._naming.readings)

    def describe(self) -> str:
        """Return all of the plan as text, to be read from top to bottom.

        It says which file was read and how its columns were understood, what would be sent, and then what is to be
        done: errors first, each with its number of rows, its first cells, what is wrong and what to do.

        Example:
            >>> print(plan_onboarding(pd.DataFrame([{**payer, "email": "john.doe"}])).describe())
            1 row: 0 payers and 0 accounts would be sent; rows with warnings: 0.
            1 row would not be sent: errors in the row or in its payer.
            <BLANKLINE>
            Errors, not sent until they are corrected: 1 row
                 1 row  email: Not an e-mail address. (row 0)
                        -> Write it as name@example.com.
        """
        naming = self._naming
        sections = grouped((_TITLES[each.kind], each) for each in self._grouped(self._reasons_to_describe()))
        parts = [
            self._describe_file(),
            _describe_columns(self._table.origin),
            _describe_changes(self.changes, naming.normalise),
            _describe_counts(self.counts),
        ]
        for title, reasons in sections.items():
            rows = {row for each in reasons for row in each.rows}
            heading = f"{title.format(naming.normalise)}: {count_of(len(rows), 'row')}"
            parts.append([heading, *chain.from_iterable(map(self._describe, reasons))])
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _describe_file(self) -> list[str]:
        """Return what the table was read from, one sentence a line; nothing for a table that is from no file."""
        origin = self._table.origin
        sheet = f', sheet "{visible(origin.sheet)}"' if origin.sheet else ""
        rows = f"{count_of(len(self.frame), 'row')} below the header in row {origin.header_row}"
        return [f"{visible(origin.file)}{sheet}: {rows}.", *self._left_out()] if origin.file else []

    def _reasons_to_describe(self) -> Iterator[ReasonOfRow]:
        """Yield the findings, and apart from other errors those of cells that normalise=True would rewrite."""
        for reason, row in self._reasons_of_findings(self._found):
            is_rewritable = reason.kind == "error" and (row, reason.column) in self._naming.readings
            yield reason._replace(kind="rewritable", hint="") if is_rewritable else reason, row

    def _describe(self, reason: Reason) -> list[str]:
        """Return what is wrong in which rows, and what to do about it."""
        code = f" [{reason.code}]" if reason.code else ""
        hint = reason.hint_with_readings(self._naming)
        return [self._line(reason, f"{visible(reason.message)}{code}"), *([f"{' ' * 12}-> {hint}"] if hint else [])]

    def _needing_something(self) -> Iterator[int]:
        warned, states = self._rows_with("warning"), enumerate(self.frame["state"])
        return (row for row, state in states if state != "to_send" or row in warned)

    def __str__(self) -> str:
        shown, more = self._most_frequent("error", "warning")
        lines = [self._line(each, f"{each.kind:<7}  {each.text(self._naming)}") for each in shown]
        summary = [*self._describe_file(), *_describe_counts(self.counts)]
        return "\n".join([*summary, *lines, *more])

    __repr__ = __str__

    def _most_frequent(self, *kinds: str) -> tuple[list[Reason], list[str]]:
        """Return the first reasons of some kinds, and a line that says how many more there are."""
        reasons = [each for each in self._grouped(self._reasons_of_findings(self._found)) if each.kind in kinds]
        more = len(reasons) - _SHOWN_FINDINGS
        line = f"{count_of(more, 'more finding')}: print(plan.describe()) has all of them."
        return reasons[:_SHOWN_FINDINGS], [line] if more > 0 else []

    def _shown_reasons(self) -> list[tuple[str, str]]:
        waiting = (PAYER_NOT_SENT.text if row.waits_for_payer else "" for row in self._table.rows)
        return list(zip(self.frame["state"], waiting, strict=True))

    def _repr_html_(self) -> str:
        first, *lines = _describe_counts(self.counts)
        lines = [*self._describe_file(), *lines]
        shown, more = self._most_frequent("error", "not_sent", "warning")
        head, tail = ("".join(f"<div>{html.escape(line)}</div>" for line in part) for part in (lines, more))
        names = ("found", "what is wrong, and what to do")
        table = self._grid(shown, self._describe_html, names, "Found most often" if more else "Found")
        return html.picture(html.title(first), head, table, tail)

    def _describe_html(self, reason: Reason) -> html.Html:
        hint = html.advice(reason.hint_with_readings(self._naming))
        return html.Html(f"{html.escape(reason.message)}{hint}{html.small(reason.code)}")


def _planned_row(row: Row, errors: str) -> dict[str, Any]:
    """Return a row as the plan shows it."""
    is_left = row.is_blocked or row.waits_for_payer
    return {
        "state": "held" if row.is_held else "not_sent" if is_left else "to_send",
        "reason": errors or (HELD.text if row.is_held else PAYER_NOT_SENT.text if row.waits_for_payer else ""),
        "client_user_id": shown_id(row.client_user_id),
        "payer": _planned(row, "payer", row.payer_row),
        "bank_details": _planned(row, "bank_details", row.account_row or row),
    }


def _planned(row: Row, step: Step, source: Row | None) -> str:
    """Return "send", "as row ..." if another row sends the same, or "", if the row sends nothing in a step."""
    if source is None or step not in row.data or not row.may_be_sent or row.waits_for_payer:
        return ""
    return "send" if source is row else f"as row {shown_id(source.label)}"


# A plan as text: the file, how its columns were understood, what would be sent, and what to do about the rest

_NOT_SENT = "Errors, not sent until they are corrected"
_TITLES = {
    "rewritable": "Errors that {} would correct",
    "error": _NOT_SENT,
    "not_sent": _NOT_SENT,
    "warning": "Warnings, sent all the same unless you hold them back by their code",
    "info": "Worth knowing",
}
"""The titles of the findings of each kind."""


def _describe_counts(counts: Mapping[str, int]) -> list[str]:
    """Return what would be sent and what not, one sentence a line."""
    held = counts["held"]
    blocked = counts["rows"] - counts["to_send"] - held
    sent = f"{count_of(counts['payers'], 'payer')} and {count_of(counts['accounts'], 'account')} would be sent"
    return [
        f"{count_of(counts['rows'], 'row')}: {sent}; rows with warnings: {counts['with_warnings']:,}.",
        *([f"{count_of(blocked, 'row')} would not be sent: errors in the row or in its payer."] if blocked else []),
        *([f"{count_of(held, 'row')} would be held back because of warnings."] if held else []),
    ]


def _describe_columns(origin: Origin) -> list[str]:
    """Return which field each column of the file fills that has another name, and which columns are left out."""
    named = [each for each in origin.columns if each.column not in {None, each.header}]
    left_out = [f"{each.letters} ({each.shown_header or 'no name'})" for each in origin.columns if each.column is None]
    lines = [f"  {each.letters:>3}  {origin.shown_header(str(each.column))} -> {each.column}" for each in named]
    lines += [f"  Left out: {', '.join(left_out)}"] if left_out else []
    return ["How the columns were understood", *lines] if lines else []


def _describe_changes(changes: pd.DataFrame, normalise: str) -> list[str]:
    """Return which cells were rewritten: of each column how many, and an example."""
    lines = []
    for column, own in changes.groupby("column", sort=False):
        before, after = map(str, own[["from", "to"]].iloc[0])
        example = "" if MASK in before + after else f", such as {before} -> {after or 'blank'}"
        lines.append(f"{count_of(len(own), 'cell'):>12}  {column}{example}")
    return [f"Rewritten with {normalise}: {count_of(len(changes), 'cell')}", *lines] if lines else []
