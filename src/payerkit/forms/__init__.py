"""Forms for notebooks. Values stay in the kernel; the saved widget state holds none.

The modules; `browser/page.js` lists the scripts that draw a form in a page:

    The forms
        form                    the base class: its messages, its view, and what its buttons do
        payer                   onboards a payer
        bank_details            adds an account; account_search: finds out whether one was stored
        payment                 initiates a payment, shows its card, and asks whether it is paid
        walkthrough             the three of them as steps
        mapping_form            maps the columns of a file to ours

    Their fields
        entries                 the values, and the findings about them
        drawn_fields            what the browser draws of them, and the notes beside them
        answers                 the summary of all values before they are sent
        lookups                 the suggestions for countries, currencies and tokens
        payment_fields          what a payment pays, a wallet or a stored account, and the checks of both
        account_choice          the stored accounts that it can be paid to

    What happens to the values
        payment_progress        what is known of a payment since it was initiated
        form_state              the phase of a form, its banner and its buttons
        job                     the requests of a button, in a thread that can be stopped
        failures                the banner after a failure
        advice                  what to do next, in the words of a form
        kept                    the response as an ordinary output of the notebook
"""

from payerkit.forms.bank_details import BankDetailsForm
from payerkit.forms.payer import PayerForm
from payerkit.forms.payment import PaymentForm
from payerkit.forms.walkthrough import Walkthrough

__all__ = ["BankDetailsForm", "PayerForm", "PaymentForm", "Walkthrough"]
