"""Every public way to make a payment: it is checked whole, or refused by name."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from example_payments import GOOD
from payerkit import InvalidInput, check_payment, check_payments, read_payment
from payerkit.models import Payment

SAFE = "0x111CEEee040739fD91D29C34C33E6B3E112F2177"
HONEST = GOOD["token"]
ANSWER = HONEST.to_dict(reveal=True)
PERMIT = {"types": {}, "primaryType": "Permit", "domain": {}, "message": {}}


class OwnPayment(Payment):
    """A payment of somebody who adds to it."""


WHOLE: dict[str, Callable[[dict[str, Any]], Payment]] = {
    "validate": Payment.model_validate,
    "strict, with a context": lambda answer: Payment.model_validate(
        answer, strict=True, context={"mine": 1}
    ),
    "keywords": lambda answer: Payment(**answer),
    "JSON": lambda answer: Payment.model_validate_json(json.dumps(answer)),
    "adapter": TypeAdapter(Payment).validate_python,
    "adapter of a list": lambda answer: TypeAdapter(list[Payment]).validate_python(
        [answer]
    )[0],
    "subclass": OwnPayment.model_validate,
    "copy": lambda answer: read_payment(answer).model_copy(),
    "deep copy": lambda answer: copy.deepcopy(read_payment(answer)),
    "pickle": lambda answer: pickle.loads(  # noqa: S301 - made here
        pickle.dumps(read_payment(answer))
    ),
}
"""Ways that have the whole response."""


@pytest.mark.parametrize("make", WHOLE.values(), ids=[*WHOLE])
@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({}, "ok"),
        ({"permit": PERMIT}, "stop"),  # a message to sign beside the transactions
        ({"hasBeenPaid": True}, "stop"),
        ({"chainId": 1}, "stop"),  # another network than that of the order
        ({"iban": "DE89370400440532013000"}, "ok"),  # a secret, hidden in the object
    ],
)
def test_a_payment_of_a_response_is_checked_whole(
    make: Callable[[dict[str, Any]], Payment],
    more: dict[str, Any],
    verdict: str,
    tmp_path: Path,
) -> None:
    """What stands beside the fields counts, and is in the saved file."""
    payment = make(ANSWER | more)
    payment.save(tmp_path / "payment.json")

    assert verdict == check_payment(payment, order=HONEST.order).verdict
    assert ANSWER | more == payment.to_dict(reveal=True)
    saved = json.loads((tmp_path / "payment.json").read_text("utf-8"))
    assert ANSWER | more == saved["answer"]


INCOMPLETE: dict[str, Callable[[], Payment]] = {
    "dump": lambda: Payment.model_validate(HONEST.model_dump()),
    "JSON dump": lambda: Payment.model_validate_json(HONEST.model_dump_json()),
    "dump by names on the wire": lambda: Payment.model_validate_json(
        HONEST.model_dump_json(by_alias=True)
    ),
    "JSON through an adapter": lambda: TypeAdapter(Payment).validate_json(
        json.dumps(ANSWER)
    ),  # whose parser drops names that are there twice
    "our names": lambda: Payment(
        request_id=None,
        payment_reference=HONEST.payment_reference,
        transactions=HONEST.transactions,
    ),
    "unchecked": lambda: Payment.model_construct(**dict(HONEST)),
}
"""Ways that lack a part of the response."""


def with_changed_value() -> Payment:
    """Return a payment whose value was changed within its object."""
    transactions = [each | {"value": {"hex": "0x0"}} for each in ANSWER["transactions"]]
    payment = read_payment(ANSWER | {"transactions": transactions}, order=HONEST.order)
    payment.transactions[0].value["hex"] = "0xde0b6b3a7640000"
    return payment


CHANGED: dict[str, Callable[[], Payment]] = {
    "transactions": lambda: HONEST.model_copy(
        update={"transactions": GOOD["coin"].transactions * 2}
    ),
    "request id": lambda: HONEST.model_copy(update={"request_id": "other"}),
    "value": with_changed_value,
}
"""Ways to change a payment behind its response."""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *((make, "made without the whole response") for make in INCOMPLETE.values()),
        *(
            (make, "its fields are not those of its response")
            for make in CHANGED.values()
        ),
    ],
    ids=[*INCOMPLETE, *CHANGED],
)
def test_any_other_payment_is_refused(
    make: Callable[[], Payment], words: str, tmp_path: Path
) -> None:
    """Nothing judges, saves or hands over a payment of which a part is not known."""
    payment, path = make(), tmp_path / "file"
    for use in (
        lambda: check_payment(payment, order=HONEST.order),
        lambda: check_payments([payment]),
        lambda: payment.card(order=HONEST.order),
        lambda: payment.to_safe(path, safe=SAFE, order=HONEST.order, anyway=True),
        lambda: payment.save(path),
    ):
        with pytest.raises(InvalidInput, match=rf"{words}.*read_payment\(\)"):
            use()

    assert not path.exists()
    assert words in payment._repr_html_()


def test_the_caller_cannot_change_what_was_read() -> None:
    """The response that a payment was made of may be changed afterwards."""
    answer = copy.deepcopy(ANSWER)
    made = [read_payment(answer, order=HONEST.order), Payment.model_validate(answer)]
    answer["transactions"][0]["to"] = SAFE
    answer["permit"] = PERMIT

    assert [ANSWER, ANSWER] == [each.to_dict(reveal=True) for each in made]
    for payment in made:
        assert "ok" == check_payment(payment, order=HONEST.order).verdict


def test_names_that_a_text_has_twice_are_noted() -> None:
    """Programs read them differently, so that the check has to know of them."""
    text = json.dumps(ANSWER)[:-1] + ', "transactions": []}'

    assert ("transactions",) == Payment.model_validate_json(text).repeated
