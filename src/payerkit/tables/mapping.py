"""The mapping of a file's columns to ours, which a person sees, corrects, passes on and keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self, get_args

import pandas as pd

from payerkit.checks.dates import DateOrder
from payerkit.checks.inputs import mask_name
from payerkit.checks.schema import MASK
from payerkit.errors import InvalidInput, without_internal_frames
from payerkit.html import advice, chip, grid, picture, title
from payerkit.masking import mask
from payerkit.tables.columns import OUR_NAMES, field_of
from payerkit.tables.header_mapping import HeaderMapping, MappedColumn, map_headers
from payerkit.tables.header_names import is_known_header, likely_column
from payerkit.tables.raw_table import RawTable, open_table
from payerkit.wire import parse_json, repeated_names
from payerkit.wording import count_of, listed

Normalise = bool | Sequence[str]
"""Whether values with exactly one meaning are rewritten: all, none, or those of some of our columns."""

_FIRST_ROWS = 100
_EXAMPLES = 3
_MAX_EXAMPLE = 24


class Mapping(MutableMapping[str, str | None]):
    """Which column of a file is which of ours, and how the file is read: `mapping["Konto"] = "iban"`.

    As a dict, it has the columns that are decided, by their header in the file, in its order: what is certain or was
    chosen, None for a column that is left out. The columns of `open` are not in it until somebody chooses. A header
    that repeats, or is missing, has the letter of its column: "Name (D)".

    Args:
        headers: The names of the file's columns, in order; "" for none.
        chosen: What is decided, as a dict.
        examples: For each column its first values, masked.
        unnamed: For each column without a name that has cells, by its number from 0, the first row with one.

    Attributes:
        sheet: Name of the sheet; None for the only one.
        header_row: Number of the row with the names, as in the file; None to find it.
        normalise: As for `read_payers`.
        date_order: As for `read_payers`.

    Example:
        >>> mapping = Mapping(["Vorname", "Konto", "Notiz"])
        >>> mapping.open
        {'Konto': ('account_number', 'iban', 'client_user_id'), 'Notiz': ()}
        >>> mapping["Konto"] = "iban"
        >>> mapping["Notiz"] = None
        >>> dict(mapping)
        {'Vorname': 'first_name', 'Konto': 'iban', 'Notiz': None}
    """

    def __init__(
        self,
        headers: Sequence[str],
        chosen: AnyMapping[str, str | None] | None = None,
        *,
        examples: Sequence[Sequence[str]] = (),
        unnamed: AnyMapping[int, int] | None = None,
    ) -> None:
        self._headers = tuple(headers)
        self._unnamed = dict(unnamed or {})
        self._chosen: dict[str, str | None] = {}
        self._examples = tuple(map(tuple, examples))
        self.sheet: str | None = None
        self.header_row: int | None = None
        self.normalise: Normalise = False
        self.date_order: DateOrder | None = None
        self._read()
        for key, name in (chosen or {}).items():
            self[key] = name

    @classmethod
    def of(cls, raw: RawTable, mapped: HeaderMapping) -> Mapping:
        """Return the mapping of a table whose columns were read, with their first values, masked."""
        cells = [raw.rows[place].head(_FIRST_ROWS) for place in range(len(raw.names))]
        examples = [_masked(each.column, values) for each, values in zip(mapped.columns, cells, strict=True)]
        ours = raw.own.ours if raw.own else ()
        names = ["" if place in ours else name for place, name in enumerate(raw.names)]
        mapping = cls(names, examples=examples, unnamed=raw.unnamed)
        mapping._chosen = {each.key: each.column for each in mapped.columns if each.how == "chosen"}
        mapping._mapped = mapped
        mapping.sheet = raw.sheet.name or None
        mapping.header_row = raw.header_row or None
        return mapping

    def _read(self) -> None:
        self._mapped = map_headers(self._headers, self._chosen, unnamed=self._unnamed)

    @property
    def columns(self) -> tuple[MappedColumn, ...]:
        """All columns of the file with a header or with cells, in its order."""
        return tuple(each for each in self._mapped.columns if each.how != "blank")

    @property
    def mapped(self) -> HeaderMapping:
        """The columns as they are read, blank ones included, with what is wrong with them."""
        return self._mapped

    @property
    def chosen(self) -> dict[str, str | None]:
        """What a person decided, by header."""
        return dict(self._chosen)

    @property
    def open(self) -> dict[str, tuple[str, ...]]:
        """The columns that are not decided, each with those of ours that it may be, the likeliest first."""
        return {each.key: each.candidates for each in self._mapped.open}

    @property
    def proposals(self) -> dict[str, str | None]:
        """What each open column would be: the likeliest that no other column is; None to leave it out."""
        return dict(self._mapped.proposals)

    def accept(self) -> Self:
        """Decide every open column as proposed, and return the mapping. Look at `proposals` first."""
        for key, name in self.proposals.items():
            self[key] = name
        return self

    def examples(self, key: str) -> tuple[str, ...]:
        """Return the first values of a column; where they may be personal, X and x stand for letters, 0 for digits."""
        place = self._column(key).place
        return self._examples[place] if place < len(self._examples) else ()

    def __getitem__(self, key: str) -> str | None:
        try:
            column = self._column(key)
        except InvalidInput:
            raise KeyError(key) from None
        if column.is_open or column.how == "blank":
            raise KeyError(f"{column.key}: not decided yet")
        return column.column

    def __setitem__(self, key: str, value: str | None) -> None:
        column = self._column(key)
        if value is not None and value not in OUR_NAMES:
            likely = likely_column(str(value))
            hint = f" Did you mean {likely}?" if likely else ""
            raise InvalidInput(f"mapping: {value} is not a field of a payer or of bank details.{hint}")
        self._chosen[column.key] = None if value is None else OUR_NAMES[value]
        self._read()

    def __delitem__(self, key: str) -> None:
        del self._chosen[self._column(key).key]
        self._read()

    def clear(self) -> None:
        """Take back every choice; what is certain stays."""
        self._chosen = {}
        self._read()

    def __iter__(self) -> Iterator[str]:
        return (each.key for each in self.columns if not each.is_open)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            return self._content() == other._content()
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> tuple[Any, ...]:
        return dict(self), set(self.open), *(getattr(self, name) for name in SETTINGS)

    def _column(self, key: str) -> MappedColumn:
        """Return the column that a key means. Raises InvalidInput if there is none, or more than one."""
        found = self._mapped.named(key)
        if len(found) == 1:
            return found[0]
        if found:
            keys = listed((json.dumps(each.key, ensure_ascii=False) for each in found), "or")
            raise InvalidInput(f"mapping: several columns have this name. Write {keys}.")
        raise InvalidInput(f"mapping: {mask_name(key)} is not a column of the file. mapping.columns lists them all.")

    def save(self, path: str | Path) -> None:
        """Write the mapping as JSON: names of columns, and how the file is read; no values of the file.

        A column that is open has a list of what it may be: replace the list with one of them, or with null.
        """
        columns = {each.shown_key: list(each.candidates) if each.is_open else each.column for each in self.columns}
        write_mapping_file(Path(path), columns, {name: getattr(self, name) for name in SETTINGS})

    @classmethod
    def load(cls, path: str | Path) -> Mapping:
        """Return the mapping of a file that `save` wrote. Raises InvalidInput for any other file."""
        columns, settings = read_mapping_file(Path(path))
        chosen = {key: name for key, name in columns.items() if not isinstance(name, list)}
        mapping = cls(list(columns), chosen)
        for name, value in settings.items():
            setattr(mapping, name, value)
        return mapping

    def __repr__(self) -> str:
        rows = [
            (each.shown_key, self._field_shown(each), self._how_shown(each), self._examples_shown(each))
            for each in self.columns
        ]
        widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows
        ]
        return "\n".join([self._summary(), *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        rows = [
            (each.shown_key, self._field_shown(each), self._chip(each), self._examples_shown(each))
            for each in self.columns
        ]
        table = grid(["header", "column", "how", "first values"], rows, caption="")
        todo = (
            advice(f"Decide what is open, such as {self._choice()}, or take all proposals: mapping.accept()")
            if self.open
            else ""
        )
        return picture(title(self._summary()), table, todo)

    def _summary(self) -> str:
        number = len(self._mapped.open)
        return f"Mapping of {count_of(len(self.columns), 'column')}, {number} open"

    def _choice(self) -> str:
        first = self._mapped.open[0]
        name = self.proposals[first.key]
        return f"mapping[{json.dumps(first.shown_key, ensure_ascii=False)}] = {json.dumps(name) if name else None}"

    def _field_shown(self, each: MappedColumn) -> str:
        if each.is_open:
            return f"{self.proposals[each.key] or 'left out'}?"
        return each.column or "left out"

    def _how_shown(self, each: MappedColumn) -> str:
        return f"open: {each.problem}" if each.is_open else "certain" if each.how == "exact" else each.how

    def _chip(self, each: MappedColumn) -> str:
        return chip("warning" if each.is_open else "success" if each.column else "neutral", self._how_shown(each))

    def _examples_shown(self, each: MappedColumn) -> str:
        return ", ".join(self.examples(each.key))


@without_internal_frames
def propose_mapping(source: Any, *, sheet: str | None = None) -> Mapping:
    """Return which column of a file is which of ours: certain, or proposed for a person to decide.

    Args:
        source: As for `read_payers`.
        sheet: As for `read_payers`.

    Returns:
        A `Mapping`, to look at, to correct, to keep, and to pass to `read_payers(source, mapping=mapping)`.

    Raises:
        InvalidInput: For a file that cannot be read, or has no header.
        ImportError: If the library that such files need is not installed.

    Example:
        >>> table = pd.DataFrame({"Vorname": ["Example"], "Kto": ["0123456789"], "Bank code": ["001"]})
        >>> propose_mapping(table)
        Mapping of 3 columns, 0 open
          Vorname    first_name      certain  Xxxxxxx
          Kto        account_number  certain  ••••6789
          Bank code  bank_code       certain  001
    """
    raw = open_table(source, is_known_header, sheet=sheet)
    mapped = map_columns(raw)
    if mapped.looks_personal:
        mapped.check()
    return Mapping.of(raw, mapped)


def map_columns(raw: RawTable, chosen: AnyMapping[str, str | None] | None = None) -> HeaderMapping:
    """Return which column of a file is which of ours; those of a corrections file are what they were at first.

    chosen: what a person decided, by header. payerkit's own columns of a corrections file are blank.
    """
    if raw.own is None:
        return map_headers(raw.names, chosen, unnamed=raw.unnamed)
    known = raw.own.columns
    names = ["" if place in known.keys() | raw.own.ours else name for place, name in enumerate(raw.names)]
    theirs = {raw.names[place] for place in known}
    others = {key: column for key, column in (chosen or {}).items() if key not in theirs}
    added = map_headers(names, others, unnamed=raw.unnamed)
    return replace(added, columns=tuple(_as_known(each, raw.names, known) for each in added.columns))


def _as_known(each: MappedColumn, names: Sequence[str], known: AnyMapping[int, str | None]) -> MappedColumn:
    """Return a column of a corrections file as its first file had it; any other as it is."""
    if each.place not in known:
        return each
    header = names[each.place]
    key = header if header and names.count(header) == 1 else each.key
    return replace(each, key=key, header=header, column=known[each.place] or None, how="chosen")


def _masked(column: str | None, values: Iterable[Any]) -> tuple[str, ...]:
    """Return the first different values of a column, masked."""
    texts = dict.fromkeys(" ".join(str(value).split()) for value in values if not pd.isna(value))
    shown = dict.fromkeys(_mask_one(column, text) for text in texts if text)
    return tuple(islice(shown, _EXAMPLES))


def _mask_one(column: str | None, text: str) -> str:
    """Return what may be shown of a value: its shape where it is personal, or what it is is not known."""
    shown = MASK if column is None else mask(field_of(column), text)
    shape = "".join(
        "0" if each.isdigit() else "X" if each.isupper() else "x" if each.isalpha() else each for each in text
    )
    shown = shape if shown == MASK else shown
    return shown if len(shown) <= _MAX_EXAMPLE else f"{shown[:_MAX_EXAMPLE]}…"


SETTINGS = ("sheet", "header_row", "normalise", "date_order")
"""How a file is read, beside its columns."""

Columns = dict[str, str | list[str] | None]
"""Our column for each header; a list of what it may be while it is open."""

_FORMAT = "payerkit mapping 1"
_MAX_SIZE = 1_000_000


def write_mapping_file(
    path: Path, columns: AnyMapping[str, str | list[str] | None], settings: AnyMapping[str, Any]
) -> None:
    """Write a mapping."""
    content = {"format": _FORMAT, **settings, "columns": columns}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def read_mapping_file(path: Path) -> tuple[Columns, dict[str, Any]]:
    """Return the columns and the settings of a mapping. Raises InvalidInput that says what is wrong with the file."""
    name = f"mapping: {path.name}"
    if not path.is_file():
        raise InvalidInput(f"{name}: file not found. propose_mapping(source).save({json.dumps(path.name)}) writes it.")
    with path.open("rb") as file:
        text = file.read(_MAX_SIZE)
    try:
        content = parse_json(text)
    except ValueError:
        problem = InvalidInput(f"{name}: not JSON. A comma, a quote or a bracket may be missing.")
    else:
        return _checked(content, name)
    raise problem


def _checked(content: Any, name: str) -> tuple[Columns, dict[str, Any]]:
    """Return the columns and settings in parsed JSON, names on the wire replaced by ours."""
    if (
        not isinstance(content, dict)
        or content.get("format") != _FORMAT
        or not isinstance(content.get("columns"), dict)
    ):
        raise InvalidInput(f"{name}: not a mapping of payerkit. propose_mapping(source).save(path) writes one.")
    if repeated := repeated_names(content):
        raise InvalidInput(f"{name}: {mask_name(repeated[0])} stands in it twice.")
    if unknown := content.keys() - {"format", "columns", *SETTINGS}:
        raise InvalidInput(
            f"{name}: {mask_name(min(unknown))} is not a setting. The settings are {', '.join(SETTINGS)}."
        )
    columns: Columns = {
        key: _our_column(value, f"{name}: {mask_name(key)}") for key, value in content["columns"].items()
    }
    settings = {key: content.get(key) for key in SETTINGS}
    settings["normalise"] = settings["normalise"] or False
    for key, problem in _setting_problems(settings).items():
        raise InvalidInput(f"{name}: {key}: {problem}")
    return columns, settings


def _our_column(value: Any, name: str) -> str | list[str] | None:
    """Return one of our columns, by our name or the name on the wire; a list of them, and None, as they are."""
    if value is None or (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        return value
    if isinstance(value, str) and value in OUR_NAMES:
        return OUR_NAMES[value]
    likely = likely_column(value) if isinstance(value, str) else None
    hint = f" Did you mean {likely}?" if likely else ""
    raise InvalidInput(f"{name}: expected a field of a payer or of bank details, or null to leave it out.{hint}")


def _setting_problems(settings: AnyMapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with settings, by name."""
    sheet, row, normalise, order = (settings[key] for key in SETTINGS)
    are_columns = isinstance(normalise, list) and all(isinstance(each, str) and each in OUR_NAMES for each in normalise)
    problems = {
        "sheet": None if sheet is None or isinstance(sheet, str) else "expected the name of a sheet, or null.",
        "header_row": None if row is None or (type(row) is int and row > 0) else "expected a row's number, or null.",
        "normalise": None
        if isinstance(normalise, bool) or are_columns
        else "expected true, false or a list of fields.",
        "date_order": None if order in {None, *get_args(DateOrder)} else "expected day_first, month_first or null.",
    }
    return {key: problem for key, problem in problems.items() if problem}
