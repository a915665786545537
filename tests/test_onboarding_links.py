"""The links file of a run: for a mail merge, on request, and for nobody but its
owner.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from far_end import FarEnd, reply
from onboarding_service import Service
from onboarding_tables import onboard, payer_row
from payerkit.client import Client

POSIX = pytest.mark.skipif(os.name == "nt", reason="files have no mode there")
Send = Callable[..., payerkit.runs.Report]
HEADER = "client_user_id,email,agreement_url,kyc_url"


def table(*places: int, **changes: str) -> pd.DataFrame:
    """Return payers without accounts, as a file has them."""
    names = [name for name in payer_row(0) if name in payerkit.Payer.model_fields]
    return pd.DataFrame(
        [{name: payer_row(place)[name] for name in names} | changes for place in places]
    )


def links(number: int) -> dict[str, str]:
    """Return the links of a payer, as a service returns them."""
    return {
        "agreementUrl": f"https://example.com/agreement/{number}",
        "kycUrl": f"https://example.com/kyc/{number}",
    }


def row(place: int, *urls: str) -> str:
    """Return a line of a links file."""
    return ",".join(
        [f"customer-{place:05}@example.org", f"mailbox-{place:05}@example.net", *urls]
    )


@pytest.fixture
def send(connected: Callable[..., Client], tmp_path: Path) -> Send:
    """Send a table to a service that answers one payer after the other as it is
    told.
    """

    def send(
        rows: pd.DataFrame, *answers: dict[str, Any] | int, accounts: Sequence[int] = ()
    ) -> payerkit.runs.Report:
        payers = [
            (
                reply(each)
                if isinstance(each, int)
                else reply(200, json.dumps({"userId": "u-1"} | each))
            )
            for each in answers
        ]
        service = Service(payers=payers, accounts=[reply(each) for each in accounts])
        with FarEnd([service]) as far_end:
            return onboard(
                connected(far_end.url), rows, tmp_path / "run.journal", workers=1
            )

    return send


def test_every_payer_with_links_has_a_row(send: Send, tmp_path: Path) -> None:
    """With id and e-mail address in full; a payer that is not done has none."""
    rows = table(1, 2, 3).set_axis(["a", "b", "c"])
    saved = send(rows, links(1), 400, links(3)).save_links(tmp_path / "links.csv")

    assert [HEADER, row(1, *links(1).values()), row(3, *links(3).values())] == read(
        tmp_path
    )
    assert 2 == saved


def read(folder: Path) -> list[str]:
    """Return the lines of the links file."""
    return (folder / "links.csv").read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    "url",
    [
        # the journal keeps no ids
        "https://example.com/kyc?user=customer-00001%40example.org",
        "https://example.com/kyc?mail=somebody@example.com",
        '=HYPERLINK("https://example.com")',  # a spreadsheet would compute it
        "@SUM(1)",
        "javascript:alert(1)",
        "https://",
        "https://example.com/a\nb",
        "",
        7,
        None,
    ],
)
def test_what_is_no_link_to_send_is_left_out(
    send: Send, tmp_path: Path, url: Any
) -> None:
    """Its cell is empty; a payer with no other link has no row, and is counted."""
    rows = table(1, 2)
    report = send(
        rows,
        {"agreementUrl": "https://example.com/a", "kycUrl": url},
        {"agreementUrl": url, "kycUrl": url},
    )
    saved = report.save_links(tmp_path / "links.csv")

    assert [HEADER, row(1, "https://example.com/a", "")] == read(tmp_path)
    assert 1 == saved


@pytest.mark.parametrize(
    ("typed", "written"),
    [("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("+4930123", "+4930123")],
)
def test_a_links_file_has_no_formulas(
    send: Send, tmp_path: Path, typed: str, written: str
) -> None:
    """A payer chooses the address, and whoever opens the file in a spreadsheet must not
    run what it says.
    """
    rows = table(
        1,
        client_user_id=typed,
        email=f"=HYPERLINK({typed})@example.com".replace("@S", "S"),
    )
    send(rows, links(1)).save_links(tmp_path / "links.csv")

    cells = read(tmp_path)[1].split(",")
    assert (written, "'=HYPERLINK(") == (cells[0], cells[1][:12])
    assert [*links(1).values()] == cells[2:]


def test_a_payer_with_accounts_has_one_row(send: Send, tmp_path: Path) -> None:
    """However many rows it has, and whatever became of its accounts."""
    accounts = pd.DataFrame(
        [payer_row(1), payer_row(1) | {"account_number": "99"}, payer_row(2)]
    ).assign(holder_is_payer="yes")
    report = send(accounts, links(1), links(2), accounts=[400] * 3)
    report.save_links(tmp_path / "links.csv")

    assert {"refused"} == set(report.frame["state"])
    assert [HEADER, row(1, *links(1).values()), row(2, *links(2).values())] == read(
        tmp_path
    )


@POSIX
@pytest.mark.parametrize("exists", [False, True])
def test_a_links_file_is_readable_by_its_owner_alone(
    send: Send, tmp_path: Path, exists: bool
) -> None:
    """Also if it replaces a file that everybody could read; so is a report, which has
    links, too.
    """
    file = tmp_path / "links.csv"
    if exists:
        file.write_text("x" * 10_000, "utf-8")
        file.chmod(0o644)
    report = send(table(1), links(1))
    report.save_links(file)
    report.save(tmp_path / "report.csv")

    assert 0o600 == stat.S_IMODE((tmp_path / "report.csv").stat().st_mode)
    assert (0o600, 2) == (stat.S_IMODE(file.stat().st_mode), len(read(tmp_path)))
