"""The corrections file: the sender's own rows that need something, with what is wrong, to correct and to read again.

Its last column says what its columns and rows are, and which cells are damaged: people sort the file and cut it, and
other programs save it.
"""

from __future__ import annotations

import binascii
import csv
import io
import json
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from payerkit.checks.inputs import is_blank, unwrap_secret
from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.masking import mask
from payerkit.tables.damage import file_finding
from payerkit.tables.header import field_of
from payerkit.tables.mapping import name_columns
from payerkit.tables.normalise import FoundInCell, Origin, findings_in, origin_of
from payerkit.tables.sheet import Sheet
from payerkit.tables.spreadsheets import inert, new_file_for_owner, require_new_file, write_workbook

TITLE = "payerkit: leave this column as it is"
"""How the header of the column of tokens begins."""

_MARK = "pk1."
"""How each token begins; the number is that of the format."""

_FINDING = ("field", "wire_name", "message", "code", "severity", "hint", "basis")
"""What is kept of a finding."""

_ID = "client_user_id"

_is_number = re.compile("[+]?[0-9]+").fullmatch
_is_fragile = re.compile("(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}|[+0][0-9]+|[1-9][0-9]{14}(?!0+$)[0-9]+").fullmatch
"""Matches what a spreadsheet rewrites: an ISO date, a number with zeros or a plus in front, or with too many digits."""


@dataclass(frozen=True, slots=True)
class FileToken:
    """What a file says about itself.

    headers: the sender's columns, as the file has them. fields: of each, None for one that was left out. ours: the
    headers of payerkit's columns. settings: how the sender's file was read. last: the highest row number of the table,
    None if its rows have other labels. is_escaped: cells that a spreadsheet would compute have ' in front.
    """

    headers: Sequence[str]
    fields: Sequence[str | None]
    ours: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    last: int | None = None
    is_escaped: bool = False


class RowToken(NamedTuple):
    """What a row says about itself.

    label: in the table that the file was made of. id_digest: of its client user id, "" if that may be corrected.
    fragile: for each column with a text that a spreadsheet would rewrite, the digest of what it would make of that.
    damage: its damaged cells: the column in the table, the digest of the text, and what was found; the digest is "" if
    the finding holds for any text.
    """

    label: Hashable
    id_digest: str
    fragile: Mapping[str, str]
    damage: Sequence[tuple[str, str, Finding]]

    def write(self) -> str:
        """Return the token."""
        marks = [
            (column, digest, [getattr(finding, name) for name in _FINDING]) for column, digest, finding in self.damage
        ]
        label = self.label if isinstance(self.label, int | str) else str(self.label)
        return _encode([label, self.id_digest, self.fragile, marks])

    @classmethod
    def read(cls, text: str, row: Hashable) -> RowToken:
        """Return what the token of a row says. Raises InvalidInput for any other text."""
        with suppress(ValueError, TypeError):
            label, id_digest, fragile, marks = _decode(text)
            damage = [(name, digest, Finding(**dict(zip(_FINDING, each, strict=True)))) for name, digest, each in marks]
            return cls(label, id_digest, fragile, damage)
        raise InvalidInput(f"source: row {row}: its last cell, which payerkit wrote, was changed.", advice=_ADVICE)

    def find(self, columns: Mapping[str, Sequence[str | None]], place: int) -> Iterator[FoundInCell]:
        """Yield what is wrong with the row's cells now: still, or since the file was made.

        columns: the cells of all rows. place: of this row.
        """
        for column, digest, finding in self.damage:
            if column in columns and digest in {"", _digest(columns[column][place] or "")}:
                yield place, column, finding
        id_text = columns[_ID][place] if _ID in columns else None
        if self.id_digest and id_text and _digest(id_text) != self.id_digest:
            yield place, _ID, file_finding("id_changed", _ID)
        for column, digest in self.fragile.items():
            text = columns[column][place] if column in columns else None
            if text and not _is_fragile(text) and _digest(_plain(text)) == digest:
                yield place, column, file_finding("rewritten", field_of(column))


def _plain(text: str) -> str:
    """Return the same text for a fragile one and for what spreadsheets make of it: 15 digits, or day and month swapped.

    A year counts by its last two digits.
    """
    parts = re.findall("[0-9]+", text)
    if len(parts) == 3:
        return " ".join(sorted(f"{int(part) % 100:02}" for part in parts))
    digits = text.strip().lstrip("+0")
    return digits[:15].ljust(len(digits), "0") if _is_number(text.strip()) else text


def _digest(text: str) -> str:
    """Return a short hash of a cell, however its lines end."""
    lines = "\n".join(text.splitlines())
    return blake2b(lines.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _encode(content: Any) -> str:
    packed = zlib.compress(json.dumps(content, separators=(",", ":"), default=list).encode())
    return _MARK + urlsafe_b64encode(packed).decode().rstrip("=")


def _decode(text: str) -> Any:
    """Return the content of a token. Raises ValueError for other text, and for a token that was cut."""
    packed = text.strip().removeprefix(_MARK)
    if packed == text.strip():
        raise ValueError("no token of this format")
    try:
        return json.loads(zlib.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4))))
    except (binascii.Error, zlib.error) as error:
        raise ValueError(str(error)) from None


# To read

_HEADER_ROWS = 20
"""Rows among which the header is looked for: a person may have added some above it."""

_ADVICE = "Take it from the file as it was saved, or save the plan once more."


@dataclass(frozen=True, slots=True)
class OwnFile:
    """What a corrections file says about itself.

    columns: the field of each of the sender's columns, by its number in this file; None for one that is left out. A
    column that a person added is not among them. ours: the numbers of payerkit's columns, the one with tokens first.
    """

    token: FileToken = field(repr=False)
    columns: Mapping[int, str | None]
    ours: Sequence[int]

    def restore(self, cells: pd.DataFrame) -> pd.DataFrame:
        """Return cells without the apostrophes that keep spreadsheets from computing them."""
        return cells.map(_unescaped, na_action="ignore") if self.token.is_escaped else cells

    def identify(self, rows: pd.DataFrame) -> tuple[dict[Hashable, int], list[FoundInCell]]:
        """Return the file's row of each label of the table that it was made of, and what is found in the cells.

        Found are cells that were damaged, and still have the text of then, or that were rewritten since. rows: the
        cells, restored, by the numbers of the file's rows and columns. A row without a token is a new one, with a new
        label, and so is the second row with one token. Raises InvalidInput for a token that was changed.
        """
        columns: dict[str, list[str | None]] = {}
        for number, name in self.columns.items():
            if name is not None:
                columns[name] = [None if pd.isna(cell) else str(cell) for cell in rows[number]]
        last = self.token.last
        new_labels = count(last + 1) if last is not None else (f"new row {number}" for number in count(1))
        numbers: dict[Hashable, int] = {}
        findings: list[FoundInCell] = []
        for place, (row, text) in enumerate(zip(rows.index.tolist(), rows[self.ours[0]].tolist(), strict=True)):
            token = None if pd.isna(text) or not str(text).strip() else RowToken.read(str(text), row)
            label = next(new_labels) if token is None or token.label in numbers else token.label
            numbers[label] = row
            if token is not None:
                findings += token.find(columns, place)
        return numbers, findings


def own_header(sheet: Sheet) -> int | None:
    """Return the number of the header's row in a corrections file; None for any other sheet."""
    first = sheet.cells.head(_HEADER_ROWS)
    found = first.map(lambda text: isinstance(text, str) and text.startswith(TITLE)).any(axis=1)
    return next(iter(first.index[found].tolist()), None)


def own_file(names: Sequence[str | None]) -> OwnFile:
    """Return what a corrections file says about itself. names: the cells of its header.

    The sender's columns may have been sorted, removed or joined by others. No two of them had one name; of columns with
    one name now, the first is the one that had it. Raises InvalidInput if the file cannot be understood.
    """
    cells = ["" if pd.isna(name) else str(name) for name in names]
    place = next(number for number, name in enumerate(cells) if name.startswith(TITLE))
    token = None
    with suppress(ValueError, TypeError):
        token = FileToken(**_decode(cells[place].removeprefix(TITLE)))
    if token is None:
        message = "source: the last name in the header, which payerkit wrote, was changed, or is of a newer payerkit."
        raise InvalidInput(message, advice=_ADVICE)
    texts = list(map(_unescaped, cells)) if token.is_escaped else cells
    ours = [place, *(texts.index(name) for name in token.ours if name in texts)]
    fields = dict(zip(token.headers, token.fields, strict=True))
    columns = {}
    for number, name in enumerate(texts):
        if number not in ours and name in fields:
            columns[number] = fields.pop(name)
    return OwnFile(token, columns, ours)


def _escaped(text: str) -> str:
    """Return a text with ' in front if a spreadsheet would compute it, or if it begins with ' already."""
    return f"'{text}" if text.startswith("'") else inert(text)


def _unescaped(text: str) -> str:
    """Return a text as it was before `_escaped`."""
    return text[1:] if text.startswith("'") and _escaped(text[1:]) == text else text


# To write

KINDS = (".xlsx", ".csv")

_LEFT_OUT = {"hidden_row", "struck_row"}
_SHOW = "Delete the row; or clear its last cell, so that it is sent as a new row."
"""The hint of a row that was hidden or struck out, which it is not in this file."""

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that a workbook cannot have. They are written as the replacement character, which is a finding."""

_MAX_TEXT = 32_767
"""What a cell of Excel can hold; a longer text would be cut."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What is wrong with a row. place: of the row in the table. column: of the table, "" for the row as a whole.

    kind: "error", "warning", or the state of the row in words.
    """

    place: int
    column: str
    kind: str
    message: str
    hint: str = ""
    code: str = ""


class _Column(NamedTuple):
    """A column of the sender's file, or one that only the table has.

    texts: of the chosen rows. now: the same as the table has them; none for a column that was left out.
    """

    header: str
    field: str | None
    texts: list[str]
    now: Sequence[Any]


def write_corrections(path: Path, rows: pd.DataFrame, problems: Iterable[RowProblem], *, chosen: Sequence[int]) -> None:
    """Write some rows of a table, with what is wrong with them, to a new file that its owner alone may read.

    chosen: the places of the rows. Raises InvalidInput if the file exists or cannot be of this kind.
    """
    require_new_file(path, KINDS)
    is_csv = path.suffix.lower() == ".csv"
    origin = _own_origin(rows)
    columns = _sender_columns(rows, origin, list(chosen))
    headers = [each.header for each in columns]
    ours = [name if name not in headers else f"{name} (payerkit)" for name in ("problems", "original row")]
    fields = [each.field for each in columns]
    token = FileToken(headers, fields, ours, origin.settings, _last_label(rows, origin), is_escaped=is_csv)
    header = [*headers, *ours, f"{TITLE} {_encode(asdict(token))}"]
    lines, colours = _make_lines(rows, columns, problems, chosen)
    if is_csv:
        _write_csv(path, [header, *lines], _separator(origin))
        return
    for *cells, label, row_token in lines:
        if any(len(text) > _MAX_TEXT for text in (*cells, row_token)):
            where = f"row {mask('clientUserId', label)}"
            raise InvalidInput(f"path: {where} has a text that is too long for a cell of Excel. Save a .csv file.")
    write_workbook(path, origin.sheet or "rows", [header, *lines], colours=colours)


def _make_lines(
    rows: pd.DataFrame, columns: Sequence[_Column], problems: Iterable[RowProblem], chosen: Sequence[int]
) -> tuple[list[list[str]], dict[tuple[int, int], str]]:
    """Return the lines below the header, and the colours of cells by the numbers of their line and column."""
    wrong = defaultdict[int, list[RowProblem]](list)
    for problem in problems:
        wrong[problem.place].append(replace(problem, hint=_SHOW) if problem.code in _LEFT_OUT else problem)
    damage = _damage(rows, columns, wrong, chosen)
    numbers = {each.field: number for number, each in enumerate(columns) if each.field is not None}
    lines = []
    colours: dict[tuple[int, int], str] = {}
    for line, (place, label) in enumerate(zip(chosen, rows.index.take(list(chosen)).tolist(), strict=True), start=1):
        cells = [each.texts[line - 1] for each in columns]
        texts = {name: cells[number] for name, number in numbers.items()}
        found = " | ".join(_described(each, columns, numbers) for each in wrong[place])
        lines.append([*cells, found, str(label), _row_token(label, texts, wrong[place], damage[place]).write()])
        for each in sorted(wrong[place], key=lambda each: each.kind != "warning"):  # the worst one counts
            at = numbers.get(each.column, len(columns))
            colours[line, at] = "warning" if each.kind == "warning" else "error"
    return lines, colours


def _damage(
    rows: pd.DataFrame, columns: Sequence[_Column], wrong: Mapping[int, Sequence[RowProblem]], chosen: Sequence[int]
) -> Mapping[int, Mapping[tuple[str, Finding], None]]:
    """Return what was found in the cells of each row, each once with its column, and which cells are no text."""
    now = {each.field: each.now for each in columns if each.field is not None}
    damage = defaultdict[int, dict[tuple[str, Finding], None]](dict)
    for place, name, finding in findings_in(rows):
        if name in now:
            damage[place][name, finding] = None
    for number, place in enumerate(chosen):
        for problem in wrong.get(place, ()):
            code = _damage_code(now[problem.column][number]) if problem.column in now else ""
            if code and problem.kind == "error":
                damage[place][problem.column, file_finding(code, field_of(problem.column))] = None
    return damage


def _row_token(
    label: Hashable,
    texts: Mapping[str, str],
    problems: Iterable[RowProblem],
    damaged: Iterable[tuple[str, Finding]],
) -> RowToken:
    """Return the token of a row, which says of all damage that it must still be found when all cells are text.

    texts: of the cells, by column of the table. damaged: what was found in them.
    """
    marks = []
    for name, found in damaged:
        if found.code in _LEFT_OUT:
            marks.append((name, "", replace(found, hint=_SHOW)))
        else:
            marks.append((name, _digest(texts[name]), found))
    wrong = {each.column for each in problems} | {name for name, digest, _ in marks if digest}
    fragile = {
        name: _digest(_plain(text))
        for name, text in texts.items()
        if name not in wrong and name != _ID and _is_fragile(text)
    }
    id_text = texts.get(_ID) if _ID not in wrong else None
    return RowToken(label, _digest(id_text) if id_text else "", fragile, marks)


def _damage_code(cell: Any) -> str:
    """Return the code of what a cell is that is no text, "" for text and for a blank one."""
    cell = unwrap_secret(cell)
    if isinstance(cell, str) or is_blank(cell):
        return ""
    if hasattr(cell, "isoformat"):
        return "became_date"
    return "became_boolean" if type(cell).__name__ in {"bool", "bool_"} else "became_number"


def _own_origin(rows: pd.DataFrame) -> Origin:
    """Return where the rows come from; an empty origin if their own cells are not known, as after numbering anew."""
    origin = origin_of(rows)
    has_cells = origin.cells is not None and rows.index.is_unique and rows.index.isin(origin.cells.index).all()
    return origin if has_cells and rows.index.name == "row" else Origin()


def _last_label(rows: pd.DataFrame, origin: Origin) -> int | None:
    """Return the highest number that a row has, so that new rows get others; None if labels are no numbers."""
    labels = rows.index if origin.cells is None else origin.cells.index
    if not pd.api.types.is_integer_dtype(labels):
        return None
    return int(max([origin.last_label, *labels.tolist()]))


def _sender_columns(rows: pd.DataFrame, origin: Origin, chosen: list[int]) -> list[_Column]:
    """Return the columns of the sender's file, and behind them those that only the table has."""
    named = {str(name): column for column, name in name_columns(rows.columns).items()}
    found = []
    if origin.cells is not None:
        labels = rows.index.take(chosen)
        cells = origin.cells.loc[labels]
        changes: dict[Any, str | None] = {(each.label, each.column): each.after for each in origin.changes}
        for each in origin.columns:
            name = each.column if each.column in named else None
            texts = list(map(_text, cells[each.place].tolist()))
            values = rows[named.pop(name)].iloc[chosen].tolist() if name is not None else []
            for place, (label, now) in enumerate(zip(labels, map(_text, values), strict=False)):
                if now != (_text(changes[label, name]) if (label, name) in changes else texts[place]):
                    texts[place] = now
            # By its key: columns of one name could not be told apart once they are moved.
            found.append(_Column(_text(each.key), name, texts, values))
    for name, column in named.items():
        values = rows[column].iloc[chosen].tolist()
        found.append(_Column(_text(str(column)), name, list(map(_text, values)), values))
    return found


def _text(cell: Any) -> str:
    """Return a cell as it is written, "" for a blank one."""
    if type(cell) is str:
        return _UNWRITABLE.sub("\ufffd", cell)
    cell = unwrap_secret(cell)
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell == datetime.combine(cell, datetime.min.time(), cell.tzinfo):
        cell = cell.date()
    return _UNWRITABLE.sub("\ufffd", cell.isoformat() if isinstance(cell, date) else str(cell))


def _described(problem: RowProblem, columns: Sequence[_Column], numbers: Mapping[str, int]) -> str:
    """Return a problem as text, such as "error ZIP: Required."."""
    name = columns[numbers[problem.column]].header if problem.column in numbers else problem.column
    return f"{problem.kind} {name}".rstrip() + f": {problem.message} {problem.hint}".rstrip()


def _write_csv(path: Path, lines: Sequence[Sequence[str]], separator: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows([*map(_escaped, line)] for line in lines)
    with new_file_for_owner(path) as file:
        file.write(text.getvalue().encode("utf-8-sig"))  # with the mark by which Excel knows UTF-8


def _separator(origin: Origin) -> str:
    """Return the separator of the sender's text file, so that their program opens this one, too; else a comma."""
    separators = ",;\t|"
    if origin.path is not None and origin.path.suffix.lower() in {".csv", ".tsv", ".txt"}:
        with suppress(OSError), origin.path.open(encoding="latin-1") as file:
            return max(separators, key=file.readline().count)
    return separators[0]
