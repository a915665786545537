# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from payerkit.connection import (
    connect as connect,
    sandbox as sandbox,
)
from payerkit.sample_payments import samples as samples
from payerkit.endpoints import (
    create_payer as create_payer,
    get_payer_status as get_payer_status,
    update_agreement as update_agreement,
    create_payment_detail as create_payment_detail,
    list_payment_details as list_payment_details,
    initiate_payment as initiate_payment,
)
from payerkit.payouts.request_calls import (
    create_request as create_request,
    request_payment as request_payment,
    get_request as get_request,
)
from payerkit.payouts.lists import list_requests as list_requests
from payerkit.payouts.lists import list_payments as list_payments
from payerkit.models import (
    Payer as Payer,
    BankDetails as BankDetails,
    PaymentOrder as PaymentOrder,
    PayoutOrder as PayoutOrder,
)
from payerkit.policy.payment_policy import PaymentPolicy as PaymentPolicy
from payerkit.checks.records import (
    check_payer as check_payer,
    check_bank_details as check_bank_details,
    check_payers as check_payers,
    check_all_bank_details as check_all_bank_details,
)
from payerkit.payment.check import check_payment as check_payment
from payerkit.payment.check_many import check_payments as check_payments
from payerkit.payment.decode import decode_transactions as decode_transactions
from payerkit.models.payments import read_payment as read_payment
from payerkit.tables.read import (
    read_payers as read_payers,
    read_bank_details as read_bank_details,
)
from payerkit.onboarding.plan import plan_onboarding as plan_onboarding
from payerkit.onboarding.run import (
    onboard as onboard,
    add_bank_details as add_bank_details,
)
from payerkit.statuses.wait_for import wait_for as wait_for
from payerkit.statuses.statuses import payer_statuses as payer_statuses
from payerkit.explanations import explain as explain
from payerkit.payouts.reconcile_orders import reconcile as reconcile
from payerkit.payouts.trace_order import trace as trace
from payerkit.events.read_events import read_events as read_events
from payerkit.forms.payer import PayerForm as PayerForm
from payerkit.forms.bank_details import BankDetailsForm as BankDetailsForm
from payerkit.forms.payment import PaymentForm as PaymentForm
from payerkit.forms.walkthrough import Walkthrough as Walkthrough
from payerkit.errors import (
    PayerkitError as PayerkitError,
    InvalidInput as InvalidInput,
    Refused as Refused,
    UnknownOutcome as UnknownOutcome,
)

# The places of all other names.
from payerkit import (
    client as client,
    errors as errors,
    events as events,
    findings as findings,
    forms as forms,
    models as models,
    onboarding as onboarding,
    payment as payment,
    payouts as payouts,
    policy as policy,
    reference as reference,
    signing as signing,
    statuses as statuses,
    tables as tables,
)

__version__: str
__all__: list[str]  # noqa: PYI035 - made from these names
