"""Onboard payers and bank accounts on a crypto-to-bank payment service, and see what a payment does before signing.

Everything public is here; a name is loaded when it is first used, so that importing payerkit costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from payerkit.bulk.list_many import list_many
    from payerkit.bulk.plan import Plan, plan_onboarding
    from payerkit.bulk.read import read_bank_details, read_payers
    from payerkit.bulk.report import Report
    from payerkit.bulk.run import add_bank_details, onboard
    from payerkit.checks.many import check_all_bank_details, check_payers
    from payerkit.checks.one import check_bank_details, check_payer
    from payerkit.client import Client, Timeout
    from payerkit.connection import SandboxClient, connect, sandbox
    from payerkit.endpoints import (
        create_payer,
        create_payment_detail,
        get_payer_status,
        initiate_payment,
        list_payment_details,
        update_agreement,
    )
    from payerkit.errors import (
        FieldProblem,
        InterruptedCall,
        InterruptedRun,
        InvalidInput,
        NotFound,
        NotSent,
        PayerkitError,
        RateLimited,
        Refused,
        ServiceError,
        UnknownOutcome,
        UnreadableAnswer,
        WrongKey,
    )
    from payerkit.findings import Finding, Findings, PaymentFindings
    from payerkit.forms import BankDetailsForm, PayerForm, PaymentForm, Walkthrough
    from payerkit.models import (
        AgreementUpdate,
        BankDetails,
        Payer,
        PayerStatus,
        Payment,
        PaymentDetail,
        PaymentMetadata,
        PaymentOrder,
        Transaction,
    )
    from payerkit.models.files import read_payment
    from payerkit.onchain.decode_many import decode_calldata
    from payerkit.onchain.frames import decode_transactions
    from payerkit.onchain.review import check_payment
    from payerkit.retry import Retries
    from payerkit.sandbox_controls import SandboxControls

__version__ = "0.1.0"

__all__ = [
    "AgreementUpdate",
    "BankDetails",
    "BankDetailsForm",
    "Client",
    "FieldProblem",
    "Finding",
    "Findings",
    "InterruptedCall",
    "InterruptedRun",
    "InvalidInput",
    "NotFound",
    "NotSent",
    "Payer",
    "PayerForm",
    "PayerStatus",
    "PayerkitError",
    "Payment",
    "PaymentDetail",
    "PaymentFindings",
    "PaymentForm",
    "PaymentMetadata",
    "PaymentOrder",
    "Plan",
    "RateLimited",
    "Refused",
    "Report",
    "Retries",
    "SandboxClient",
    "SandboxControls",
    "ServiceError",
    "Timeout",
    "Transaction",
    "UnknownOutcome",
    "UnreadableAnswer",
    "Walkthrough",
    "WrongKey",
    "add_bank_details",
    "check_all_bank_details",
    "check_bank_details",
    "check_payer",
    "check_payers",
    "check_payment",
    "connect",
    "create_payer",
    "create_payment_detail",
    "decode_calldata",
    "decode_transactions",
    "get_payer_status",
    "initiate_payment",
    "list_many",
    "list_payment_details",
    "onboard",
    "plan_onboarding",
    "read_bank_details",
    "read_payers",
    "read_payment",
    "sandbox",
    "update_agreement",
]

_HOMES = {
    "bulk.list_many": ("list_many",),
    "bulk.plan": ("Plan", "plan_onboarding"),
    "bulk.read": ("read_bank_details", "read_payers"),
    "bulk.report": ("Report",),
    "bulk.run": ("add_bank_details", "onboard"),
    "checks.one": ("check_bank_details", "check_payer"),
    "checks.many": ("check_all_bank_details", "check_payers"),
    "client": ("Client", "Timeout"),
    "connection": ("SandboxClient", "connect", "sandbox"),
    "sandbox_controls": ("SandboxControls",),
    "endpoints": (
        "create_payer",
        "create_payment_detail",
        "get_payer_status",
        "initiate_payment",
        "list_payment_details",
        "update_agreement",
    ),
    "errors": (
        "FieldProblem",
        "InterruptedCall",
        "InterruptedRun",
        "InvalidInput",
        "NotFound",
        "NotSent",
        "PayerkitError",
        "RateLimited",
        "Refused",
        "ServiceError",
        "UnknownOutcome",
        "UnreadableAnswer",
        "WrongKey",
    ),
    "findings": ("Finding", "Findings", "PaymentFindings"),
    "forms": ("BankDetailsForm", "PayerForm", "PaymentForm", "Walkthrough"),
    "models": (
        "AgreementUpdate",
        "BankDetails",
        "Payer",
        "PayerStatus",
        "Payment",
        "PaymentDetail",
        "PaymentMetadata",
        "PaymentOrder",
        "Transaction",
    ),
    "onchain.decode_many": ("decode_calldata",),
    "onchain.frames": ("decode_transactions",),
    "onchain.review": ("check_payment",),
    "retry": ("Retries",),
    "models.files": ("read_payment",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
