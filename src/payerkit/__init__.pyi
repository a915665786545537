# The public names, listed once: for type checkers and editors, and loaded lazily by
# `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from .connection import (
    connect as connect,
    sandbox as sandbox,
)
from .sample_payments import samples as samples
from .endpoints import (
    create_payer as create_payer,
    get_payer_status as get_payer_status,
    update_agreement as update_agreement,
    create_payment_detail as create_payment_detail,
    list_payment_details as list_payment_details,
    initiate_payment as initiate_payment,
)
from .money.payout_requests import (
    create_request as create_request,
    request_payment as request_payment,
    get_request as get_request,
)
from .money.lists import list_requests as list_requests
from .money.lists import list_payments as list_payments
from .models import (
    Payer as Payer,
    BankDetails as BankDetails,
    PaymentOrder as PaymentOrder,
    PayoutOrder as PayoutOrder,
)
from .payments.payment_policy import PaymentPolicy as PaymentPolicy
from .checks.records import (
    check_payer as check_payer,
    check_bank_details as check_bank_details,
    check_payers as check_payers,
    check_all_bank_details as check_all_bank_details,
)
from .payments.check import check_payment as check_payment
from .payments.check_many import check_payments as check_payments
from .payments.decode import decode_transactions as decode_transactions
from .models.payments import read_payment as read_payment
from .tables.read import (
    read_payers as read_payers,
    read_bank_details as read_bank_details,
)
from .runs.plan import plan_onboarding as plan_onboarding
from .runs.run import (
    onboard as onboard,
    add_bank_details as add_bank_details,
)
from .money.wait import wait_for as wait_for
from .money.statuses import payer_statuses as payer_statuses
from .explanations import explain as explain
from .money.reconcile import reconcile as reconcile
from .money.order_trace import trace as trace
from .money.events import read_events as read_events
from .forms.payer import PayerForm as PayerForm
from .forms.bank_details import BankDetailsForm as BankDetailsForm
from .forms.payment import PaymentForm as PaymentForm
from .forms.walkthrough import Walkthrough as Walkthrough
from .errors import (
    PayerkitError as PayerkitError,
    InvalidInput as InvalidInput,
    Refused as Refused,
    UnknownOutcome as UnknownOutcome,
)

# The places of all other names.
from . import (
    client as client,
    errors as errors,
    findings as findings,
    models as models,
    money as money,
    payments as payments,
    reference as reference,
    runs as runs,
    tables as tables,
)

__version__: str
__all__: list[str]  # noqa: PYI035 - made from these names
