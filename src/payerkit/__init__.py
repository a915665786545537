"""payerkit: register payers, store their accounts and check payments on Request
Network's payer API.

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
payerkit.reference (rules, statuses, currencies), .client, .errors, .findings,
.models, .payments, .money, .tables and .runs. In a terminal: payerkit --help.
"""

# The public names are listed in `__init__.pyi`, those of a place such as
# `payerkit.errors` in its own. Each is loaded on first use, so that `import payerkit`
# stays fast.
#
# The order of the modules, from the ground up, is in `tests/test_architecture.py`.
#
# The sandbox is a package of its own, payerkit_sandbox.

from lazy_loader import attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
