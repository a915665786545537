"""`payerkit demo`: the steps of the quickstart notebook, in a terminal."""

from __future__ import annotations

from argparse import Namespace

import payerkit
from payerkit.checks import schema


def _example(request: schema.Schema, *optional: str) -> dict[str, str]:
    """Return the example of each required field and of these optional ones: the API's own, no real people."""
    fields = request.fields.items()
    return {name: field.example for name, field in fields if field.required or name in optional}


PAYER = _example(schema.PAYER)
BANK_DETAILS = _example(schema.BANK_DETAILS, "account_number", "routing_number", "rails", "state")
ORDER = _example(schema.PAYMENT_ORDER) | {"payment_currency": "fUSDC-sepolia"}
PAYOUT = _example(schema.PAYOUT_ORDER, "reference")
_COLUMNS = ["bank_name", "account_name", "account_number", "currency", "rails", "status"]


def run(_: Namespace) -> int:
    """Make every call against a sandbox, and print what a notebook would show."""
    with payerkit.sandbox(seed="demo", clock="manual") as client:
        payer = payerkit.Payer.model_validate(PAYER)
        status = payerkit.create_payer(client, payer)
        pages = "The payer signs at status.agreement_url and proves their identity at status.kyc_url."
        _print_step("1. create_payer(client, payer): register the payer", repr(payer), repr(status), pages)

        update = payerkit.update_agreement(client, payer.client_user_id)
        status = payerkit.get_payer_status(client, payer.client_user_id)
        title = "2. update_agreement(client, id), get_payer_status(client, id): record the signature"
        _print_step(title, repr(update), repr(status), status.explain().next_step)

        detail = payerkit.create_payment_detail(client, payer.client_user_id, BANK_DETAILS)
        client.sandbox.advance(seconds=5)  # nobody waits for a demo
        accounts = payerkit.list_payment_details(client, payer.client_user_id)
        calls = "create_payment_detail(...), list_payment_details(...)"
        title = f"3. {calls}: store the bank account that receives the money"
        _print_step(title, repr(detail), "", *accounts[_COLUMNS].to_string(index=False).splitlines())

        payment = payerkit.initiate_payment(client, ORDER)
        signed = [f"sign {number}: {transaction!r}" for number, transaction in enumerate(payment.transactions, 1)]
        title = "4. initiate_payment(client, order): get the transactions to sign, here to pay a wallet"
        card = payment.card()
        found = str(card.findings.warnings).splitlines()
        _print_step(title, f"reference {payment.payment_reference}", *signed, "payment.card()", card.sentence, *found)

        _pay_account(client, payer.client_user_id, detail.id)
    print("\nNothing left this machine. 'payerkit lab' opens the same steps as a notebook.")
    return 0


def _pay_account(client: payerkit.client.SandboxClient, client_user_id: str, payment_details_id: str | None) -> None:
    """Pay the stored account, and print how the money reaches the bank."""
    client.sandbox.complete_kyc(client_user_id)
    request = payerkit.create_request(client, PAYOUT)
    payment = payerkit.request_payment(
        client, request, client_user_id=client_user_id, payment_details_id=str(payment_details_id)
    )
    title = "5. create_request(...), request_payment(...): pay the stored account; beyond the specification"
    sentence = payment.card(policy=client.sandbox.policy()).sentence
    paid = f"signed and sent: {client.sandbox.pay(payment)}"
    client.sandbox.advance(minutes=1)
    status = payerkit.get_request(client, str(request.request_id))
    events = payerkit.read_events(client.sandbox.events())
    steps = ", ".join(events["sub_status"].dropna())
    seen = f"paid on the blockchain: {status.has_been_paid}"
    _print_step(title, sentence, paid, seen, f"what events say of the payout: {steps}")


def _print_step(title: str, *lines: str) -> None:
    print(f"\n{title}", *(f"    {line}" for line in lines), sep="\n")
