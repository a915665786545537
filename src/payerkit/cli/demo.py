"""`payerkit demo`: the journey of the quickstart notebook, in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import payerkit

# The published examples of the service; nobody real.
PAYER = {
    "client_user_id": "user-123",
    "email": "john.doe@example.com",
    "first_name": "John",
    "last_name": "Doe",
    "beneficiary_type": "individual",
    "date_of_birth": "1985-12-12",
    "address_line1": "123 Main Street",
    "city": "New York",
    "state": "NY",
    "postcode": "10001",
    "country": "US",
    "nationality": "US",
    "phone": "+12125551234",
    "ssn": "123-45-6789",
}
BANK_DETAILS = {
    "bank_name": "Chase",
    "account_name": "Gordon's Chase Business Account",
    "account_number": "253009233489",
    "routing_number": "026013356",
    "beneficiary_type": "business",
    "currency": "usd",
    "address_line1": "24 Theatre St.",
    "city": "Paramount",
    "state": "CA",
    "postal_code": "90723",
    "country": "US",
    "date_of_birth": "1985-12-12",
    "rails": "local",
}
ORDER = {
    "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "amount": "10",
    "invoice_currency": "USD",
    "payment_currency": "fUSDC-sepolia",
}
_SHOWN = ["bank_name", "account_name", "account_number", "currency", "rails", "status"]


def run(say: Callable[[str], Any] = print) -> None:
    """Walk the whole journey against a sandbox of its own, and say what an analyst would see."""
    with payerkit.sandbox(seed="demo") as client:
        for step in (_register, _agree, _add_account, _pay):
            title, seen = step(client)
            say(f"\n{title}\n" + "\n".join(f"    {line}" for line in seen))
    say("\nNothing left this machine. `payerkit lab` opens the same journey as a notebook.")


def _register(client: payerkit.Client) -> tuple[str, list[str]]:
    payer = payerkit.Payer.model_validate(PAYER)
    status = payerkit.create_payer(client, payer)
    pages = "the payer opens status.agreement_url to sign and status.kyc_url to prove who they are"
    return "1. create_payer(client, payer): who pays", [repr(payer), repr(status), pages]


def _agree(client: payerkit.Client) -> tuple[str, list[str]]:
    update = payerkit.update_agreement(client, PAYER["client_user_id"])
    status = payerkit.get_payer_status(client, PAYER["client_user_id"])
    return "2. update_agreement(client, id), get_payer_status(client, id): signed", [repr(update), repr(status)]


def _add_account(client: payerkit.Client) -> tuple[str, list[str]]:
    detail = payerkit.create_payment_detail(client, PAYER["client_user_id"], BANK_DETAILS)
    accounts = payerkit.list_payment_details(client, PAYER["client_user_id"])
    table = accounts[_SHOWN].to_string(index=False).splitlines()
    return "3. create_payment_detail(...), list_payment_details(...): where the money goes", [repr(detail), "", *table]


def _pay(client: payerkit.Client) -> tuple[str, list[str]]:
    payment = payerkit.initiate_payment(client, ORDER)
    steps = [f"sign {place}: {step!r}" for place, step in enumerate(payment.transactions, 1)]
    title = "4. initiate_payment(client, order): what a wallet has to sign, nothing has moved yet"
    return title, [f"reference {payment.payment_reference}", *steps]
