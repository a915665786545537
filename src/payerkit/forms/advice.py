"""What to do next, in the words of a form: errors and statuses tell it to people who write Python."""

from __future__ import annotations

_IN_FORM = {
    "Nothing was changed. ": "",  # the title of the banner says it
    "Create the payer first, with create_payer().": "Onboard the payer first.",
    "Have the payer sign the agreement; create_payer() returns the link. Then call update_agreement().": (
        'Send the payer the link to the agreement. When it is signed, press "The payer has signed".'
    ),
    "; create_payer() returns it": "",
    "; create_payer() returns the link": ": the link is below",
    "Call create_payer() again": "Send the form again",
    "Call create_payer() for the link and": "Send the form again for the link, and",
    "Ask again in": "Refresh the status in",
    " as a new account: create_payment_detail()": " as a new account",
    ", store one: create_payment_detail()": ", store one",
    ": create_payment_detail(), if": ", if",
    "call again": "send it again",
    "Call again": "Send it again",
}
"""Words about functions, and those that a form has in place of them."""


def in_form(text: str) -> str:
    """Return what to do, for people who use the form and call no functions."""
    for call, words in _IN_FORM.items():
        text = text.replace(call, words)
    return text
