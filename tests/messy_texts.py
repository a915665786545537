"""Text files as people have them: what is in each, and what must be read, or why it must be refused."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Rows = Mapping[int, Sequence[str | None]]

HEADER = "client_user_id,email,city,country\n"
HEADER_ROW = ["client_user_id", "email", "city", "country"]
ROW = ["a", "b", "c", "DE"]
WESTERN = "1;Jürgen;Muñoz;São Paulo\n2;Søren;Lefèvre;Århus\n3;Ltd “X” \u2013 5 €;Nº 5;L\u2019Île\n"
POLISH = "1;Łukasz;Wałęsa;Łódź\n2;Grażyna;Nowak;Kraków\n"
TURKISH = "1;Iş\u0131k;Şahin;Ankara\n2;Doğan;Çelik;İzmir\n"


class ReadCase(NamedTuple):
    """A file that is read. rows: its cells, by the number of the row."""

    reason: str
    content: bytes | str
    rows: Rows


class RefusedCase(NamedTuple):
    """A file that is refused. words: the beginning of the message, behind `source: `."""

    reason: str
    content: bytes | str
    words: str


def archive(*names: str) -> bytes:
    """Return a zip archive with files of these names."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name in names:
            file.writestr(name, "")
    return content.getvalue()


READ = [
    ReadCase("plain", HEADER + "a,b,c,DE\n", {1: HEADER_ROW, 2: ROW}),
    ReadCase(
        "a European Excel", "id;city\r\n1;a,b\r\n2;c,d\r\n", {1: ["id", "city"], 2: ["1", "a,b"], 3: ["2", "c,d"]}
    ),
    ReadCase("a line for Excel", "sep=;\r\nid;city\r\n1;a,b\r\n", {1: ["id", "city"], 2: ["1", "a,b"]}),
    ReadCase("that line with a rare sign", "sep=^\nid^city\n1^a,b\n", {1: ["id", "city"], 2: ["1", "a,b"]}),
    ReadCase("that line with a tab", "sep=\t\nid\tcity\n1\ta,b\n", {1: ["id", "city"], 2: ["1", "a,b"]}),
    ReadCase("that line, but it is wrong", "sep=;\nid,city\n1,b\n", {1: ["id", "city"], 2: ["1", "b"]}),
    ReadCase(
        "a title above",
        "Payers\n\nid,city\n1,b\n",
        {1: ["Payers", None], 2: [None] * 2, 3: ["id", "city"], 4: ["1", "b"]},
    ),
    ReadCase(
        "a title with a comma",
        f"Payers, May\n{HEADER}a,b,c,DE\n",
        {1: ["Payers", " May", None, None], 2: HEADER_ROW, 3: ROW},
    ),
    ReadCase("tabs", "id\tcity\n1\ta;b\n2\tc,d\n", {1: ["id", "city"], 2: ["1", "a;b"], 3: ["2", "c,d"]}),
    ReadCase("bars", "id|city\n1|a", {1: ["id", "city"], 2: ["1", "a"]}),
    ReadCase("one column", "id\n007\n", {1: ["id"], 2: ["007"]}),
    ReadCase("lines of an old Mac", HEADER.replace("\n", "\r") + "a,b,c,DE\r", {1: HEADER_ROW, 2: ROW}),
    ReadCase("mixed ends of lines", "id,city\r\n1,a\n2,b\r\n", {1: ["id", "city"], 2: ["1", "a"], 3: ["2", "b"]}),
    ReadCase("UTF-8 with a mark", b"\xef\xbb\xbfid,city\n1,M\xc3\xbc\n", {1: ["id", "city"], 2: ["1", "Mü"]}),
    ReadCase("a mark in front of a quote", '\ufeff"id",city\n1,b\n', {1: ["id", "city"], 2: ["1", "b"]}),
    ReadCase("UTF-16 with a mark", "id\tcity\n1\tŁódź\n".encode("utf-16"), {1: ["id", "city"], 2: ["1", "Łódź"]}),
    ReadCase(
        "UTF-16 without", "client_id,city\n1,Łódź\n".encode("utf-16-le"), {1: ["client_id", "city"], 2: ["1", "Łódź"]}
    ),
    ReadCase(
        "UTF-16, the other order",
        "client_id,city\n1,a\n".encode("utf-16-be"),
        {1: ["client_id", "city"], 2: ["1", "a"]},
    ),
    ReadCase("the end of a file in MS-DOS", b"id,city\r\n1,a\r\n\x1a", {1: ["id", "city"], 2: ["1", "a"]}),
    ReadCase(
        "blank lines and rows",
        "id,city\n\n1,a\n,\n2,b\n\n",
        {1: ["id", "city"], 2: [None] * 2, 3: ["1", "a"], 4: [None] * 2, 5: ["2", "b"], 6: [None] * 2},
    ),
    ReadCase(
        "a separator behind each row",
        "id,city\n1,a,\n2,b,\n",
        {1: ["id", "city", None], 2: ["1", "a", None], 3: ["2", "b", None]},
    ),
    ReadCase("a column without a name", "id,city,\n1,a,\n", {1: ["id", "city", None], 2: ["1", "a", None]}),
    ReadCase(
        "short rows", HEADER + "a\nd,e,f,DE\n", {1: HEADER_ROW, 2: ["a", None, None, None], 3: ["d", "e", "f", "DE"]}
    ),
    ReadCase(
        "words that mean nothing elsewhere",
        "id,city\nNA,null\n007,nan\n",
        {1: ["id", "city"], 2: ["NA", "null"], 3: ["007", "nan"]},
    ),
    ReadCase("quotes in a cell in quotes", 'id,city\n1,"a ""b"", c"\n', {1: ["id", "city"], 2: ["1", 'a "b", c']}),
    ReadCase("inches", 'id,city\n1,5" pipe\n', {1: ["id", "city"], 2: ["1", '5" pipe']}),
    ReadCase(
        "blanks in front of quotes",
        'id, name, city\n1, "a, b", c\n',
        {1: ["id", "name", "city"], 2: ["1", "a, b", "c"]},
    ),
    ReadCase(
        "an address on two lines",
        HEADER + 'a,b,"5 Example Street\nBerlin",DE\ne,f,g,FR\n',
        {1: HEADER_ROW, 2: ["a", "b", "5 Example Street\nBerlin", "DE"], 3: ["e", "f", "g", "FR"]},
    ),
    ReadCase(
        "an address on four lines",
        HEADER + 'a,b,"Example Ltd\n5 Example Street\n10117 Berlin\nGermany",DE\n',
        {1: HEADER_ROW, 2: ["a", "b", "Example Ltd\n5 Example Street\n10117 Berlin\nGermany", "DE"]},
    ),
    ReadCase(
        "a note with commas",
        HEADER + 'a,b,"Sells hats, gloves, socks, and more.\n\nSince May, online.",DE\n',
        {1: HEADER_ROW, 2: ["a", "b", "Sells hats, gloves, socks, and more.\n\nSince May, online.", "DE"]},
    ),
    ReadCase("only a header", HEADER, {1: HEADER_ROW}),
]

_UNCLOSED = "a quote that opens in "
_SWALLOWED = "a cell in quotes in row 2 goes on to row "

REFUSED = [
    RefusedCase("nothing", "", "the file is empty"),
    RefusedCase("only a mark", b"\xef\xbb\xbf", "the file is empty"),
    RefusedCase("only lines", "\n\n", "the file is empty"),
    RefusedCase("only a line for Excel", "sep=;\n", "the file is empty"),
    RefusedCase(
        "never closed",
        HEADER + 'a,"b,c,DE\nd,e,f,DE\ng,h,i,DE\n',
        f"{_UNCLOSED}row 2 is not closed there, so that rows 2 to 4",
    ),
    RefusedCase(
        "closed by the next quote",
        HEADER + 'a,"b,c,DE\nd,"e",f,DE\n',
        f"{_UNCLOSED}row 2 is not closed there, so that rows 2 to 3",
    ),
    RefusedCase(
        "all in quotes, one not closed",
        '"id","name","city"\n"1","a","b\n"2","c","d"\n',
        f"{_UNCLOSED}row 2 is not closed there, so that rows 2 to 3",
    ),
    RefusedCase(
        "behind a cell on two lines",
        HEADER + 'a,b,"c\nC",DE\nd,"e,f,DE\n',
        "row 3 (line 4) has a quote that is not closed",
    ),
    RefusedCase(
        "a quote inside quotes",
        HEADER + 'a,"b "B" b",c,DE\n',
        "row 2 has a quote that is not closed, or is closed inside",
    ),
    RefusedCase("a quote swallows the end of a row", HEADER + 'a,b,"c,DE\nd,e,f",DE\n', f"{_SWALLOWED}3"),
    RefusedCase("a quote swallows whole rows", HEADER + 'a,"b,c,DE\nd,e,f,DE\ng,h",i,DE\n', f"{_SWALLOWED}4"),
    RefusedCase("and ends in an empty cell", HEADER + 'a,b,"c,DE\nd,e,"",DE\ng,h",i,DE\n', f"{_SWALLOWED}4"),
    RefusedCase(
        "where blanks stand behind commas",
        'id, email, city, country\na, b,"c, DE\nd, e, f", DE\n',
        f"{_SWALLOWED}3",
    ),
    RefusedCase("opened in a wrong encoding", "id,city\n1,M\udcfc\n", "the file was opened in a wrong encoding"),
    RefusedCase("and leaves the row too short", HEADER + 'a,b,"c,DE\nd"\n', f"{_SWALLOWED}3"),
    RefusedCase("one column", 'id\n"a\nb\nc\nd"\n', f"{_SWALLOWED}5"),
    RefusedCase(
        "a comma in a cell", HEADER + "a,b,c,DE\ne,f,g, 5,DE\n", "row 3 has 5 cells, but the header in row 1 has 4"
    ),
    RefusedCase(
        "the same, over a blank cell",
        HEADER + "a,b,c,DE\ne,f,g, 5,\n",
        "row 3 has 5 cells, but the header in row 1 has 4",
    ),
    RefusedCase("in all rows", HEADER + "a,b,c, 5,DE\n", "row 2 has 5 cells, but the header in row 1 has 4"),
    RefusedCase(
        "under a title", f"Payers\n\n{HEADER}\na,b,c,5,DE\n", "row 5 has 5 cells, but the header in row 3 has 4"
    ),
    RefusedCase(
        "a byte that is no text", b"id,city\n" + b"1,a\n" * 2000 + b"2,\0\n", "the file is damaged, or no text"
    ),
    RefusedCase(
        "UTF-8 that was cut", b"\xef\xbb\xbfid,city\n1,\xc3\n", "the file says that it is UTF-8, but it is damaged"
    ),
    RefusedCase("UTF-16 that was cut", "id,city".encode("utf-16")[:-1], "the file is damaged: not UTF-16"),
    RefusedCase(
        "Turkish, or Icelandic",
        f"id;a;b;c\n{TURKISH}".encode("cp1254"),
        "the file is not UTF-8, and its encoding is not certain",
    ),
    RefusedCase(
        "Japanese", "id,city\n1,東京\n".encode("shift_jis"), "the file is not UTF-8, and its encoding is not certain"
    ),
    RefusedCase("a PDF", b"%PDF-1.7\n", "the file is a PDF. Ask"),
    RefusedCase("an archive", archive("table.csv"), "the file is a zip archive. Unpack"),
    RefusedCase(
        "an Excel workbook", archive("xl/workbook.xml"), "the file is an Excel workbook. Give it the ending .xlsx"
    ),
    RefusedCase("Numbers", archive("Index/Document.iwa"), "the file is a spreadsheet of Numbers. Export"),
    RefusedCase("an old Excel workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "the file is an old Excel workbook"),
    RefusedCase("compressed", gzip.compress(b"id,city\n"), "the file is compressed"),
    RefusedCase("a web page", "\n<html><table>", "the file is a web page"),
    RefusedCase("JSON", '[{"id": 1}]', "the file is JSON"),
]

ENCODED = [
    ("a Western Excel", WESTERN, "cp1252", "Windows-1252"),
    ("one letter", "1;Max;Müller;Berlin\n", "cp1252", "Windows-1252"),
    ("capitals", "1;JOSÉ;MUÑOZ;KÖLN\n", "cp1252", "Windows-1252"),
    ("Icelandic, and not Turkish", "1;Þór;Jónsson;Reykjavík\n", "cp1252", "Windows-1252"),
    ("a Polish Excel", POLISH, "cp1250", "Windows-1250"),
    ("a Czech one", "1;Jiří;Dvořák;Plzeň\n", "cp1250", "Windows-1250"),
    ("a Hungarian one", "1;Őze;Kovács;Győr\n", "cp1250", "Windows-1250"),
    ("a Russian one", "1;Иван;Петров;Москва\n", "cp1251", "Windows-1251"),
    ("a Greek one", "1;Γιώργος;Παππάς;Αθήνα\n", "cp1253", "Windows-1253"),
    ("an old Mac", "1;Jürgen;Groß;Köln\n", "mac_roman", "Mac Roman"),
    ("Excel's CSV (MS-DOS)", "1;Jürgen;Groß;Köln\n", "cp850", "MS-DOS 850"),
    ("UTF-8", POLISH, "utf-8", "UTF-8"),
    ("UTF-16", POLISH, "utf-16", "UTF-16"),
]
