"""Request models: as strict as the specification and not stricter, wire names, masked
secrets.
"""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cases import table
from payerkit import BankDetails, InvalidInput, Payer, PaymentOrder
from payerkit.models.base import RequestModel
from payerkit.models.fields import Identifies, Lookup, Section, fields_of
from payerkit.models.formats import FieldKind
from payerkit.redaction import Masking
from published import BANK_DETAILS, ORDER, PAYER, PUBLISHED

BODIES = [
    *((Payer, body) for body in PUBLISHED["payers"].values()),
    *((BankDetails, body) for body in PUBLISHED["bank_details"].values()),
    *((PaymentOrder, body) for body in PUBLISHED["orders"].values()),
]
MINIMAL = [(Payer, PAYER), (BankDetails, BANK_DETAILS), (PaymentOrder, ORDER)]

# Specification 2.1, 2.4 and 2.7: the fields, and which are required. "*" marks a
# required one.
SPECIFIED: dict[type[RequestModel], str] = {
    Payer: (
        "clientUserId* email* firstName* lastName* beneficiaryType* dateOfBirth*"
        " addressLine1* city* state* postcode* country* nationality* phone* ssn*"
        " companyName addressLine2 sourceOfFunds businessActivity"
    ),
    BankDetails: (
        "bankName* accountName* beneficiaryType* currency* addressLine1* city* country*"
        " dateOfBirth* postalCode* accountNumber routingNumber addressLine2 state rails"
        " sortCode iban swiftBic documentNumber documentType accountType ribNumber"
        " bsbNumber ncc branchCode bankCode ifsc"
    ),
    PaymentOrder: "payee* amount* invoiceCurrency* paymentCurrency*",
}

EXTENSIONS: dict[type[RequestModel], str] = {}
"""Fields beyond the specification that the service documents, as above."""


@pytest.mark.parametrize("model", SPECIFIED, ids=lambda model: model.__name__)
def test_fields_are_those_of_the_specification(model: type[RequestModel]) -> None:
    """A model has the specification's fields under its names, and requires what it
    requires; what a service documents beyond them is listed.
    """
    known = SPECIFIED[model].split() + EXTENSIONS.get(model, "").split()
    fields = {
        f"{field.serialization_alias}{'*' * field.is_required()}"
        for field in model.model_fields.values()
    }

    assert set(known) == fields


@pytest.mark.parametrize(("model", "body"), BODIES)
def test_published_bodies_are_sent_as_they_are(
    model: type[RequestModel], body: dict[str, str]
) -> None:
    """A published body is sent unchanged: nothing trimmed, added or rewritten; our
    names make the same object.
    """
    sent = model.of(body, {})
    ours = {
        name: body[str(field.serialization_alias)]
        for name, field in model.model_fields.items()
        if field.serialization_alias in body
    }

    assert body == sent.to_dict(reveal=True)
    assert sent == model.of(None, ours)


@pytest.mark.parametrize("model", SPECIFIED, ids=lambda model: model.__name__)
def test_every_field_is_described(model: type[RequestModel]) -> None:
    """Each field has a title, a line of help, an example and known traits, also in JSON
    Schema.
    """
    properties = model.model_json_schema()["properties"]
    for name, item in fields_of(model).items():
        assert (name, True) == (name, bool(item.title and item.help and item.example))
        assert item.section in get_args(Section)
        assert item.lookup in get_args(Lookup)
        assert item.masking in get_args(Masking)
        assert item.kind in get_args(FieldKind)
        assert item.identifies in get_args(Identifies)
        assert (item.title, item.help, item.section) == (
            properties[item.wire_name]["title"],
            properties[item.wire_name]["description"],
            properties[item.wire_name]["section"],
        )


def refused(model: type[RequestModel], field: str, value: Any) -> list[tuple[str, str]]:
    """Return the errors of a published body with another value; none if it is sent as
    typed.
    """
    try:
        sent = model.of({**dict(MINIMAL)[model], field: value}, {})
    except InvalidInput as error:
        return [(problem.wire_name, problem.code) for problem in error.fields]
    assert value == sent.to_dict(reveal=True)[field]
    return []


@table("request_fields")
def test_a_model_is_as_strict_as_the_specification(
    model: str, field: str, value: list[Any], code: str | None
) -> None:
    """A field that breaks its constraint is refused, alone and by its name; nothing is
    stricter.
    """
    kinds = {each.__name__: each for each in SPECIFIED}

    assert ([(field, code)] if code else []) == refused(kinds[model], field, value[0])


@pytest.mark.parametrize(
    ("amount", "code"),
    [(Decimal("NaN"), "required"), (Decimal("Infinity"), "not_text")],
)
def test_an_amount_is_finite(amount: Decimal, code: str) -> None:
    """NaN is an empty cell."""
    assert [("amount", code)] == refused(PaymentOrder, "amount", amount)


def test_all_errors_are_listed_at_once() -> None:
    """One error lists every invalid field, the missing ones too, and says what to
    do.
    """
    body = {name: value for name, value in PAYER.items() if name != "city"} | {
        "email": "x",
        "post code": "1",
    }

    with pytest.raises(InvalidInput) as caught:
        Payer.of(body, {})

    assert (
        str(caught.value) == "Payer: 3 fields need attention. Nothing was sent.\n"
        "  email: Not an e-mail address. Write it as name@example.com.\n"
        "  city: Required.\n"
        "  post code: Not a field of Payer. Did you mean postcode?"
    )


@pytest.mark.parametrize(
    ("model", "given_as", "fields", "words"),
    [
        (
            BankDetails,
            {**BANK_DETAILS, "routingNumber": 26013356},
            {},
            "Put it in quotes",
        ),
        (
            Payer,
            {**PAYER, "first_name": "Johnny"},
            {},
            "Given twice: as first_name and as firstName",
        ),
        (Payer, ["not", "a", "payer"], {}, "got a list"),
        (
            Payer,
            PAYER,
            {"city": "Albany"},
            "also the keywords city",
        ),  # one way, not a mixture
        (
            Payer,
            PaymentOrder.of(ORDER, {}),
            {},
            "got a PaymentOrder",
        ),  # the wrong kind of object
        (Payer, None, {"payer": PAYER}, "as a positional argument, without payer="),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_given_in_another_way_is_refused(
    model: type[RequestModel], given_as: Any, fields: dict[str, Any], words: str
) -> None:
    """An object, a dict or keywords are accepted, each field once and as text; the
    error says what was given.
    """
    with pytest.raises(InvalidInput, match=words):
        model.of(given_as, fields)


def test_constructor_raises_pydantics_own_error() -> None:
    """A model's constructor raises ValidationError with the same messages and without
    the value.
    """
    with pytest.raises(ValidationError) as caught:
        Payer(**{**PAYER, "email": "john.doe"})

    assert "Write it as name@example.com" in str(caught.value)
    assert "john.doe" not in str(caught.value)


def test_the_frames_of_an_error_hold_no_value() -> None:
    """Tools that show a traceback with local variables show neither what is wrong nor
    what is right.
    """
    wrong = {"ssn": "987-65-4329", "email": "wrong.address", "firstName": "Quentin"}
    with pytest.raises((ValidationError, InvalidInput)) as caught:
        Payer.of(PAYER, {}).replace(**PAYER | wrong)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][1:]
    held = repr([frame.f_locals for frame in frames])

    assert len(frames) == 1
    assert caught.value.__context__ is None
    assert [] == [
        value for value in [*wrong.values(), PAYER["lastName"]] if value in held
    ]


PRIVATE = {
    Payer: "123-45-6789 John Doe john.doe 5551234 1985 Main 10001",
    BankDetails: "253009233489 026013356 1985 Theatre 90723",
}
LOOKS: dict[str, Callable[[Any], str]] = {
    "repr": repr,
    "html": lambda made: made._repr_html_(),
    "to_dict": lambda made: json.dumps(made.to_dict()),
    "dict": lambda made: str(dict(made)),
    "model_dump": lambda made: str(made.model_dump()),
    "json": lambda made: made.model_dump_json(),
    "frame": lambda made: pd.DataFrame([made]).to_string(),
    "frame of dicts": lambda made: pd.DataFrame([dict(made)]).to_html(),
}


@pytest.mark.parametrize(("model", "body"), MINIMAL[:2])
@pytest.mark.parametrize("look", LOOKS)
def test_no_usual_way_of_looking_shows_a_person(
    look: str, model: type[RequestModel], body: dict[str, str]
) -> None:
    """Representations and dumps, which notebooks save, have neither secrets nor
    personal data.
    """
    shown = LOOKS[look](model.of(body, {}))

    assert [] == [value for value in PRIVATE[model].split() if value in shown]
    assert body["country"] in shown


def test_only_asking_for_a_value_returns_it() -> None:
    """Only `get_secret_value` and `reveal=True` reveal, not any other true value."""
    payer = Payer.of(PAYER, {})

    assert "••••" == payer.to_dict(reveal="no")["ssn"]  # type: ignore[arg-type]
    assert (
        PAYER["ssn"]
        == payer.ssn.get_secret_value()
        == payer.to_dict(reveal=True)["ssn"]
    )


def test_secret_values_are_those_to_keep_out_of_messages() -> None:
    """The values to redact in messages are those that representations mask."""
    hidden = (
        "accountNumber",
        "routingNumber",
        "dateOfBirth",
        "addressLine1",
        "postalCode",
    )

    assert {BANK_DETAILS[name] for name in hidden} == set(
        BankDetails.of(BANK_DETAILS, {}).private_values()
    )


@given(
    st.integers(min_value=0),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=0),
)
def test_amounts_are_written_in_full(whole: int, exact: Decimal) -> None:
    """Whole numbers and decimals of any size are sent digit by digit, never through a
    float.
    """
    amounts = [
        PaymentOrder.of({**ORDER, "amount": amount}, {}).amount
        for amount in (whole, exact)
    ]

    assert ([whole, exact], "E" in amounts[1]) == (
        [int(amounts[0]), Decimal(amounts[1])],
        False,
    )


@pytest.mark.parametrize(
    ("model", "field"),
    [(Payer, "ssn"), (Payer, "city"), (BankDetails, "account_number")],
)
def test_objects_do_not_change(model: type[RequestModel], field: str) -> None:
    """An object is immutable, so that what was checked is sent; the error does not show
    the value.
    """
    made = model.of(dict(MINIMAL)[model], {})

    with pytest.raises(AttributeError, match="is immutable") as caught:
        setattr(made, field, "a secret")

    assert "a secret" not in str(caught.value)


def test_other_values_make_another_object() -> None:
    """`replace` checks the copy like a new object, and leaves the first one
    unchanged.
    """
    payer = Payer.of(PAYER, {})

    assert ("Jane", "John") == (
        payer.replace(first_name="Jane").first_name,
        payer.first_name,
    )
    assert payer.replace(company_name="Example Inc.").ssn == payer.ssn
    with pytest.raises(InvalidInput, match="Not two letters"):
        payer.replace(country="USA")


@pytest.mark.parametrize(("model", "body"), MINIMAL[:2])
def test_what_is_shown_masked_is_not_sent(
    model: type[RequestModel], body: dict[str, str]
) -> None:
    """A masked value is refused: sent, it would replace the real one."""
    shown = model.of(body, {}).to_dict()
    with pytest.raises(InvalidInput, match=r"to_dict\(reveal=True\)") as caught:
        model.of(shown, {})

    masked = {name for name, value in shown.items() if value != body[name]}
    assert masked == {problem.wire_name for problem in caught.value.fields}
    assert masked >= {"dateOfBirth", "addressLine1"}


@pytest.mark.parametrize(
    "blank", [None, float("nan"), pd.NA, pd.NaT, np.float64("nan")], ids=repr
)
def test_blank_cells_count_as_not_given(blank: Any) -> None:
    """An empty cell of a table is no value: fine if a field is optional, missing if it
    is required.
    """
    assert Payer.of({**PAYER, "addressLine2": blank}, {}) == Payer.of(PAYER, {})
    with pytest.raises(InvalidInput, match="city: Required"):
        Payer.of({**PAYER, "city": blank}, {})


def test_a_row_of_a_table_is_taken() -> None:
    """A row of a DataFrame is as good as a dict."""
    frame = pd.DataFrame(
        [PAYER, {**PAYER, "addressLine2": "Suite 200"}], dtype="string"
    )

    assert [None, "Suite 200"] == [
        Payer.of(frame.iloc[place], {}).address_line2 for place in range(2)
    ]


@pytest.mark.parametrize("model", SPECIFIED, ids=lambda model: model.__name__)
def test_a_class_shows_its_fields(model: type[RequestModel]) -> None:
    """`help`, `?` and completion show the fields by our names, and which are
    required.
    """
    parameters = inspect.signature(model).parameters
    required = [
        name
        for name, each in parameters.items()
        if each.default is inspect.Parameter.empty
    ]

    assert list(model.model_fields) == list(parameters)
    assert [
        name for name, field in model.model_fields.items() if field.is_required()
    ] == required
    assert [] == [name for name in parameters if name not in str(model.__doc__)]


def test_an_unfinished_object_can_be_shown() -> None:
    """Tools that show the variables of a failed call may meet an object before its
    __init__ is done.
    """
    assert repr(Payer.__new__(Payer)) == "Payer()"
