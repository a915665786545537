"""Secrets are used and never shown."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import table
from payerkit import PayoutOrder
from payerkit.masking import mask
from payerkit.models import PayerStatus, RequestStatus
from payerkit.models.fields import fields_of
from payerkit.models.requests import SPECIFIED
from payerkit.redaction import MASK, mask_account, mask_text, redact
from payerkit.wire import ApiKey

SECRET = "sk_live_51H8_not_a_real_key"


@pytest.mark.parametrize(
    "view", [repr, str, "{}".format, dir], ids=lambda view: str(view)[:20]
)
def test_key_does_not_show_itself(view: Callable[[object], object]) -> None:
    """No way of looking at a key shows more than its fingerprint, and it has no
    variables for a debugger.
    """
    assert SECRET not in str(view(ApiKey(SECRET)))
    with pytest.raises(TypeError):
        vars(ApiKey(SECRET))


def test_a_field_is_masked_alike_in_all_schemas() -> None:
    """Masking goes by the name of a field alone, since responses have the same fields
    as requests.
    """
    maskings = {
        (name, field.masking)
        for schema in SPECIFIED
        for name, field in fields_of(schema).items()
    }

    assert len(maskings) == len({name for name, _ in maskings})


def test_fingerprint_tells_keys_apart() -> None:
    """Two keys can be told apart without being seen."""
    assert ApiKey("a").fingerprint != ApiKey("b").fingerprint


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("253009233489", "••••3489"),
        ("12345678", "••••5678"),  # eight is enough to leave four hidden
        ("1234567", "••••"),
        ("", ""),  # nothing is shown as nothing
    ],
)
def test_account_shows_its_end(number: str, shown: str) -> None:
    """An account shows its last four characters if that leaves enough hidden."""
    assert shown == mask_account(number)


@table("redacted_texts")
def test_redact_masks_secrets(text: str, secrets: list[str], redacted: str) -> None:
    """A text from a server loses the secrets that were sent, in every form that a
    server may write them in.
    """
    assert redacted == redact(text, secrets)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("account 253009233489 exists", "account •••• exists"),
        ("SSN 123-45-6789 is in use", "SSN •••• is in use"),
        ("SSN 123456789 is in use", "SSN •••• is in use"),
        ("IBAN DE89370400440532013000 exists", "IBAN •••• exists"),
        ("IBAN DE89 3704 0044 0532 0130 00: exists", "IBAN ••••: exists"),
        ("(12345678)", "(••••)"),
        ("number=12345678;", "number=••••;"),
        ("account 12345678 USD exists", "account •••• USD exists"),
        ("account 1234 5678 9012 exists", "account •••• exists"),
        ("call +49 30 1234567", "call +••••"),
        ("ada@example.com is taken", "•••• is taken"),
        ("<q+x@a.example.org>, email=zoe@example.com", "<••••>, email=••••"),
        ("no /v2/payer/ada%40example.com/pay", "no /v2/payer/••••/pay"),
        ("no /v2/payer/ada%2540example.com/pay", "no /v2/payer/••••/pay"),
    ],
)
def test_redact_masks_what_looks_like_a_secret(text: str, shown: str) -> None:
    """A service may repeat what another call sent: e-mail addresses, and numbers of
    accounts and of people.
    """
    assert shown == redact(text, [])


@pytest.mark.parametrize(
    "text",
    [
        "request 0x1234567890123456789012345678901234567890 not found",
        f"transaction 0x{'12' * 32} failed",
        "id 01234567-1234-4234-8234-123456789012 not found",
        "01HZX3NDEKTSV4RRFFQ69G5FAV is no id",
        "invoice-20261128-1 exists",
        "payer user_12345678 not found",
        "HTTP 429: wait 1200 seconds",
        "at least 1000000 USD, got 12,345,678.50",
        "12345678.50 is too much",
        "0.00000001 is too little",
        "needs 1000000000000000000 wei",
        "at 2026-11-28T05:23:41Z, version 1.20.3",
        "routing code 12345 is not known",
        "host 127.0.0.1:8080 refused",
    ],
)
def test_redact_leaves_what_a_message_needs(text: str) -> None:
    """Ids, hashes, addresses, amounts, times and status codes stay."""
    assert text == redact(text, [])


few_letters = st.text("abAB12- ")


@given(few_letters, st.text("abAB12- ", min_size=5), few_letters)
def test_long_secrets_never_come_through(before: str, secret: str, after: str) -> None:
    """Wherever a secret of five characters or more stands, it is not in the redacted
    text.
    """
    assert secret not in redact(before + secret + after, [secret])


@pytest.mark.parametrize("text", ["x" * 5000, "12 " * 1700, "a%40" * 1200, "x@" * 2500])
def test_redact_takes_no_time(text: str) -> None:
    """A service cannot make an error take long: it has up to 150 texts."""
    start = time.process_time()
    redact(text, [])

    assert time.process_time() - start < 0.1


def test_redact_is_short_and_visible() -> None:
    """A text from a server is short and has no control characters; the end of a secret
    may be cut off.
    """
    redacted = redact("\x1b[2J" + "x" * 10_000, [])

    assert (redacted[:8], len(redacted)) == ("\\x1b[2Jx", 501)
    assert MASK == redact("x" * 150, ["x" * 200_000])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Beneficiary name mismatch", "Beneficiary name mismatch"),
        ("Account 253009233489 is closed.", "Account •••• is closed."),
        ("12-34-56 12345678", "••••"),
        ("IBAN DE89 3704 0044 0532 0130 00: wrong", "IBAN ••••: wrong"),
        (
            "Ask <zoe@example.com>, (q+x@a.example.org) or 'x@y'",
            "Ask <••••>, (••••) or '••••'",
        ),
        (
            "Wait 5 days, then send 30 USD 10 times (code 12345)",
            "Wait 5 days, then send 30 USD 10 times (code 12345)",
        ),
        ("two\nlines\u202e", "two lines\\u202e"),
        ("x" * 600, "x" * 500 + "…"),
        ("", ""),
    ],
)
def test_texts_of_others_hide_what_is_personal(text: str, shown: str) -> None:
    """E-mail addresses and long numbers go; words, small numbers and names stay, in one
    visible line.
    """
    assert shown == mask_text(text) == mask("rejection_message", text)


@pytest.mark.parametrize("value", [{"a": 1}, [1], '{"a": 1}'])
def test_what_others_define_is_masked_as_a_whole(value: object) -> None:
    """Nobody knows which of its members are personal."""
    assert {"rawPayload": MASK, "x": {"customerInfo": MASK}} == mask(
        "", {"rawPayload": value, "x": {"customerInfo": value}}
    )


@pytest.mark.parametrize(
    "name", ["iban", "ssn", "email", "accountName", "date_of_birth", "failureReason"]
)
def test_an_object_in_place_of_a_personal_value_is_masked_as_a_whole(name: str) -> None:
    """Whatever the service calls its members; among others, too."""
    held = {"value": "Ada", "beneficiaryType": "business"}

    assert {name: MASK, "accounts": [{name: [MASK]}]} == mask(
        "", {name: held, "accounts": [{name: [held]}]}
    )


@pytest.mark.parametrize("name", ["clientUserId", "client_user_id", "reference"])
def test_an_id_that_is_an_email_address_is_masked(name: str) -> None:
    """Users choose these, and an error must not repeat them either."""
    assert (MASK, "invoice-1") == (
        mask(name, "for ada@example.com"),
        mask(name, "invoice-1"),
    )


def test_an_email_address_is_shown_nowhere() -> None:
    """In no representation of what is sent or comes back, and among what errors
    mask.
    """
    order = PayoutOrder(
        amount="1",
        invoice_currency="USD",
        payment_currency="EUR",
        reference="ada@example.com",
    )
    status = RequestStatus.read(
        {"reference": "ada@example.com", "request": {"reference": "ada@example.com"}}
    )
    payer = PayerStatus.read({"userId": "u", "clientUserId": "ada@example.com"})
    shown = [
        f"{each!r} {each} {dict(each)} {each.to_dict()} {each._repr_html_()}"
        for each in (order, status, payer)
    ]

    assert "ada" not in "".join(shown)
    assert ("ada@example.com",) == order.private_values()
