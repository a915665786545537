"""The errors: one family, always readable, what to do next, safe to hand on."""

from __future__ import annotations

import copy
import pickle

import pytest

from payerkit import InvalidInput, PayerkitError, errors
from payerkit.errors import FieldProblem, RateLimited

FAMILY = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, PayerkitError)
]


@pytest.mark.parametrize("kind", FAMILY, ids=lambda kind: kind.__name__)
def test_every_field_can_be_read(kind: type[PayerkitError]) -> None:
    """Every error answers for every fact, whatever it was made with."""
    error = kind("Something happened.")

    assert ("Something happened.", (), None, None, None) == (
        error.message,
        error.fields,
        error.status_code,
        error.retry_after,
        error.request,
    )


@pytest.mark.parametrize("kind", FAMILY, ids=lambda kind: kind.__name__)
def test_survives_being_handed_on(kind: type[PayerkitError]) -> None:
    """An error comes out of pickle and copy as it went in, as it does between
    processes.
    """
    error = kind(
        "It failed.",
        fields=(FieldProblem("city", "city", "Empty.", "empty"),),
        status_code=400,
    )

    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - made in the line itself
        assert (type(error), str(error), error.status_code) == (
            type(twin),
            str(twin),
            twin.status_code,
        )


def test_text_says_what_is_wrong_and_what_to_do() -> None:
    """The text has the message, a line for each member at fault, and the next step."""
    error = RateLimited(
        "Too many.", fields=(FieldProblem("city", "city", "Empty.", "empty"),)
    )

    assert (
        str(error)
        == "Too many.\n  city: Empty.\nNothing was changed. Try again after the wait."
    )


def test_invalid_input_is_a_value_error() -> None:
    """Bad input is what Python calls a ValueError, too."""
    assert issubclass(InvalidInput, ValueError)
