"""Response models: every published form is read, nothing is lost, nothing is
guessed.
"""

from __future__ import annotations

from contextlib import suppress
from inspect import signature
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import table
from payerkit import PaymentOrder
from payerkit.models import (
    AgreementUpdate,
    PayerStatus,
    Payment,
    PaymentDetail,
    PaymentMetadata,
    Transaction,
)
from payerkit.models.responses import Response
from payerkit.money import Event
from payerkit.payments.onchain.amounts import wei_of
from published import ANSWERS, ORDER

MODELS: list[tuple[type[Response], str]] = [
    (PayerStatus, "create_payer"),
    (PayerStatus, "get_payer_status"),
    (AgreementUpdate, "update_agreement"),
    (PaymentDetail, "create_payment_detail"),
    (Payment, "pay_native"),
    (Payment, "pay_token"),
    (Payment, "pay_complete"),
]


@pytest.mark.parametrize(("model", "name"), MODELS)
def test_published_responses_are_read(model: type[Response], name: str) -> None:
    """A published response is read completely, and returned as received."""
    answer = model.read(ANSWERS[name])

    assert ((), ANSWERS[name]) == (answer.odd, answer.to_dict(reveal=True))


def test_statuses_are_found_inside_and_beside() -> None:
    """Both published formats of a status are read alike."""
    inside = PayerStatus.read(ANSWERS["create_payer"])
    beside = PayerStatus.read(ANSWERS["get_payer_status"])

    assert ("not_started", "not_started", None) == (
        inside.kyc_status,
        inside.agreement_status,
        inside.is_compliant,
    )
    assert ("completed", "completed", True) == (
        beside.kyc_status,
        beside.agreement_status,
        beside.is_compliant,
    )


@pytest.mark.parametrize(
    "names", ["requestId", "requestID", "requestId requestID", "request_id"]
)
def test_request_id_is_read_in_every_spelling(names: str) -> None:
    """All spellings of the request id are the request id, also if one of them is
    empty.
    """
    assert (
        "01ab"
        == Payment.read(
            {"requestId": None, **dict.fromkeys(names.split(), "01ab")}
        ).request_id
    )


@table("transaction_values")
def test_value_is_an_exact_integer_or_none(
    value: list[Any], wei: list[int | None]
) -> None:
    """The published forms of a value become one integer; any other stays as it came,
    and is None here.
    """
    transaction = Transaction.read({"value": value[0]})

    assert (wei, value) == ([transaction.wei], [transaction.value])


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_every_value_survives_in_every_form(number: int) -> None:
    """A number of wei is the same in all published forms."""
    assert {number} == {
        wei_of(form)
        for form in (number, str(number), hex(number), {"hex": f"0x{number:064X}"})
    }
    assert (
        wei_of(f"{number}" + "0" * 5000 + "1") is None
    )  # longer than Python turns into a number


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)
READ = [model for model, _ in MODELS] + [Event]
NAMES = sorted(
    {
        field.serialization_alias or ""
        for model in READ
        for field in model.model_fields.values()
    }
    | {"status"}
)


def _read_if_it_tells(model: type[Response], answer: dict[str, Any]) -> Response | None:
    if model not in {PayerStatus, PaymentDetail}:
        return model.read(answer)
    with suppress(ValueError):
        return model.read(answer)
    with pytest.raises(ValueError, match="no other field that the API documents"):
        model.read(answer)
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [PayerStatus, AgreementUpdate, PaymentDetail, Payment, Event]
)
@given(answer=st.dictionaries(st.sampled_from(NAMES) | st.text(), JSON, max_size=6))
def test_every_response_is_read_and_shown(
    model: type[Response], answer: dict[str, Any]
) -> None:
    """Any JSON object is read, kept and shown; but one that tells nothing of a payer or
    an account is refused.
    """
    read = _read_if_it_tells(model, answer)
    if read is None:
        return

    assert all(
        isinstance(view, str) for view in (repr(read), str(read), read._repr_html_())
    )
    assert set(answer) == set(read.to_dict())


@pytest.mark.parametrize("answer", [None, [], "text", 1, True])
def test_only_objects_are_read(answer: Any) -> None:
    """JSON other than an object is refused."""
    with pytest.raises(ValueError, match="expected a JSON object, got a "):
        PayerStatus.read(answer)


def test_odd_fields_are_listed_and_kept() -> None:
    """A field of an unexpected type is None, listed as odd, and still in the
    response.
    """
    status = PayerStatus.read(
        {
            "userId": 7,
            "isCompliant": "yes",
            "kycStatus": "brand_new_word",
            "extra": {"a": 1},
        }
    )

    assert (None, None, "brand_new_word") == (
        status.user_id,
        status.is_compliant,
        status.kyc_status,
    )
    assert {"userId", "isCompliant"} == set(status.odd)
    assert ({"a": 1}, 7) == (status.extra, status.to_dict()["userId"])  # type: ignore[attr-defined]


def test_odd_transactions_keep_the_answer() -> None:
    """An unreadable transaction, or metadata of a new kind, does not lose the rest of
    the payment.
    """
    metadata = {
        "routeType": "lifi",
        "protocolFee": {"percentage": "0.1"},
        "stepsRequired": "2",
    }
    payment = Payment.read(
        {"transactions": [{"data": "0xb868980b...00"}, "text"], "metadata": metadata}
    )
    (first, second), read = payment.transactions, payment.metadata

    assert read is not None
    assert ("0xb868980b...00", "text") == (first.data, second.unreadable)  # type: ignore[attr-defined]
    assert ("lifi", None, ("stepsRequired",)) == (
        read.routeType,  # type: ignore[attr-defined]
        read.steps_required,
        read.odd,
    )


@table("declared_fees")
@pytest.mark.parametrize("name", ["protocolFee", "platformFee"])
def test_declared_fees_are_read_tolerantly(
    name: str, fee: list[Any], shown: str, is_odd: bool
) -> None:
    """A fee of any form is read as far as possible, and named if it is odd."""
    metadata = PaymentMetadata.read({name: fee[0]})
    field = {
        "protocolFee": metadata.protocol_fee,
        "platformFee": metadata.platform_fee,
    }[name]

    assert (shown, (name,) if is_odd else ()) == (str(field), metadata.odd)
    assert fee == [metadata.to_dict(reveal=True)[name]]


def test_declared_fees_are_shown() -> None:
    """A fee is in the table of the metadata, as text."""
    metadata = PaymentMetadata.read(
        {"protocolFee": {"percentage": "0.1", "address": "0x<b>\u202e"}}
    )

    assert "Declared protocol fee</th>" in metadata._repr_html_()
    assert "0.1 % to 0x&lt;b&gt;\\u202e" in metadata._repr_html_()


@pytest.mark.parametrize("transactions", [None, "text", {"0": {}}])
def test_transactions_are_always_a_sequence(transactions: Any) -> None:
    """Whoever goes through the transactions never meets something else than a tuple."""
    assert () == Payment.read({"transactions": transactions}).transactions


@pytest.mark.parametrize(
    "field",
    [
        "accountNumber",
        "account_number",
        "routingNumber",
        "iban",
        "IBAN",
        "ribNumber",
        "ssn",
        "documentNumber",
    ],
)
def test_secrets_are_masked_in_every_spelling(field: str) -> None:
    """A secret is masked by its name, however a service spells it, on the top and
    inside, in every view and dump.
    """
    detail = PaymentDetail.read(
        {
            "payment_detail": {
                "id": "pd-1",
                field: "253009233489",
                "bank": {field: "253009233489"},
            }
        }
    )
    views = [
        repr(detail),
        str(detail),
        detail._repr_html_(),
        str(detail.to_dict()),
        str(detail.account_number),
    ]
    dumps = [str(detail.model_dump()), detail.model_dump_json()]

    assert [] == [view for view in views + dumps if "253009233489" in view]
    assert detail.to_dict(reveal=True)["payment_detail"][field] == "253009233489"


@pytest.mark.parametrize(
    ("url", "shown", "hidden"),
    [
        ("https://example.com/kyc/1", 'href="https://example.com/kyc/1"', "nothing"),
        (
            "https://example.com/a?email=john.doe%40example.com",
            "get it from <code>.kyc_url</code>",
            "john.doe",
        ),
        (
            "https://example.com/a?email=john@x.com",
            "the link contains an e-mail address",
            "john@x.com",
        ),
        (
            "https://example.com/a?email=john%2540x.com",
            "the link contains an e-mail address",
            "john",
        ),  # encoded twice
        (
            "//example.com/a?email=john@x.com",
            "the link contains an e-mail address",
            "john",
        ),  # no scheme
        ("javascript:alert(1)", "javascript:alert(1)", "href"),
        ("https://example.com/\u202e", "\\u202e", "href"),
    ],
)
def test_links_are_shown_without_a_persons_data(
    url: str, shown: str, hidden: str
) -> None:
    """A link is a link if it is one, says where it opens, and does not carry an e-mail
    address into a file.
    """
    view = PayerStatus.read({"kycUrl": url})._repr_html_()

    assert (True, False) == (shown in view, hidden in view)


def test_server_text_is_escaped() -> None:
    """A status word is text, whatever it says."""
    assert "<b>" not in PayerStatus.read({"kycStatus": "<b>approved</b>"})._repr_html_()


@pytest.mark.parametrize("wrapper", ["payment_detail", "paymentDetail"])
def test_a_record_is_found_in_either_wrapper(wrapper: str) -> None:
    """An empty wrapper beside a filled one does not hide the record."""
    empty = {"payment_detail": None, "paymentDetail": None}

    assert PaymentDetail.read({**empty, wrapper: {"id": "pd_1"}}).id == "pd_1"


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("individual", "J•••• S••••"), ("business", "Jane Smith"), (None, "J•••• S••••")],
)
def test_a_person_is_shown_by_initials_and_a_business_by_name(
    kind: str | None, shown: str
) -> None:
    """The holder of an account tells about a person, unless it is a business."""
    detail = PaymentDetail.read({"accountName": "Jane Smith", "beneficiaryType": kind})
    is_shown = shown == "Jane Smith"

    assert shown == detail.masked("account_name", detail.account_name)
    assert (is_shown, is_shown) == (
        "Jane" in repr(detail),
        "Jane" in detail._repr_html_(),
    )


def test_missing_values_are_dashes() -> None:
    """What a service left out is shown as left out, not as the word None."""
    assert "None" not in Payment.read({"transactions": [{}]})._repr_html_()


def test_payment_shows_its_order() -> None:
    """A payment shows the payee, amount and currencies of its order."""
    view = Payment.read(
        ANSWERS["pay_native"], order=PaymentOrder.of(ORDER, {})
    )._repr_html_()

    assert [] == [value for value in ORDER.values() if value not in view]


def test_a_response_shows_its_fields_by_their_own_names() -> None:
    """What `help` and `?` show is what an attribute is called, not the name on the
    wire.
    """
    assert "success" in signature(AgreementUpdate).parameters
    assert "client_user_id" in signature(PaymentDetail).parameters
