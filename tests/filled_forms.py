"""Forms that are filled in, and services that behave as told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from example_addresses import PAYEE
from far_end import Behaviour, FarEnd
from payerkit import BankDetailsForm, PayerForm, PaymentForm
from payerkit.client import Client
from payerkit.forms.form import Form
from published import BANK_DETAILS, PAYER

ORDER = {
    "payee": PAYEE,
    "amount": "10",
    "invoice_currency": "fUSDC-sepolia",
    "payment_currency": "fUSDC-sepolia",
}
VALUES = {PayerForm: PAYER, BankDetailsForm: BANK_DETAILS, PaymentForm: ORDER}
"""What the forms are filled in with."""


def filled(client: Client, kind: type[Any] = PayerForm, **values: Any) -> Any:
    """Return a form that is filled in, with these values in place of others."""
    form = kind(client)
    form.fill(VALUES[kind], **values)
    if kind is BankDetailsForm:
        form.client_user_id = "user-123"
    return form


def missing(form: Form) -> set[str]:
    """Return the required fields that are empty."""
    return {each.field for each in form.findings if each.code == "required"}


Started = tuple[Any, FarEnd]
"""A form that is filled in, and the far end that it sends to."""


def start_form(
    stack: ExitStack,
    connect: Callable[..., Client],
    *behaviours: Behaviour,
    kind: type[Any] = BankDetailsForm,
    **options: Any,
) -> Started:
    """Start a far end that behaves as told, and fill in a form of it. options: those of
    its client.
    """
    far_end = stack.enter_context(FarEnd(behaviours))
    return filled(connect(far_end.url, **options), kind), far_end
