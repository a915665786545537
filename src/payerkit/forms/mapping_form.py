"""The form that maps the columns of a file to ours, with a preview of what would come of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any

from payerkit import html
from payerkit.checks.schema import BANK_DETAILS, PAYER, SHARED_FIELDS
from payerkit.errors import PayerkitError, without_internal_frames
from payerkit.onboarding.plan import Plan, plan_onboarding
from payerkit.tables.header import BANK_COLUMNS, HOLDER_IS_PAYER, field_of, own_columns
from payerkit.tables.mapping import FileColumn
from payerkit.tables.read import propose_mapping, read_payers
from payerkit.widgets import ReplyingWidget
from payerkit.wording import count_of, visible

_GROUPS = {
    "Payer": list(PAYER.fields),
    "Account": [name for name in BANK_DETAILS.fields if name not in SHARED_FIELDS],
    "Account holder": [*BANK_COLUMNS, HOLDER_IS_PAYER],
}
"""Our columns as the form offers them."""

_KINDS = {"open": "warning", "left out": "neutral", "chosen": "info", "certain": "success"}
"""The colour of each degree of certainty."""


class MappingForm(ReplyingWidget):
    """Maps the columns of a file to ours, in a notebook: what is certain is filled in, and what is open is asked.

    The form shows each column with its first values, masked, and below them what would be sent and what is wrong, as
    `plan_onboarding` finds it. While columns are open, the preview takes them as proposed; the mapping does not. The
    notebook saves nothing of this.

    Args:
        source: As for `read_payers`; a file, an open file that can be read again, or a DataFrame of pandas.
        sheet: As for `read_payers`.

    Attributes:
        mapping: The `Mapping` as it stands. Its `open` columns are not decided; `read_payers` refuses them.
        plan: The `Plan` that the preview shows; None before the first one, and if the table cannot be planned.

    Raises:
        InvalidInput: As `propose_mapping`.
        ImportError: If the library that such files need is not installed.

    Example:
        >>> table = pd.DataFrame({"Vorname": ["Example"], "Konto": ["DE89370400440532013000"]})
        >>> form = MappingForm(table)
        >>> form
        <MappingForm: 2 columns, 1 open>
        >>> form.mapping["Konto"] = "iban"
        >>> read_payers(table, mapping=form.mapping).columns.tolist()
        ['first_name', 'iban']
    """

    _files = (
        "widgets/replies.js",
        "widgets/row_browser.css",
        "forms/browser/mapping_form.js",
        "forms/browser/mapping_form.css",
    )

    @without_internal_frames
    def __init__(self, source: Any, *, sheet: str | None = None) -> None:
        self._source = source
        self.mapping = propose_mapping(self._again(), sheet=sheet)
        self.plan: Plan | None = None
        self.holder_is_payer = False
        self._asked = {each.place for each in self.mapping.columns if each.is_open}
        super().__init__()
        self.set_trait("label", "Columns of the file")
        groups = [(group, [(name, _title(name)) for name in names]) for group, names in _GROUPS.items()]
        self.set_trait("spec", {"groups": groups})

    def _first(self) -> dict[str, Any]:
        return self._view()

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        match message["type"]:
            case "preview":
                return self._preview()
            case "choose":
                key = next(each.key for each in self.mapping.columns if each.place == message["place"])
                self.mapping[key] = message["column"] or None
            case "accept":
                self.mapping.accept()
            case "set":
                of = {"normalise": self.mapping, "date_order": self.mapping, "holder_is_payer": self}
                setattr(of[message["name"]], message["name"], message["value"])
        return self._view()

    def _view(self) -> dict[str, Any]:
        """Return the mapping as the page shows it: first the columns that were open at the beginning."""
        columns = sorted(self.mapping.columns, key=lambda each: each.place not in self._asked)
        proposals, is_decided = self.mapping.proposals, not self.mapping.open and not self.mapping.problems
        return {
            "columns": [self._column(each, proposals) for each in columns],
            "todo": self._todo(),
            "line": self._line() if is_decided else "",
            "can_accept": bool(self.mapping.open),
            "normalise": bool(self.mapping.normalise),
            "date_order": self.mapping.date_order or "",
            "holder_is_payer": self.holder_is_payer if self._has_both() else None,
        }

    def _column(self, each: FileColumn, proposals: Mapping[str, str | None]) -> dict[str, Any]:
        """Return a column as the page shows it."""
        certainty = "chosen" if each.how == "chosen" else "certain"
        state = "open" if each.is_open else "left out" if each.column is None else certainty
        problem = each.problem if each.is_open else self._problem_of(each)
        return {
            "place": each.place,
            "letters": each.letters,
            "header": visible(each.shown_key) if each.header else "(no name)",
            "examples": [visible(text) for text in self.mapping.examples(each.key)],
            "column": None if each.is_open else each.column or "",
            "candidates": list(each.candidates),
            "proposal": (_title(proposals[each.key]) or "leave it out") if each.is_open else "",
            "state": (_KINDS[state], state),
            "problem": problem[:1].upper() + problem[1:],
        }

    def _problem_of(self, each: FileColumn) -> str:
        """Return what is wrong with a choice, such as a second column for the same of ours."""
        own = [name for name, column in self.mapping.chosen.items() if column == each.column and column is not None]
        return f"a second column for {_title(each.column)}." if len(own) > 1 and each.key in own else ""

    def _todo(self) -> str:
        """Return what is left to decide, in a sentence."""
        if count := len(self.mapping.open):
            return f"{count_of(count, 'column')} {'is' if count == 1 else 'are'} open."
        if self.mapping.problems:
            return "Two columns are the same of ours. Choose another one, or leave one out."
        return "Every column is decided."

    def _has_both(self) -> bool:
        """Return True if the table has payers and accounts, so that it must say who holds these."""
        columns = {*copy(self.mapping).accept().fields.values()}
        return not columns.isdisjoint(own_columns(PAYER)) and not columns.isdisjoint(own_columns(BANK_DETAILS))

    def _preview(self) -> dict[str, Any]:
        """Return what would come of the mapping as it stands, as HTML."""
        self.plan = None
        try:
            rows = read_payers(self._again(), mapping=copy(self.mapping).accept())
            self.plan = plan_onboarding(rows, holder_is_payer=self.holder_is_payer)
        except PayerkitError as error:
            advice = [*map(str, error.fields), error.advice]
            parts = [html.escape(error.message), *map(html.advice, filter(None, advice))]
            return {"html": html.picture("".join(f"<div>{part}</div>" for part in parts)), "note": self._note()}
        return {"html": self.plan._repr_html_(), "note": self._note()}

    def _note(self) -> str:
        """Return what the preview takes for granted, and how values would change."""
        notes = ["Open columns are taken as proposed."] if self.mapping.open else []
        if self.plan is not None and len(self.plan.changes):
            notes.append(f"{count_of(len(self.plan.changes), 'cell')} rewritten: form.plan.changes lists them.")
        elif self.plan is not None and self.plan.correctable:
            notes.append(f"Rewriting would correct {count_of(self.plan.correctable, 'cell')}: tick the box above.")
        return " ".join(notes)

    def _line(self) -> str:
        """Return the line that reads the file with the mapping."""
        named = isinstance(self._source, str | Path)
        source = json.dumps(str(self._source), ensure_ascii=False) if named else "source"
        return f"rows = read_payers({source}, mapping=form.mapping)"

    def _again(self) -> Any:
        """Return the source; an open file from its beginning."""
        if hasattr(self._source, "seek"):
            self._source.seek(0)
        return self._source

    def __repr__(self) -> str:
        number = count_of(len(self.mapping.columns), "column")
        return f"<{type(self).__name__}: {number}, {len(self.mapping.open)} open>"


def _title(column: str | None) -> str:
    """Return a column of ours as people call it, with its name."""
    if column is None:
        return ""
    if column == HOLDER_IS_PAYER:
        return f"The holder is the payer ({column})"
    payer, bank = PAYER.fields, BANK_DETAILS.fields
    fields = {**payer, **bank} if column in BANK_COLUMNS else {**bank, **payer}
    return f"{fields[field_of(column)].title} ({column})"
