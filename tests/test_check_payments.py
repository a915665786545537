"""Many payments at once: a verdict each, and what only a comparison finds."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import payerkit
from example_addresses import DEAD, ETH_FEE_PROXY, FEE_PROXY, OTHER, PAYEE, TOKEN
from example_payments import data
from payerkit import InvalidInput, PaymentPolicy, check_payments, samples
from payerkit.models import Payment
from payerkit.payments import AddressBook, AgreedFee, KnownAddress, write_safe_files

ALIKE = PAYEE[:6] + "0" * 32 + PAYEE[-4:]


def payment(
    number: int = 1,
    *,
    payee: str = PAYEE,
    amount: int = 10,
    reference: int | None = None,
    **members: Any,
) -> Payment:
    """Return an honest payment that has a request id and a reference of its own, unless
    members name others.
    """
    mark = bytes([number if reference is None else reference] * 8)
    call = data("c219a14d", TOKEN, payee, amount * 10**6, mark, 0, DEAD)
    response = {
        "requestId": f"01{number:064x}",
        "paymentReference": f"0x{mark.hex()}",
        "transactions": [{"to": FEE_PROXY, "data": call, "value": 0}],
        **members,
    }
    order = {"payee": payee, "amount": str(amount), "invoice_currency": "fUSDC-sepolia"}
    return payerkit.read_payment(
        response, order=order | {"payment_currency": "fUSDC-sepolia"}
    )


REPEATED: list[tuple[str, Payment, str]] = [
    (
        "the same response twice",
        payment(),
        "request id, reference and payee with token and amount",
    ),
    (
        "the same request, at another rate",
        payment(2, amount=11, requestId=payment().request_id),
        "request id",
    ),
    (
        "the same reference, which one payment uses up",
        payment(2, amount=11, reference=1),
        "reference",
    ),
    (
        "the same payee and amount, ordered again",
        payment(2),
        "payee with token and amount",
    ),
]


@pytest.mark.parametrize(
    ("second", "what"), [row[1:] for row in REPEATED], ids=[row[0] for row in REPEATED]
)
def test_what_is_perhaps_paid_already_stops(second: Payment, what: str) -> None:
    """Of payments that share what no two payments share, none is ok; each names the
    others.
    """
    frame = check_payments([payment(), payment(3, amount=30), second])

    assert ["stop", "ok", "stop"] == frame["verdict"].to_list()
    assert f"Perhaps paid already: the same {what} as 2." in frame["findings"][0]
    assert f"Perhaps paid already: the same {what} as 0." in frame["findings"][2]


DAY = PaymentPolicy(
    rates={("ETH-sepolia-sepolia", "USD"): "2500", ("fUSDC-sepolia", "USD"): "1"}
)


def invoiced(number: int, *, amount: str = "12.5", wei: int | None = None) -> Payment:
    """Return a payment of an invoice in USD, paid in ETH if its base units are given,
    else in fUSDC; with ids of its own.
    """
    mark = bytes([number] * 8)
    currency = "fUSDC-sepolia" if wei is None else "ETH-sepolia-sepolia"
    to = ETH_FEE_PROXY
    call = data("b868980b", PAYEE, mark, 0, DEAD)
    if wei is None:
        units = int(Decimal(amount) * 10**6)
        to, call = FEE_PROXY, data("c219a14d", TOKEN, PAYEE, units, mark, 0, DEAD)
    response = {
        "requestId": f"01{number:064x}",
        "paymentReference": f"0x{mark.hex()}",
        "transactions": [{"to": to, "data": call, "value": str(wei or 0)}],
    }
    order = {"payee": PAYEE, "amount": amount, "invoice_currency": "USD"}
    return payerkit.read_payment(response, order=order | {"payment_currency": currency})


@pytest.mark.parametrize(
    "again",
    [
        invoiced(2, wei=5 * 10**15 + 7),  # another day: other base units
        invoiced(2),  # another token
        invoiced(2, amount="12.50"),  # the same amount, written otherwise
    ],
)
def test_one_invoice_that_was_requested_twice_stops(
    again: Payment, tmp_path: Path
) -> None:
    """The service chose other ids and base units; who ordered, ordered the same."""
    payments = [invoiced(1, wei=5 * 10**15), again, invoiced(3, amount="13")]
    alone = [check_payments([each], policy=DAY)["verdict"][0] for each in payments]
    frame = check_payments(payments, policy=DAY)

    assert "stop" not in alone
    assert ["stop", "stop", "ok"] == frame["verdict"].to_list()
    words = "the same payee, amount and invoice currency of the order as"
    assert f"{words} 1." in frame["findings"][0]
    assert f"{words} 0." in frame["findings"][1]
    with pytest.raises(InvalidInput, match="Perhaps paid already"):
        write_safe_files(payments, tmp_path, safe=OTHER, policy=DAY)


def test_halves_beside_the_whole_stop() -> None:
    """Neither the whole nor its parts are ok; one smaller invoice beside it is."""
    halves = [payment(2, amount=5), payment(3, amount=5)]

    frame = check_payments([payment(), *halves])
    assert ["stop"] * 3 == frame["verdict"].to_list()
    assert "1 and 2 are equal parts of it" in frame["findings"][0]
    honest = check_payments([payment(), halves[0]])
    assert ["ok", "ok"] == honest["verdict"].to_list()


@pytest.mark.parametrize(
    "members",
    [
        {"requestId": f"0x01{1:064x}"},
        {"requestId": f" 01{1:064X}"},
        {"requestId": f"01{1:064x}"[:9] + "\u200b" + f"01{1:064x}"[9:]},
        {"requestId": f"01{2:064x}", "metadata": {"requestId": f"01{1:064x}"}},
        {"requestId": None, "metadata": {"requestID": f"01{1:064x}"}},
        {"metadata": {"paymentReference": "0101010101010101"}},
    ],
    ids=[
        "0x",
        "blank and case",
        "invisible",
        "in metadata, too",
        "in metadata alone",
        "reference",
    ],
)
def test_an_id_is_the_same_however_it_is_written(members: dict[str, Any]) -> None:
    """An 0x, an invisible character or another place makes no other request of it."""
    frame = check_payments([payment(), payment(2, amount=11, **members)])

    for findings in frame["findings"]:
        assert "Perhaps paid already" in findings


def test_invoices_of_their_own_may_be_equal_but_not_a_request() -> None:
    """Two months' rents have one payee and one amount. Two payments of one request
    never have an invoice each.
    """
    rents, copies = (
        check_payments([payment(), payment(2)]),
        check_payments([payment(), payment()]),
    )
    words = "If each has an invoice of its own"

    assert (True, False) == (
        words in rents["findings"][0],
        words in copies["findings"][0],
    )


def test_a_folder_without_payments_is_refused(tmp_path: Path) -> None:
    """An empty frame would look as if nothing were wrong."""
    (tmp_path / "payment.txt").write_text("{}", "utf-8")

    with pytest.raises(InvalidInput, match=r"payments: .* has no \.json files"):
        check_payments(tmp_path)


def test_many_others_are_not_all_named() -> None:
    """A payment that was saved nine times names five of the others."""
    frame = check_payments([payment() for _ in range(9)])

    assert "as 1, 2, 3, 4, 5 and others." in frame["findings"][0]


def test_each_payment_of_a_batch_is_compared() -> None:
    """A payment that a batch makes is compared with payments of their own."""
    frame = check_payments(
        [payment(), samples["second_payment"], payment(5, payee=OTHER)]
    )

    assert "the same payee with token and amount as 1." in frame["findings"][2]


def test_payments_of_their_own_are_not_compared_away() -> None:
    """Another payee, another amount or another network is another payment, and a
    missing id is no id.
    """
    others = [payment(number, amount=number, requestId=None) for number in (4, 5)]
    frame = check_payments(
        [payment(), payment(2, amount=11), payment(3, payee=OTHER), *others]
    )

    assert {"ok"} == {*frame["verdict"]}, frame["findings"].to_list()


def test_payees_that_look_alike_stop() -> None:
    """Of two payees with the same ends, one is perhaps a forgery: neither is ok."""
    frame = check_payments(
        [payment(), payment(2, payee=OTHER), payment(3, payee=ALIKE)]
    )

    assert ["stop", "ok", "stop"] == frame["verdict"].to_list()
    assert f"looks like {ALIKE}" in frame["findings"][0].replace("c7d7", "C7D7")


def test_the_address_book_tells_which_of_two_is_known() -> None:
    """A payee that the address book has is not suspected for its look-alike, and has
    its name in the table.
    """
    book = AddressBook([KnownAddress(address=PAYEE, name="Example Payee")])
    frame = check_payments(
        [payment(), payment(3, payee=ALIKE)], policy=PaymentPolicy(addresses=book)
    )

    assert (["ok", "stop"], ["Example Payee", ""]) == (
        frame["verdict"].to_list(),
        frame["payee_name"].fillna("").to_list(),
    )


def test_files_objects_and_folders_are_read(tmp_path: Path) -> None:
    """Payments come as objects, as paths, and as a folder; a file that cannot be read
    stops alone.
    """
    payment().save(tmp_path / "a.json")
    payment(2, amount=11).save(tmp_path / "b.json")
    (tmp_path / "c.json").write_text("{", "utf-8")
    paths = [tmp_path / f"{name}.json" for name in "abc"]
    expected = {
        str(path): verdict
        for path, verdict in zip(paths, ("ok", "ok", "stop"), strict=True)
    }

    assert expected == check_payments(tmp_path)["verdict"].to_dict()
    assert (
        expected == check_payments([str(path) for path in paths])["verdict"].to_dict()
    )
    findings = check_payments(tmp_path)["findings"].iloc[2]
    assert "The payment cannot be read: c.json is not valid JSON." in findings
    assert ["ok", "ok"] == check_payments([payment(3, amount=12), paths[0]])[
        "verdict"
    ].to_list()


def test_no_payment_of_a_folder_is_left_out(tmp_path: Path) -> None:
    """What stands in a sub-folder, or under a name in capitals, is compared with the
    others.
    """
    (tmp_path / "later" / "march").mkdir(parents=True)
    (tmp_path / "folder.json").mkdir()
    names = ["a.json", "b.JSON", "later/c.Json", "later/march/d.json"]
    for number, name in enumerate(names):
        payment(number + 1, amount=10 + number % 3).save(tmp_path / name)
    frame = check_payments(tmp_path)

    assert [str(tmp_path / name) for name in names] == frame.index.to_list()
    assert ["stop", "ok", "ok", "stop"] == frame[
        "verdict"
    ].to_list()  # the first and the last pay the same
    assert (
        "as " + str(tmp_path / "later" / "march" / "d.json")
        in frame["findings"].iloc[0]
    )


def test_a_row_says_whose_word_its_order_is(tmp_path: Path) -> None:
    """An order that stands in the file of the payment was written by whoever wrote
    that.
    """
    payment().save(tmp_path / "a.json")
    answer = payment(3, amount=30).to_dict(reveal=True)
    sent = Payment.read(answer, order=payment(3, amount=30).order, order_source="sent")
    without = payerkit.read_payment(payment(4, amount=40).to_dict(reveal=True))
    frame = check_payments([tmp_path / "a.json", payment(2, amount=20), sent, without])

    assert ["file", "given", "sent", None] == frame["order_source"].astype(
        "object"
    ).where(frame["order_source"].notna(), None).to_list()


def test_labels_are_kept() -> None:
    """A Series and a dict give the rows their labels."""
    labelled = {"rent": payment(), "wages": payment(2, amount=11)}

    assert ["rent", "wages"] == check_payments(labelled).index.to_list()
    assert ["rent", "wages"] == check_payments(pd.Series(labelled)).index.to_list()


def test_a_row_says_what_is_paid() -> None:
    """A row has what the bytes pay, not what the order says; amounts are exact."""
    row: Any = check_payments([samples["declared_fee"]]).iloc[0]

    assert (
        "look",
        "sepolia",
        PAYEE,
        Decimal(10),
        "fUSDC-sepolia",
        Decimal("0.01"),
        1,
    ) == (
        row["verdict"],
        row["network"],
        row["payee"],
        row["amount"],
        row["token"],
        row["fee"],
        row["payments"],
    )
    assert "[fee]" in row["findings"]


def test_a_fee_leg_is_a_fee_of_its_payment() -> None:
    """A fee that is paid beside the payment is in its row, and is not another
    payment.
    """
    response = payment().to_dict(reveal=True)
    leg = data("c219a14d", TOKEN, OTHER, 10_000, bytes([1] * 8), 0, DEAD)
    response["transactions"].append({"to": FEE_PROXY, "data": leg, "value": 0})
    policy = PaymentPolicy(
        fees=[AgreedFee(address=OTHER, max_percent="0.1", name="Platform")]
    )
    row: Any = check_payments(
        [payerkit.read_payment(response, order=payment().order)], policy=policy
    ).iloc[0]

    assert ("ok", 1, PAYEE, Decimal("0.01")) == (
        row["verdict"],
        row["payments"],
        row["payee"],
        row["fee"],
    )


def test_several_payments_in_one_response_have_no_single_payee() -> None:
    """What is paid by several payments is missing, rather than that of the first."""
    row: Any = check_payments([samples["second_payment"]]).iloc[0]

    assert ("stop", 2, True, None) == (
        row["verdict"],
        row["payments"],
        pd.isna(row["payee"]),
        row["amount"],
    )


def test_no_payments_are_a_table_without_rows() -> None:
    """Nothing to check is no error, and the columns stand."""
    some, none = check_payments([payment()]), check_payments([])

    assert (0, some.columns.to_list(), some.dtypes.to_list()) == (
        len(none),
        none.columns.to_list(),
        none.dtypes.to_list(),
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (payment(), "give a list of payments"),  # one payment is for check_payment()
        (pd.DataFrame({"a": [1]}), "give a list of payments"),
        (7, "give a list of payments"),
        ("no-such-folder", "not a folder"),
        ([payment(), None], "expected payments and paths"),
        ([7], "expected payments and paths"),
    ],
)
def test_anything_else_is_refused(given: Any, words: str) -> None:
    """What is no collection of payments is refused."""
    with pytest.raises(InvalidInput, match=words):
        check_payments(given)
