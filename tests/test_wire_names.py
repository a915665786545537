"""Field names here and on the wire convert both ways."""

from __future__ import annotations

import pytest

from payerkit import BankDetails, Payer
from payerkit.wire import our_name, wire_name
from published import BANK_DETAILS, PAYER


@pytest.mark.parametrize("model", [Payer, BankDetails])
def test_names_go_both_ways(model: type[Payer | BankDetails]) -> None:
    """Every field's wire name converts back to our name."""
    names = list(model.model_fields)

    assert names == [our_name(wire_name(name)) for name in names]


@pytest.mark.parametrize(
    ("wire", "ours"), [("requestID", "request_id"), ("addressLine1", "address_line1"), ("iban", "iban"), ("", "")]
)
def test_foreign_names_are_read(wire: str, ours: str) -> None:
    """Names that only a service has become names as ours are."""
    assert ours == our_name(wire)


def test_published_names_are_made() -> None:
    """Our names make the names that were published."""
    published = set(PAYER) | set(BANK_DETAILS)

    assert published == {wire_name(our_name(name)) for name in published}
