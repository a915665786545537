"""payerkit: onboard payers, store their bank details and check payments on Request Network's payer API.

All public names are listed here once. Each is loaded on first use, so that `import payerkit` stays fast.

The modules, from the ground up; each imports only from its own line and the lines above it (a test holds this):

    errors, html, wording, disk     what callers may catch; HTML fragments; words for counts; waiting for the disk
    wire, findings, retry           names and ids on the wire; results of checks; what may be repeated, after how long
    explanations                    what each status means, and whose move it is
    checks, onchain                 check records before they are sent; decode calldata; tables of contracts and tokens
    policy                          what a user agreed to once: fees, allowances, known addresses
    review                          compare a payment with its order
    signing                         what a signer sees and hands over: cards, digests, files for a Safe
    masking                         secrets that show only their last characters
    models                          the objects that are sent and returned
    client, frames                  HTTP, and what each failure proves; DataFrames of records
    events                          what the service reports by itself, verified and read; a receiver
    sample_payments                 example payments, an honest one and bad ones
    widgets                         what every widget is made of: one model, its code sent once a page
    tables                          spreadsheets and text files, as people have them, to tables named by field
    endpoints, sandbox_controls     the calls of the API; the controls of a sandbox
    sandbox_events                  what a sandbox fires, as a receiver would have stored it
    payouts                         payments into stored bank accounts, beyond the specification; reading them back
    bulk, forms                     runs over many rows; forms for notebooks
    profiles                        services under names of the user's, and their keys
    connection, service             connect() and sandbox(); the sandbox, which shares no model with the client
    cli                             the command line
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULES = {
    "AcceptedAllowance": "policy.payment_policy",
    "AddressBook": "policy.address_book",
    "AgreedFee": "policy.payment_policy",
    "AgreementUpdate": "models",
    "BankDetails": "models",
    "BankDetailsForm": "forms",
    "Client": "client",
    "DeclaredFee": "models",
    "Event": "events.event",
    "EventsWarning": "errors",
    "Explanation": "explanations",
    "FieldProblem": "errors",
    "Finding": "findings",
    "Findings": "findings",
    "InterruptedCall": "errors",
    "InterruptedRun": "errors",
    "InvalidInput": "errors",
    "InvalidSignature": "errors",
    "KnownAddress": "policy.address_book",
    "Mapping": "tables.mapping",
    "MappingForm": "forms.mapping_form",
    "NotFound": "errors",
    "NotSent": "errors",
    "PayeeWarning": "errors",
    "Payer": "models",
    "PayerForm": "forms",
    "PayerStatus": "models",
    "PayerkitError": "errors",
    "Payment": "models",
    "PaymentCard": "signing.card",
    "PaymentDetail": "models",
    "PaymentFindings": "findings",
    "PaymentForm": "forms",
    "PaymentListWarning": "errors",
    "PaymentMetadata": "models",
    "PaymentOrder": "models",
    "PaymentPolicy": "policy.payment_policy",
    "PaymentRequest": "models",
    "Payout": "models",
    "PayoutOrder": "models",
    "PayoutWarning": "errors",
    "Plan": "bulk.plan",
    "RateLimited": "errors",
    "RealMoneyWarning": "errors",
    "Refused": "errors",
    "Report": "bulk.report",
    "RequestStatus": "models",
    "Retries": "retry",
    "SafeHashes": "signing.safe_hashes",
    "SandboxClient": "connection",
    "SandboxControls": "sandbox_controls",
    "ServiceError": "errors",
    "SourceTable": "tables.source_table",
    "Timeout": "client",
    "Transaction": "models",
    "UnknownOutcome": "errors",
    "UnreadableAnswer": "errors",
    "WaitReport": "bulk.wait_for",
    "Walkthrough": "forms",
    "WrongKey": "errors",
    "add_bank_details": "bulk.run",
    "check_all_bank_details": "checks.many",
    "check_bank_details": "checks.one",
    "check_payer": "checks.one",
    "check_payers": "checks.many",
    "check_payment": "review.check_payment",
    "check_payment_order": "review.check_order",
    "check_payments": "bulk.check_payments",
    "connect": "connection",
    "create_payer": "endpoints",
    "create_payment_detail": "endpoints",
    "create_request": "payouts.request_calls",
    "currencies": "onchain.currency_table",
    "decode_calldata": "review.decoded_frames",
    "decode_transactions": "review.decoded_frames",
    "explain": "explanations",
    "get_payer_status": "endpoints",
    "get_request": "payouts.request_calls",
    "initiate_payment": "endpoints",
    "list_many": "bulk.list_many",
    "list_payment_details": "endpoints",
    "list_payments": "payouts.payment_list",
    "onboard": "bulk.run",
    "payer_statuses": "bulk.payer_statuses",
    "plan_onboarding": "bulk.plan",
    "propose_mapping": "tables.mapping",
    "read_bank_details": "tables.read",
    "read_events": "events.event_frame",
    "read_payers": "tables.read",
    "read_payment": "models.files",
    "reconcile": "payouts.reconciliation",
    "request_payment": "payouts.request_calls",
    "rules": "checks.catalogue",
    "samples": "sample_payments",
    "sandbox": "connection",
    "statuses": "explanations",
    "template": "tables.template",
    "update_agreement": "endpoints",
    "verify_event": "events.signature",
    "verify_onboarding": "bulk.verify",
    "wait_for": "bulk.wait_for",
    "write_safe_files": "bulk.safe_files",
}
"""Each public name and the module that defines it. `__init__.pyi` lists the same for type checkers and editors."""

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
