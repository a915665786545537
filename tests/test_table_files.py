"""A table of valid rows, written by pandas to any format with any of our headers, sends
exactly what was meant.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import payerkit
from payerkit.runs.tasks import Table
from payerkit.tables.header import BANK_COLUMNS
from payerkit.wire import wire_name
from published import TYPED_ACCOUNT, TYPED_PAYER, as_columns

Record = dict[str, str]

LETTERS = "abcdefghijklmnopqrstuvwxyzäöüßéñABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÜ"
TEXT = LETTERS + " '\",;|\t.-/&()"
"""What stands in names and addresses: letters, separators and quotes; every sign is one
of Windows-1252.
"""


def _plain(alphabet: str) -> st.SearchStrategy[str]:
    """Return texts that begin and end with a letter, of three letters or more: no
    placeholder, and nothing to strip.
    """
    ends = st.text(LETTERS, min_size=2, max_size=4)
    return st.builds(
        lambda first, middle, last: f"X{first}{middle}{last}",
        ends,
        st.text(alphabet, max_size=9),
        ends,
    )


def _records(place: int) -> st.SearchStrategy[Record]:
    """Return valid rows of a payer with an account; those of another place share
    nothing with them.
    """
    fixed = TYPED_PAYER | as_columns(TYPED_ACCOUNT)
    street = st.builds(
        lambda first, end, last: f"{first}{end}{last}",
        _plain(TEXT),
        st.sampled_from(["", "\n"]),
        _plain(TEXT),
    )
    own = {
        "client_user_id": st.builds(
            lambda zeros, letters: f"{zeros}{place}{letters}",
            st.sampled_from(["", "00", "ä-"]),
            st.text(LETTERS, max_size=3),
        ),
        "email": st.just(f"p{place}@example.com"),
        "ssn": st.just(f"219-09-{1000 + place}"),
        "first_name": _plain(LETTERS),
        "last_name": _plain(LETTERS + "'- "),
        "address_line1": street,
        "city": _plain(LETTERS + " -"),
        "bank_name": _plain(TEXT),
        "account_number": (
            st.from_regex(
                r"0{0,3}[1-9][0-9]{6,8}", fullmatch=True, alphabet="0123456789"
            ).map(lambda text: f"{text}{place}")
        ),
    }
    return st.builds(lambda **cells: {**fixed, **cells}, **own)


TABLES = st.integers(1, 3).flatmap(
    lambda count: st.tuples(*map(_records, range(count)))
)


COLUMNS = tuple(TYPED_PAYER | as_columns(TYPED_ACCOUNT))
HEADERS: dict[str, dict[str, str]] = {
    "fields": {name: name for name in COLUMNS},
    "wire names": {
        name: name if name in BANK_COLUMNS else wire_name(name) for name in COLUMNS
    },
}


def _csv(**options: Any) -> Callable[[pd.DataFrame, Path], None]:
    return lambda table, path: table.to_csv(path, index=False, **options)


WRITERS: dict[str, tuple[str, Callable[[pd.DataFrame, Path], None]]] = {
    **{
        f"csv with {name}": ("csv", _csv(sep=sign))
        for name, sign in {
            "comma": ",",
            "semicolon": ";",
            "tab": "\t",
            "bar": "|",
        }.items()
    },
    "csv in UTF-8 with a mark": ("csv", _csv(encoding="utf-8-sig", sep=";")),
    "csv in UTF-16": ("csv", _csv(encoding="utf-16", sep="\t")),
    "csv in Windows-1252": ("csv", _csv(encoding="cp1252", sep=";")),
    "xlsx": ("xlsx", lambda table, path: table.to_excel(path, index=False)),
}


def sent(rows: Any) -> list[dict[str, Any]]:
    """Return what would be sent of each row."""
    table = Table(rows)
    return [
        {
            **row.data["payer"],
            **{f"bank_{n}": v for n, v in row.data["bank_details"].items()},
        }
        for row in table.rows
    ]


def read(path: Path) -> pd.DataFrame:
    """Read a file; one whose encoding cannot be told is refused, and read as the error
    advises.
    """
    try:
        return payerkit.read_payers(path)
    except payerkit.InvalidInput as error:
        if "its encoding is not certain" not in str(error):
            raise
    with path.open(encoding="cp1252", newline="") as file:
        return payerkit.read_payers(file)


def check(records: tuple[Record, ...], kind: str, form: str) -> None:
    """Write rows to a file, read them again, and compare what is sent."""
    meant = pd.DataFrame(records, dtype=str)
    ending, write = WRITERS[kind]
    with TemporaryDirectory() as folder:
        path = Path(folder, f"table.{ending}")
        write(meant.rename(columns=HEADERS[form]), path)
        table = read(path)
    planned = payerkit.plan_onboarding(table)

    assert len(records) == planned.counts["to_send"], str(planned)
    assert sent(meant) == sent(table)


FEW = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=4)
KINDS = st.sampled_from(sorted(WRITERS))
FORMS = st.sampled_from(sorted(HEADERS))


@pytest.mark.parametrize("form", sorted(HEADERS))
@FEW
@given(records=TABLES, kind=KINDS)
def test_a_file_sends_what_was_meant(
    form: str, records: tuple[Record, ...], kind: str
) -> None:
    """Whatever the file and its header."""
    check(records, kind, form)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(WRITERS))
@MANY
@given(records=TABLES, form=FORMS)
def test_each_kind_of_file_sends_what_was_meant(
    kind: str, records: tuple[Record, ...], form: str
) -> None:
    """Many more rows, by kind of file."""
    check(records, kind, form)
