"""What a file is, by its first bytes rather than by its name; files that cannot be read are refused with advice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile, ZipFile

from payerkit.errors import InvalidInput

FileKind = Literal["text", "workbook", "old_workbook"]
"""workbook: .xlsx and .xlsm. old_workbook: .xls and .ods, whose number formats cannot be read."""

_BY_SUFFIX: dict[str, FileKind] = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".xls": "old_workbook",
    ".ods": "old_workbook",
}
SAVE_AS = "Open it in a spreadsheet program, and save it as .xlsx or as CSV UTF-8."
_ADVICE = {
    ".numbers": "In Numbers, choose File > Export To > Excel (.xlsx) or CSV.",
    ".xlsb": SAVE_AS,
    ".gsheet": "A link, not a table. In Google Sheets, choose File > Download > Microsoft Excel (.xlsx).",
    ".parquet": "Read it with pandas, and pass the DataFrame: read_payers(pandas.read_parquet(...)).",
}
"""What to do with files that are tables, but cannot be read."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of a compound file (MS-CFB): an old workbook, or any encrypted one (MS-OFFCRYPTO)."""

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|table|head|meta|style|\?xml|\?mso)", re.IGNORECASE)


def kind_of_file(path: Path) -> FileKind:
    """Return what a file is. A workbook that is named .csv, or a text that is named .xls, is known by its content.

    Raises InvalidInput, with what to do, for an encrypted file and for one of any other kind.
    """
    suffix = path.suffix.lower()
    if suffix in _ADVICE:
        raise InvalidInput(f"source: {suffix} files cannot be read.", advice=_ADVICE[suffix])
    with path.open("rb") as file:
        start = file.read(1024)
    if suffix not in _BY_SUFFIX:
        names = ".csv, .tsv, .xlsx, .xls or .ods"
        raise InvalidInput(f"source: {path.name} is not a {names} file.", advice=SAVE_AS)
    if start.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    if start.startswith(_OLE):
        return _kind_of_compound_file(path)
    if _MARKUP.match(start):
        raise InvalidInput(f"source: {path.name} is a web page or XML, not a workbook.", advice=SAVE_AS)
    if suffix == ".xls" and start and b"\x00" not in start:
        return "text"  # as many web sites export tables
    return _BY_SUFFIX[suffix]


def unreadable(kind: str, error: Exception) -> InvalidInput:
    """Return the error for a file that is broken. Only the class of the cause is named: its text may quote cells."""
    return InvalidInput(f"source: not a readable {kind} file ({type(error).__name__}).", advice=SAVE_AS)


def encrypted() -> InvalidInput:
    """Return the error for a workbook with a password."""
    return InvalidInput(
        "source: the workbook is encrypted with a password.",
        advice="Open it in its program, remove the password, and save a copy.",
    )


def _kind_of_zip(path: Path) -> FileKind:
    try:
        with ZipFile(path) as archive:
            names = set(archive.namelist())
    except BadZipFile as error:
        problem = unreadable("Excel", error)
    else:
        if "Index/Document.iwa" in names:
            problem = InvalidInput("source: Numbers files cannot be read.", advice=_ADVICE[".numbers"])
        elif "xl/workbook.bin" in names:
            problem = InvalidInput("source: .xlsb files cannot be read.", advice=SAVE_AS)
        elif "content.xml" in names:
            return "old_workbook"
        else:
            return "workbook"
    raise problem


def _kind_of_compound_file(path: Path) -> FileKind:
    if _ENCRYPTED in path.read_bytes():
        raise encrypted()
    return "old_workbook"
