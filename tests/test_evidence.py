"""The page that an accountant keeps of payments: all of it, nothing personal, and never over another file."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from payerkit import InvalidInput, PayoutOrder, check_payment, samples
from payerkit.models import Payment, Payout
from payerkit.payment.compare import Comparison
from payerkit.payouts import evidence
from payerkit.payouts.lists import payments_frame
from payerkit.signing.device import digest_of
from payout_service import TO_PAY
from published import BANK_DETAILS, PAYER
from test_reconcile_orders import paid, told

ORDER = PayoutOrder(
    amount="10",
    invoice_currency="USD",
    payment_currency="fUSDC-sepolia",
    reference="ada@example.com",
)
ACCOUNT = Payout(
    request_id="01ab",
    client_user_id="ada-001",
    payment_details_id="d",
    reference="ada@example.com",
    account="••••3489",
    bank_name="Example Bank",
    also_listed="the account ••••7777",
)
PAYOUT = Payment.read(TO_PAY, order=ORDER, order_source="sent", payout=ACCOUNT)
NOW = datetime(2026, 11, 9, 12, tzinfo=UTC)
LISTED = payments_frame([paid(amount="10", reference="ada@example.com", paymentCurrency="fUSDC-sepolia")], reveal=True)


def written(path: Path, payments: Any, **options: Any) -> str:
    """Return the text of the page, as a reader sees it."""
    evidence(payments, path, checked_by="A. Example <payable>", now=NOW, **options)
    text = re.sub("<style>.*?</style>", "", path.read_text("utf-8"), flags=re.DOTALL)
    return html.unescape(re.sub("<[^>]*>", "\n", text))


def test_a_page_has_all_that_was_checked_and_paid(tmp_path: Path) -> None:
    """Order, digests, verdict with all findings, when and by whom, hash, and events with their signatures."""
    events = told({"event": "payment.confirmed", "signature": "unchecked"}, "sending_fiat", "fiat_sent")
    text = written(tmp_path / "a.html", PAYOUT, paid=LISTED, events=events)
    expected = [
        *(
            "10 USD in fUSDC-sepolia",
            "Order (sent)",
            "at the bank",
            f"0x{1:064x}",
            "2026-11-01 10:00:00 UTC",
            "fiat_sent",
        ),
        *("unchecked", "valid", "LOOK", "Checked at 2026-11-09 12:00 UTC by A. Example <payable>, with payerkit."),
        *(str(digest_of(each)) for each in Comparison(PAYOUT).transactions),
        *(f"[{each.code}]" for each in check_payment(PAYOUT, now=NOW)),
    ]

    assert [] == [words for words in expected if words not in text]
    assert [2, 1, 0o600] == [
        *(text.count(words) for words in ("payment.processing", "payment.confirmed")),
        (tmp_path / "a.html").stat().st_mode & 0o777,
    ]


def test_a_page_has_nothing_personal(tmp_path: Path) -> None:
    """Neither payer nor holder: no id, name, e-mail address or end of an account number; nothing is loaded or run."""
    text = written(tmp_path / "a.html", [PAYOUT], paid=LISTED, events=told({"sub_status": "bounced", "reason": "Ada"}))
    page = (tmp_path / "a.html").read_text("utf-8")

    assert [] == [words for words in ("ada", "3489", "7777", "example.com", "<script", "src=") if words in page.lower()]
    assert "bounced" in text
    assert {*BANK_DETAILS.values(), *PAYER.values()}.isdisjoint(text.split("\n"))


def test_a_page_says_how_much_was_paid(tmp_path: Path) -> None:
    """Which may be more than what was checked."""
    more = payments_frame(
        [paid(amount="12", reference="ada@example.com", paymentCurrency="fUSDC-sepolia")], reveal=True
    )
    text = written(tmp_path / "a.html", PAYOUT, paid=more)

    assert "Paid amount 12 Payment currency fUSDC-sepolia" in " ".join(text.split())


def test_several_payments_are_a_page(tmp_path: Path) -> None:
    """From their files, too; one that cannot be read is stopped; no state is said without lists."""
    samples["honest"].save(tmp_path / "honest.json")
    (tmp_path / "broken.json").write_text("{")
    text = written(tmp_path / "a.html", [tmp_path / "honest.json", tmp_path / "broken.json"])

    assert ("Evidence of 2 payments", 1, 1, False) == (
        text.split("\n")[text.split("\n").index("Evidence of 2 payments")],
        text.count("OK"),
        text.count("STOP"),
        "not paid" in text,
    )


@pytest.mark.parametrize(
    ("name", "checked_by", "message"),
    [
        ("there.html", "A. Example", "exists already"),
        ("new.pdf", "A. Example", ".html"),
        ("new.html", " ", "checked_by"),
    ],
)
def test_nothing_is_written_over_or_for_nobody(name: str, checked_by: str, message: str, tmp_path: Path) -> None:
    """A file that is there stays as it is, and somebody has to have checked."""
    (tmp_path / "there.html").write_text("kept")

    with pytest.raises(InvalidInput, match=message):
        evidence(samples["honest"], tmp_path / name, checked_by=checked_by)
    assert ["there.html"] == [each.name for each in tmp_path.iterdir()]
    assert "kept" == (tmp_path / "there.html").read_text()
