"""payerkit: register payers, store their accounts and check payments on Request Network's payer API.

    client = payerkit.sandbox()                to practise: nothing is real
    client = payerkit.connect("https://...")   a real service

In forms              PayerForm, BankDetailsForm, PaymentForm, Walkthrough
Register a payer      check_payer, create_payer, get_payer_status,
                      update_agreement
Add an account        check_bank_details, create_payment_detail,
                      list_payment_details
Check a payment       samples, read_payment, check_payment, check_payments,
                      PaymentPolicy, decode_transactions
Pay a wallet          initiate_payment
Pay into an account   create_request, request_payment, get_request
Send a table          read_payers, check_payers, plan_onboarding, onboard,
                      read_bank_details, check_all_bank_details,
                      add_bank_details
Who is stuck?         payer_statuses, wait_for, explain
Where is my money?    trace, reconcile, list_requests, list_payments,
                      read_events
What they take        Payer, BankDetails, PaymentOrder, PayoutOrder
What goes wrong       PayerkitError: InvalidInput (nothing was sent), Refused,
                      UnknownOutcome (find out before you repeat it)

help(payerkit.create_payer) explains one of them, with an example. More is in
payerkit.reference (rules, statuses, currencies), .tables, .policy, .signing,
.errors, .findings, .models, .client, .events, .forms, .onboarding, .payment,
.payouts and .statuses. In a terminal: payerkit --help.
"""

# The public names are listed in `__init__.pyi`, those of a place such as `payerkit.errors` in its own. Each is loaded
# on first use, so that `import payerkit` stays fast.
#
# The modules, from the ground up; each imports only from its own line and the lines above it (a test holds this):
#
#     errors, html, pictures, wording what callers may catch; HTML fragments; images; words for counts
#     disk, frames                    waiting for the disk; DataFrames with fixed columns
#     wire, findings, reasons         names and ids on the wire; results of checks; why a call or a row ended so
#     explanations                    what each status means, and whose move it is
#     checks, onchain                 check records before they are sent; calldata; tables of contracts and tokens
#     policy                          what a user agreed to once: fees, allowances, known addresses
#     payment                         compare payments with their orders
#     signing                         what a signer sees and hands over: cards, digests, files for a Safe
#     masking                         secrets that show only their last characters
#     models                          the objects that are sent and returned
#     client                          HTTP, and what each failure proves
#     events                          what the service reports by itself, verified and read; a receiver
#     sample_payments                 example payments, an honest one and bad ones
#     widgets                         what every widget is made of: one model, its code sent once a page
#     tables                          spreadsheets and text files, as people have them, to tables named by field
#     endpoints, sandbox_controls     the calls of the API; the controls of a sandbox
#     payouts                         payments into stored bank accounts, beyond the specification; reading them back
#     onboarding, forms               runs over many rows; forms for notebooks
#     statuses, reference             reading many payers; a place of public names
#     connection, service             connect() and sandbox(); the sandbox, which shares no model with the client
#     cli                             the command line

from payerkit._lazy import load_lazily

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
