"""The corrections file: the sender's own rows that need something, with what is wrong,
to correct and to read again.

Its last column says what its columns and rows are, and which cells are damaged: people
sort the file and cut it, and other programs save it.
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
from datetime import date, datetime, time
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from payerkit.cells import is_blank, unwrap_secret
from payerkit.disk import save_new_file
from payerkit.errors import InvalidInput
from payerkit.findings import Finding
from payerkit.masking import mask
from payerkit.tables.damage import file_finding
from payerkit.tables.header import field_of
from payerkit.tables.mapping import name_columns
from payerkit.tables.normalise import (
    FoundInCell,
    Origin,
    findings_in,
    has_labels_of_file,
    kept_words,
    origin_of,
)
from payerkit.tables.sheet import Sheet
from payerkit.tables.spreadsheets import (
    inert,
    require_new_file,
    write_workbook,
)

TITLE = "payerkit: leave this column as it is"
"""How the header of the column of tokens begins."""

_MARK = "pk1."
"""How each token begins; the number is that of the format."""

_FINDING = ("field", "wire_name", "message", "code", "severity", "hint", "basis")
"""What is kept of a finding."""

_ID = "client_user_id"

_is_number = re.compile("[+]?[0-9]+").fullmatch
_is_fragile = re.compile(
    "(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}|[+0][0-9]+|[1-9][0-9]{14}(?!0+$)[0-9]+"
).fullmatch
"""Matches what a spreadsheet rewrites: an ISO date, a number with zeros or a plus in
front, or with too many digits.
"""


@dataclass(frozen=True, slots=True)
class FileToken:
    """What a file says about itself.

    headers: the sender's columns, as the file has them. fields: of each, None for one
    that was left out. ours: the headers of payerkit's columns. settings: how the
    sender's file was read. last: the highest row number of the table, None if its rows
    have other labels. is_escaped: cells that a spreadsheet would compute have ' in
    front.
    """

    headers: Sequence[str]
    fields: Sequence[str | None]
    ours: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    last: int | None = None
    is_escaped: bool = False


class RowToken(NamedTuple):
    """What a row says about itself.

    label: in the table that the file was made of. id_digest: of its client user id, ""
    if that may be corrected. fragile: for each column with a text that a spreadsheet
    would rewrite, the digest of what it would make of that. damage: its damaged cells:
    the column in the table, the digest of the text, and what was found; the digest is
    "" if the finding holds for any text.
    """

    label: Hashable
    id_digest: str
    fragile: Mapping[str, str]
    damage: Sequence[tuple[str, str, Finding]]

    def write(self) -> str:
        """Return the token."""
        marks = [
            (column, digest, [getattr(finding, name) for name in _FINDING])
            for column, digest, finding in self.damage
        ]
        label = self.label if isinstance(self.label, int | str) else str(self.label)
        return _encode([label, self.id_digest, self.fragile, marks])

    @classmethod
    def read(cls, text: str, row: Hashable) -> RowToken:
        """Return what the token of a row says. Raises InvalidInput for any other
        text.
        """
        with suppress(ValueError, TypeError):
            label, id_digest, fragile, marks = _decode(text)
            damage = [
                (name, digest, Finding(**dict(zip(_FINDING, each, strict=True))))
                for name, digest, each in marks
            ]
            return cls(label, id_digest, fragile, damage)
        raise InvalidInput(
            f"source: row {row}: its last cell, which payerkit wrote, was changed.",
            advice=_ADVICE,
        )

    def find(
        self, columns: Mapping[str, Sequence[str | None]], place: int
    ) -> Iterator[FoundInCell]:
        """Yield what is wrong with the row's cells now: still, or since the file was
        made.

        columns: the cells of all rows. place: of this row.
        """
        texts = {column: cells[place] or "" for column, cells in columns.items()}
        for column, digest, finding in self.damage:
            if column in texts and digest in {"", _digest(texts[column])}:
                yield place, column, finding
        id_text = texts.get(_ID)
        if self.id_digest and id_text and _digest(id_text) != self.id_digest:
            yield place, _ID, file_finding("id_changed", _ID)
        for column, digest in self.fragile.items():
            text = texts.get(column)
            if text and not _is_fragile(text) and _digest(_plain(text)) == digest:
                yield place, column, file_finding("rewritten", field_of(column))


def _plain(text: str) -> str:
    """Return the same text for a fragile one and for what spreadsheets make of it: 15
    digits, or day and month swapped.

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
    packed = zlib.compress(
        json.dumps(content, separators=(",", ":"), default=list).encode()
    )
    return _MARK + urlsafe_b64encode(packed).decode().rstrip("=")


def _decode(text: str) -> Any:
    """Return the content of a token. Raises ValueError for other text, and for a token
    that was cut.
    """
    packed = text.strip().removeprefix(_MARK)
    if packed == text.strip():
        raise ValueError("no token of this format")
    try:
        return json.loads(
            zlib.decompress(urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
        )
    except (binascii.Error, zlib.error) as error:
        raise ValueError(str(error)) from None


# To read

_HEADER_ROWS = 20
"""Rows among which the header is looked for: a person may have added some above it."""

_ADVICE = "Take it from the file as it was saved, or save the plan once more."


@dataclass(frozen=True, slots=True)
class OwnFile:
    """What a corrections file says about itself.

    columns: the field of each of the sender's columns, by its number in this file; None
    for one that is left out. A column that a person added is not among them. ours: the
    numbers of payerkit's columns, the one with tokens first. problems: the number of
    that with the problems; None if a person removed it.
    """

    token: FileToken = field(repr=False)
    columns: Mapping[int, str | None]
    ours: Sequence[int]
    problems: int | None

    def restore(self, cells: pd.DataFrame) -> pd.DataFrame:
        """Return cells without the apostrophes that keep spreadsheets from computing
        them.
        """
        return (
            cells.map(_unescaped, na_action="ignore")
            if self.token.is_escaped
            else cells
        )

    def identify(
        self, rows: pd.DataFrame
    ) -> tuple[dict[Hashable, int], list[FoundInCell], dict[Hashable, frozenset[str]]]:
        """Return the file's row of each label of the table that it was made of, what is
        found in the cells, and by label the placeholders that a person keeps.

        Found are cells that were damaged, and still have the text of then, or that were
        rewritten since. rows: the cells, restored, by the numbers of the file's rows
        and columns. A row without a token is a new one, with a new label, and so is the
        second row with one token. Raises InvalidInput for a token that was changed.
        """
        columns: dict[str, list[str | None]] = {}
        for number, name in self.columns.items():
            if name is not None:
                columns[name] = [
                    None if pd.isna(cell) else str(cell) for cell in rows[number]
                ]
        new_labels = self._new_labels()
        numbers: dict[Hashable, int] = {}
        findings: list[FoundInCell] = []
        kept: dict[Hashable, frozenset[str]] = {}
        notes = [""] * len(rows)
        if self.problems is not None:
            notes = [str(cell) for cell in rows[self.problems]]
        texts = ["" if is_blank(cell) else str(cell) for cell in rows[self.ours[0]]]
        for place, (row, text) in enumerate(zip(rows.index, texts, strict=True)):
            token = RowToken.read(text, row) if text.strip() else None
            if token is None or token.label in numbers:
                label = next(new_labels)
            else:
                label = token.label
            numbers[label] = row
            kept[label] = _kept_words(notes[place])
            if token is not None:
                findings += token.find(columns, place)
        return numbers, findings, kept

    def _new_labels(self) -> Iterator[Hashable]:
        """Return labels that the table does not have, without end."""
        last = self.token.last
        if last is not None:
            return count(last + 1)
        return (f"new row {number}" for number in count(1))


def own_header(sheet: Sheet) -> int | None:
    """Return the number of the header's row in a corrections file; None for any other
    sheet.
    """
    first = sheet.cells.head(_HEADER_ROWS)
    for row, *texts in first.itertuples(name=None):
        for text in texts:
            if isinstance(text, str) and text.startswith(TITLE):
                return int(row)
    return None


def own_file(names: Sequence[str | None]) -> OwnFile:
    """Return what a corrections file says about itself. names: the cells of its header.

    The sender's columns may have been sorted, removed or joined by others. No two of
    them had one name; of columns with one name now, the first is the one that had it.
    Raises InvalidInput if the file cannot be understood.
    """
    cells = ["" if is_blank(name) else str(name) for name in names]
    place = next(number for number, name in enumerate(cells) if name.startswith(TITLE))
    token = None
    with suppress(ValueError, TypeError):
        token = FileToken(**_decode(cells[place].removeprefix(TITLE)))
    if token is None:
        message = (
            "source: the last name in the header, which payerkit wrote, was changed, or"
            " is of a newer payerkit."
        )
        raise InvalidInput(message, advice=_ADVICE)
    texts = cells
    if token.is_escaped:
        texts = [_unescaped(cell) for cell in cells]
    found = {name: texts.index(name) for name in token.ours if name in texts}
    ours = [place, *found.values()]
    fields = dict(zip(token.headers, token.fields, strict=True))
    columns = {}
    for number, name in enumerate(texts):
        if number not in ours and name in fields:
            columns[number] = fields.pop(name)
    return OwnFile(token, columns, ours, found.get(token.ours[0]))


def _escaped(text: str) -> str:
    """Return a text with ' in front if a spreadsheet would compute it, or if it begins
    with ' already.
    """
    return f"'{text}" if text.startswith("'") else inert(text)


def _unescaped(text: str) -> str:
    """Return a text as it was before `_escaped`."""
    return text[1:] if text.startswith("'") and _escaped(text[1:]) == text else text


# To write

KINDS = (".xlsx", ".csv")

_LEFT_OUT = {"hidden_row", "struck_row"}
_SHOW = "Delete the row; or clear its last cell, so that it is sent as a new row."
"""The hint of a row that was hidden or struck out, which it is not in this file."""

_HINTS = {
    **dict.fromkeys(_LEFT_OUT, _SHOW),
    "placeholder": (
        "Clear the cell, or fill it in. If the text is meant, write into this cell keep"
        " and the text, such as: keep Null"
    ),
}
"""The hints that are others in this file, by the code of the finding."""

_KEEP = re.compile(r"keep:? ([^|]+)", re.IGNORECASE)


def _kept_words(text: str) -> frozenset[str]:
    """Return the words that a person keeps, who wrote "keep Null, None" where the
    problems of a row stand.
    """
    kept = _KEEP.match(text.strip())
    if kept is None:
        return frozenset()
    return frozenset(word.strip() for word in kept[1].split(","))


_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that a workbook cannot have. They are written as the replacement
character, which is a finding.
"""

_MAX_TEXT = 32_767
"""What a cell of Excel can hold; a longer text would be cut."""


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What is wrong with a row. place: of the row in the table. column: of the table,
    "" for the row as a whole.

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

    texts: of the chosen rows. now: the same as the table has them; none for a column
    that was left out.
    """

    header: str
    field: str | None
    texts: list[str]
    now: Sequence[Any]


def write_corrections(
    path: Path,
    rows: pd.DataFrame,
    problems: Iterable[RowProblem],
    *,
    chosen: Sequence[int],
) -> None:
    """Write some rows of a table, with what is wrong with them, to a new file that its
    owner alone may read.

    chosen: the places of the rows. Raises InvalidInput if the file exists or cannot be
    of this kind.
    """
    require_new_file(path, KINDS)
    is_csv = path.suffix.lower() == ".csv"
    origin = _own_origin(rows)
    columns = _sender_columns(rows, origin, list(chosen))
    headers = [each.header for each in columns]
    ours = [
        name if name not in headers else f"{name} (payerkit)"
        for name in ("problems", "original row")
    ]
    fields = [each.field for each in columns]
    token = FileToken(
        headers,
        fields,
        ours,
        origin.settings,
        _last_label(rows, origin),
        is_escaped=is_csv,
    )
    header = [*headers, *ours, f"{TITLE} {_encode(asdict(token))}"]
    lines, colours = _make_lines(rows, columns, problems, chosen)
    if is_csv:
        _write_csv(path, [header, *lines], _separator(origin))
        return
    for *cells, label, row_token in lines:
        if any(len(text) > _MAX_TEXT for text in (*cells, row_token)):
            where = f"row {mask('clientUserId', label)}"
            raise InvalidInput(
                f"path: {where} has a text that is too long for a cell of Excel. Save a"
                " .csv file."
            )
    write_workbook(path, origin.sheet or "rows", [header, *lines], colours=colours)


def _make_lines(
    rows: pd.DataFrame,
    columns: Sequence[_Column],
    problems: Iterable[RowProblem],
    chosen: Sequence[int],
) -> tuple[list[list[str]], dict[tuple[int, int], str]]:
    """Return the lines below the header, and the colours of cells by the numbers of
    their line and column.
    """
    wrong = defaultdict[int, list[RowProblem]](list)
    for problem in problems:
        hint = _HINTS.get(problem.code, problem.hint)
        wrong[problem.place].append(replace(problem, hint=hint))
    damage = _damage(rows, columns, wrong, chosen)
    numbers = {
        each.field: number
        for number, each in enumerate(columns)
        if each.field is not None
    }
    lines = []
    colours: dict[tuple[int, int], str] = {}
    labels = rows.index.tolist()
    kept = kept_words(rows)
    for line, place in enumerate(chosen, start=1):
        label = labels[place]
        cells = [each.texts[line - 1] for each in columns]
        texts = {name: cells[number] for name, number in numbers.items()}
        notes = [_described(each, columns, numbers) for each in wrong[place]]
        if kept[place]:
            notes.insert(0, f"keep {', '.join(sorted(kept[place]))}")
        token = _row_token(label, texts, wrong[place], damage[place])
        lines.append([*cells, " | ".join(notes), str(label), token.write()])
        for each in wrong[place]:
            cell = (line, numbers.get(each.column, len(columns)))
            if each.kind != "warning":
                colours[cell] = "error"
            else:
                colours.setdefault(cell, "warning")
    return lines, colours


def _damage(
    rows: pd.DataFrame,
    columns: Sequence[_Column],
    wrong: Mapping[int, Sequence[RowProblem]],
    chosen: Sequence[int],
) -> Mapping[int, Mapping[tuple[str, Finding], None]]:
    """Return what was found in the cells of each row, each once with its column, and
    which cells are no text.
    """
    now = {each.field: each.now for each in columns if each.field is not None}
    damage = defaultdict[int, dict[tuple[str, Finding], None]](dict)
    for place, name, finding in findings_in(rows):
        if name in now:
            damage[place][name, finding] = None
    for number, place in enumerate(chosen):
        for problem in wrong.get(place, ()):
            if problem.kind != "error" or problem.column not in now:
                continue
            code = _damage_code(now[problem.column][number])
            if code:
                finding = file_finding(code, field_of(problem.column))
                damage[place][problem.column, finding] = None
    return damage


def _row_token(
    label: Hashable,
    texts: Mapping[str, str],
    problems: Iterable[RowProblem],
    damaged: Iterable[tuple[str, Finding]],
) -> RowToken:
    """Return the token of a row, which says of all damage that it must still be found
    when all cells are text.

    texts: of the cells, by column of the table. damaged: what was found in them.
    """
    marks = []
    for name, found in damaged:
        if found.code in _LEFT_OUT:
            marks.append((name, "", replace(found, hint=_SHOW)))
        else:
            marks.append((name, _digest(texts[name]), found))
    wrong = {each.column for each in problems} | {
        name for name, digest, _ in marks if digest
    }
    fragile = {
        name: _digest(_plain(text))
        for name, text in texts.items()
        if name not in wrong and name != _ID and _is_fragile(text)
    }
    id_text = texts.get(_ID) if _ID not in wrong else None
    return RowToken(label, _digest(id_text) if id_text else "", fragile, marks)


def _damage_code(cell: Any) -> str:
    """Return the code of what a cell is that is no text, "" for text and for a blank
    one.
    """
    cell = unwrap_secret(cell)
    if isinstance(cell, str) or is_blank(cell):
        return ""
    if hasattr(cell, "isoformat"):
        return "became_date"
    if type(cell).__name__ in {"bool", "bool_"}:
        return "became_boolean"
    return "became_number"


def _own_origin(rows: pd.DataFrame) -> Origin:
    """Return where the rows come from; an empty origin if their own cells are not
    known, as after numbering anew.
    """
    origin = origin_of(rows)
    if origin.cells is None or not has_labels_of_file(rows.index):
        return Origin()
    return origin if rows.index.isin(origin.cells.index).all() else Origin()


def _last_label(rows: pd.DataFrame, origin: Origin) -> int | None:
    """Return the highest number that a row has, so that new rows get others; None if
    labels are no numbers.
    """
    labels = rows.index if origin.cells is None else origin.cells.index
    if not pd.api.types.is_integer_dtype(labels):
        return None
    return int(max([origin.last_label, *labels.tolist()]))


def _sender_columns(
    rows: pd.DataFrame, origin: Origin, chosen: list[int]
) -> list[_Column]:
    """Return the columns of the sender's file, and behind them those that only the
    table has.
    """
    named = {str(name): column for column, name in name_columns(rows.columns).items()}
    found = []
    if origin.cells is not None:
        labels = rows.index.take(chosen)
        cells = origin.cells.loc[labels]
        changes: dict[Any, str | None] = {
            (each.label, each.column): each.after for each in origin.changes
        }
        for each in origin.columns:
            name = each.column if each.column in named else None
            texts = [_text(cell) for cell in cells[each.place].tolist()]
            values: list[Any] = []
            if name is not None:
                values = rows[named.pop(name)].iloc[chosen].tolist()
            for place, value in enumerate(values):
                as_read = changes.get((labels[place], name), texts[place])
                if _text(value) != _text(as_read):
                    texts[place] = _text(value)
            # By its key: columns of one name could not be told apart once they are
            # moved.
            found.append(_Column(_text(each.key), name, texts, values))
    for name, column in named.items():
        values = rows[column].iloc[chosen].tolist()
        texts = [_text(value) for value in values]
        found.append(_Column(_text(str(column)), name, texts, values))
    return found


def _text(cell: Any) -> str:
    """Return a cell as it is written, "" for a blank one."""
    if type(cell) is str:
        return _UNWRITABLE.sub("\ufffd", cell)
    cell = unwrap_secret(cell)
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    text = cell.isoformat() if isinstance(cell, date) else str(cell)
    return _UNWRITABLE.sub("\ufffd", text)


def _described(
    problem: RowProblem, columns: Sequence[_Column], numbers: Mapping[str, int]
) -> str:
    """Return a problem as text, such as "error ZIP: Required."."""
    name = problem.column
    if name in numbers:
        name = columns[numbers[name]].header
    where = f"{problem.kind} {name}".rstrip()
    return f"{where}: {problem.message} {problem.hint}".rstrip()


def _write_csv(path: Path, lines: Sequence[Sequence[str]], separator: str) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator)
    for line in lines:
        writer.writerow([_escaped(cell) for cell in line])
    # Encoded with the mark by which Excel knows UTF-8.
    save_new_file(path, text.getvalue().encode("utf-8-sig"))


def _separator(origin: Origin) -> str:
    """Return the separator of the sender's text file, so that their program opens this
    one, too; else a comma.
    """
    separators = ",;\t|"
    if origin.path is not None and origin.path.suffix.lower() in {
        ".csv",
        ".tsv",
        ".txt",
    }:
        with suppress(OSError), origin.path.open(encoding="latin-1") as file:
            return max(separators, key=file.readline().count)
    return separators[0]
