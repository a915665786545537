"""Ids that are refused, bodies with a redacted repr, error bodies of every shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import table
from payerkit import BankDetails, InvalidInput, Payer
from payerkit.client.call import RequestBody, read_error_body
from payerkit.wire import check_id, our_name, parse_json, wire_name
from published import BANK_DETAILS, PAYER


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "id_empty"),
        ("..", "id_dots"),  # would reach /v1/payment-details
        ("a\nb", "id_characters"),
        ("a\x85", "id_characters"),  # a control character beyond ASCII
        ("half \ud800", "id_characters"),  # cannot be encoded
        ("x" * 257, "id_length"),
        (123, "id_type"),  # what a table makes of an id of digits
    ],
)
def test_ids_that_would_not_arrive_are_refused(value: Any, code: str) -> None:
    """An id that could not be sent as typed is refused here, by the name of the
    argument.
    """
    with pytest.raises(InvalidInput) as caught:
        check_id(value, "client_user_id")

    assert [("client_user_id", "clientUserId", code)] == [
        (problem.field, problem.wire_name, problem.code)
        for problem in caught.value.fields
    ]


def test_body_shows_its_length_only() -> None:
    """A body in a frame of a traceback tells nothing."""
    payer = Payer.of(PAYER, {})
    body = RequestBody(payer.to_dict(reveal=True), payer.private_values)

    assert repr(body) == f"<body of {len(body.content)} bytes>"
    assert json.loads(body.content) == PAYER


def test_fingerprints_tell_bodies_apart_and_need_the_key() -> None:
    """A fingerprint depends on body and key."""
    one, other = RequestBody({"ssn": "1"}), RequestBody({"ssn": "2"})
    prints = {
        one.fingerprint(b"key"),
        other.fingerprint(b"key"),
        one.fingerprint(b"another key"),
    }

    assert ({12}, 3) == ({len(each) for each in prints}, len(prints))


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),  # a byte-order mark
        (b'{"a": 1, "a": 2}', {"a": 2}),  # a key twice
        (b"1" + b"0" * 60, 10**60),
        ("漢".join('""').encode(), "漢"),
    ],
)
def test_json_is_read(content: bytes, value: Any) -> None:
    """What a service may answer is read exactly."""
    assert value == parse_json(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b'{"a": ', b"\xff\xfe", b'"caf\xe9"', b"[" * 100_000, b"{} {}"],
    ids=lambda c: c[:6].hex(),
)
def test_what_is_no_json_is_refused(content: bytes) -> None:
    """Anything else, however deep, ends in one kind of error."""
    with pytest.raises(ValueError, match=r".+"):
        parse_json(content)


@table("error_bodies")
def test_error_bodies_are_read(
    body: Any, message: str, fields: list[list[str]]
) -> None:
    """Every published shape of an error body gives its message and the members it
    names.
    """
    complaint = read_error_body(json.dumps(body).encode(), [])
    read = [
        [each.field, each.wire_name, each.message, each.code]
        for each in complaint.fields
    ]

    assert (message, fields) == (complaint.message, read)


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>502 Bad Gateway</html>", b'{"message": "cu', b"\xff", b"null", b"3"],
)
def test_other_error_bodies_say_nothing(content: bytes) -> None:
    """HTML, nothing, half of something: no message, and no failure while reading
    one.
    """
    complaint = read_error_body(content, [])

    assert ("", ()) == (complaint.message, complaint.fields)


@table("refusal_codes")
def test_the_code_of_a_refusal_is_one_word_in_snake_case(body: Any, code: str) -> None:
    """The first place that has such a word counts."""
    assert code == read_error_body(json.dumps(body).encode(), []).code


@pytest.mark.parametrize(
    ("code", "private", "expected"),
    [
        ("john_doe_blocked", ["John Doe"], ""),  # with another separator
        ("account_of_mei_blocked", ["Mei"], ""),  # a short value, as one of the words
        ("ssn_123456789", ["123-45-6789"], ""),
        ("time_is_over", ["Mei"], "time_is_over"),  # which only contains its letters
        (
            "not_yet_passed_kyc_kyb",
            ["Not", "Passed"],
            "not_yet_passed_kyc_kyb",
        ),  # a public word tells nothing
    ],
)
def test_a_code_repeats_no_private_value(
    code: str, private: list[str], expected: str
) -> None:
    """A service could put what it was sent into a code."""
    assert (
        expected == read_error_body(json.dumps({"code": code}).encode(), private).code
    )


@given(st.binary(max_size=200))
def test_no_error_body_fails_to_be_read(content: bytes) -> None:
    """Whatever bytes stand in an error body, reading them does not fail."""
    assert isinstance(read_error_body(content, ["secret"]).message, str)


def test_complaints_are_as_many_as_a_person_reads() -> None:
    """A list of complaints without end floods nobody, whichever kind they are."""
    entries = [{"field": "city", "message": f"wrong {place}"} for place in range(1000)]
    complaint = read_error_body(
        json.dumps(
            {"message": [str(place) for place in range(1000)], "errors": entries}
        ).encode(),
        [],
    )

    assert (50, True) == (len(complaint.fields), len(complaint.message) < 5000)


@pytest.mark.parametrize(
    ("wire", "ours"),
    [
        ("requestID", "request_id"),
        ("addressLine1", "address_line1"),
        ("iban", "iban"),
        ("", ""),
    ],
)
def test_foreign_names_are_read(wire: str, ours: str) -> None:
    """Names that only a service has become names as ours are."""
    assert ours == our_name(wire)


def test_published_names_are_made() -> None:
    """Our names make the names that were published, and those of all fields."""
    fields = [*Payer.model_fields.values(), *BankDetails.model_fields.values()]
    published = {
        *PAYER,
        *BANK_DETAILS,
        *(str(field.serialization_alias) for field in fields),
    }

    assert published == {wire_name(our_name(name)) for name in published}
