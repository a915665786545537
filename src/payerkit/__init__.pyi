# The public names for type checkers and editors; __init__.py loads the same ones lazily, and a test compares the two.
# ruff: noqa: I001 - one import a module, not one a name
from payerkit.bulk.check_payments import check_payments as check_payments
from payerkit.bulk.list_many import list_many as list_many
from payerkit.bulk.payer_statuses import payer_statuses as payer_statuses
from payerkit.bulk.plan import (
    Plan as Plan,
    plan_onboarding as plan_onboarding,
)
from payerkit.tables.mapping import (
    Mapping as Mapping,
    propose_mapping as propose_mapping,
)
from payerkit.tables.read import (
    read_bank_details as read_bank_details,
    read_payers as read_payers,
)
from payerkit.bulk.report import Report as Report
from payerkit.bulk.run import (
    add_bank_details as add_bank_details,
    onboard as onboard,
)
from payerkit.tables.source_table import SourceTable as SourceTable
from payerkit.tables.template import template as template
from payerkit.bulk.safe_files import write_safe_files as write_safe_files
from payerkit.bulk.verify import verify_onboarding as verify_onboarding
from payerkit.bulk.wait_for import (
    WaitReport as WaitReport,
    wait_for as wait_for,
)
from payerkit.checks.catalogue import rules as rules
from payerkit.checks.many import (
    check_all_bank_details as check_all_bank_details,
    check_payers as check_payers,
)
from payerkit.checks.one import (
    check_bank_details as check_bank_details,
    check_payer as check_payer,
)
from payerkit.client import (
    Client as Client,
    Timeout as Timeout,
)
from payerkit.connection import (
    SandboxClient as SandboxClient,
    connect as connect,
    sandbox as sandbox,
)
from payerkit.endpoints import (
    create_payer as create_payer,
    create_payment_detail as create_payment_detail,
    get_payer_status as get_payer_status,
    initiate_payment as initiate_payment,
    list_payment_details as list_payment_details,
    update_agreement as update_agreement,
)
from payerkit.errors import (
    EventsWarning as EventsWarning,
    FieldProblem as FieldProblem,
    InterruptedCall as InterruptedCall,
    InterruptedRun as InterruptedRun,
    InvalidInput as InvalidInput,
    InvalidSignature as InvalidSignature,
    NotFound as NotFound,
    NotSent as NotSent,
    PayeeWarning as PayeeWarning,
    PayerkitError as PayerkitError,
    PaymentListWarning as PaymentListWarning,
    PayoutWarning as PayoutWarning,
    RateLimited as RateLimited,
    RealMoneyWarning as RealMoneyWarning,
    Refused as Refused,
    ServiceError as ServiceError,
    UnknownOutcome as UnknownOutcome,
    UnreadableAnswer as UnreadableAnswer,
    WrongKey as WrongKey,
)
from payerkit.events.event import Event as Event
from payerkit.events.event_frame import read_events as read_events
from payerkit.events.signature import verify_event as verify_event
from payerkit.explanations import (
    Explanation as Explanation,
    explain as explain,
    statuses as statuses,
)
from payerkit.findings import (
    Finding as Finding,
    Findings as Findings,
    PaymentFindings as PaymentFindings,
)
from payerkit.forms import (
    BankDetailsForm as BankDetailsForm,
    PayerForm as PayerForm,
    PaymentForm as PaymentForm,
    Walkthrough as Walkthrough,
)
from payerkit.forms.mapping_form import MappingForm as MappingForm
from payerkit.models import (
    AgreementUpdate as AgreementUpdate,
    BankDetails as BankDetails,
    DeclaredFee as DeclaredFee,
    Payer as Payer,
    PayerStatus as PayerStatus,
    Payment as Payment,
    PaymentDetail as PaymentDetail,
    PaymentMetadata as PaymentMetadata,
    PaymentOrder as PaymentOrder,
    PaymentRequest as PaymentRequest,
    Payout as Payout,
    PayoutOrder as PayoutOrder,
    RequestStatus as RequestStatus,
    Transaction as Transaction,
)
from payerkit.models.files import read_payment as read_payment
from payerkit.payouts.payment_list import list_payments as list_payments
from payerkit.payouts.reconciliation import reconcile as reconcile
from payerkit.payouts.request_calls import (
    create_request as create_request,
    get_request as get_request,
    request_payment as request_payment,
)
from payerkit.policy.address_book import (
    AddressBook as AddressBook,
    KnownAddress as KnownAddress,
)
from payerkit.signing.card import PaymentCard as PaymentCard
from payerkit.onchain.currency_table import currencies as currencies
from payerkit.review.decoded_frames import decode_calldata as decode_calldata
from payerkit.review.decoded_frames import decode_transactions as decode_transactions
from payerkit.policy.payment_policy import (
    AcceptedAllowance as AcceptedAllowance,
    AgreedFee as AgreedFee,
    PaymentPolicy as PaymentPolicy,
)
from payerkit.review.check_order import check_payment_order as check_payment_order
from payerkit.review.check_payment import check_payment as check_payment
from payerkit.signing.safe_hashes import SafeHashes as SafeHashes
from payerkit.retry import Retries as Retries
from payerkit.sample_payments import samples as samples
from payerkit.sandbox_controls import SandboxControls as SandboxControls

__version__: str
__all__: list[str]  # noqa: PYI035 - made from the table of names in __init__.py
