"""`payerkit demo`: the steps of the quickstart notebook, in a terminal."""

from __future__ import annotations

from argparse import Namespace

import payerkit

# The examples of the API's documentation; no real people.
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
_COLUMNS = ["bank_name", "account_name", "account_number", "currency", "rails", "status"]


def run(_: Namespace) -> int:
    """Make every call against a sandbox, and print what a notebook would show."""
    with payerkit.sandbox(seed="demo") as client:
        for step in (_register, _sign, _add_account, _pay):
            title, shown = step(client)
            print(f"\n{title}\n" + "\n".join(f"    {line}" for line in shown))
    print("\nNothing left this machine. 'payerkit lab' opens the same steps as a notebook.")
    return 0


def _register(client: payerkit.Client) -> tuple[str, list[str]]:
    payer = payerkit.Payer.model_validate(PAYER)
    status = payerkit.create_payer(client, payer)
    pages = "The payer signs at status.agreement_url and proves their identity at status.kyc_url."
    return "1. create_payer(client, payer): register the payer", [repr(payer), repr(status), pages]


def _sign(client: payerkit.Client) -> tuple[str, list[str]]:
    update = payerkit.update_agreement(client, PAYER["client_user_id"])
    status = payerkit.get_payer_status(client, PAYER["client_user_id"])
    title = "2. update_agreement(client, id), get_payer_status(client, id): record the signature"
    return title, [repr(update), repr(status)]


def _add_account(client: payerkit.Client) -> tuple[str, list[str]]:
    detail = payerkit.create_payment_detail(client, PAYER["client_user_id"], BANK_DETAILS)
    accounts = payerkit.list_payment_details(client, PAYER["client_user_id"])
    title = "3. create_payment_detail(...), list_payment_details(...): store the bank account that receives the money"
    return title, [repr(detail), "", *accounts[_COLUMNS].to_string(index=False).splitlines()]


def _pay(client: payerkit.Client) -> tuple[str, list[str]]:
    payment = payerkit.initiate_payment(client, ORDER)
    signed = [f"sign {number}: {transaction!r}" for number, transaction in enumerate(payment.transactions, 1)]
    title = "4. initiate_payment(client, order): get the transactions to sign; no money has moved yet"
    return title, [f"reference {payment.payment_reference}", *signed]
