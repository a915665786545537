"""Why a row or a call ended as it did: a code with parameters, and the one place where it becomes words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from payerkit.explanations import explain_payer
from payerkit.wording import count_of

Params = Mapping[str, Any]


WAITING_CODES = {
    "not_yet_passed_kyc_kyb": "the payer has passed the identity check",
    "not_approved_for_payout_rail": "the payer is approved for these rails",
    "payment_detail_not_approved": "the bank details are approved",
}
"""Codes of refusals that end by themselves, and until when each holds. Source: the operator's documentation."""


class Outcome(NamedTuple):
    """Why a row or a call ended as it did.

    code: for programs; stable. params: what the words name: numbers, ids, words of the service, and other outcomes.
    `cause` is an outcome that led to this one; `noted` is one to which this one only adds a remark. `fields` has what
    the service says of single fields.
    """

    code: str
    params: Params = {}  # noqa: RUF012 - nothing changes it

    @property
    def main(self) -> Outcome:
        """The outcome without remarks."""
        noted = self.params.get("noted")
        return noted.main if isinstance(noted, Outcome) else self

    @property
    def text(self) -> str:
        """The outcome in words, with what to do."""
        return rendered(self)

    def of_texts(self, change: Callable[[str], str]) -> Outcome:
        """Return the outcome with each text of its parameters changed."""
        return Outcome(self.code, {name: _changed(value, change) for name, value in self.params.items()})

    @classmethod
    def from_value(cls, value: list[Any]) -> Outcome:
        """Return an outcome from its parsed JSON, a list of the code and the parameters."""
        code, params = value
        return cls(code, {name: cls.from_value(each) if _is_outcome(each) else each for name, each in params.items()})


def _is_outcome(value: Any) -> bool:
    """Return True if a parameter is an outcome in parsed JSON; other lists are of texts."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], dict)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Outcome):
        return value.of_texts(change)
    if isinstance(value, list):
        return [change(each) for each in value]
    return change(value) if isinstance(value, str) else value


_UNKNOWN = "The outcome is unknown."
_COMPARE = "Compare them with list_payment_details()."
_ANYWAY = 'To send it anyway, use existing="send" (--existing send).'
_COULD_BE = "Accounts in the payer's list could be this one, or that of another row: {listed_ids}."
_LEAVES_OUT = "leaves out accounts that are known to be there, or may be cut off. The next run looks again."

_TEXTS = {
    # How a call ended
    "never_left": "{call} could not be sent ({why}).",
    "paused": "Not sent: after earlier responses of the service, this client sends nothing for {seconds} s.",
    "refused": "The service refused the request ({status} on {call}).{says}",
    "wrong_key": "The service does not accept the API key ({status} on {call}).{says}",
    "not_permitted": "The API key does not permit this call ({status} on {call}).{says}",
    "not_found": "Not found ({status} on {call}).{says}",
    "too_many_requests": "Too many requests: the service asks to wait{wait} ({status} on {call}).{says}",
    "redirected": "The service redirected {call} ({status}) to {host}. The redirect was not followed: the key and the "
    "body would have gone there too.",
    "unreadable": "{call}: {cause}.",
    "failed": "{call} failed: {cause}.",
    "lost": "It is unknown whether {operation} happened: {call} was sent{body}, and {cause}.",
    "interrupted_call": "the call was interrupted",
    "no_response": "no response came ({why})",
    "responded": "the service responded with {status}",
    "unreadable_response": "the service responded with {status}, but the response cannot be read ({why})",
    "broken_response": "the service responded with {status}, but the response broke off ({why})",
    "error": "{message}",
    # Why a row was not sent
    "has_errors": "{findings}",
    "held": "held: the row is kept back because of its warnings, see findings.",
    "payer_not_sent": "Its payer was not sent: see the row of the payer.",
    "not_tried": "Not sent yet.",
    "left_by_limit": "Not tried yet, because of limit: this call tried {first} that were not sent before.",
    "status_unread": "Not sent, since the payer's status could not be read: {cause}",
    "list_unread": "Not sent, since the payer's accounts could not be listed: {cause}",
    "not_compliant": "Waits: identity check {kyc}, agreement {agreement}. {what_to_do}",
    "waits": "Waits until {until} ({waiting_code}).",
    "payer_lags": "{cause} The service stored the payer before: the next run tries again.",
    "perhaps_there": "perhaps_there: the payer's list {shows} " + _COMPARE + " " + _ANYWAY,
    "there_failed": "there_failed: the payer's list shows this account{in_brackets} as {status}. " + _ANYWAY,
    "perhaps_another": "{cause} The account in the payer's list may be another one, whose outcome is unknown. The next "
    "run compares again.",
    "conflict_unread": "{cause} Its status could not be read: {failure}",
    "conflict_unlisted": "{cause} The payer's accounts could not be listed: {failure}",
    "payer_conflict": "{cause} If the payer is there already, send the accounts alone, with add_bank_details().",
    # What the service has
    "there_already": "Was there already.{differences}",
    "payer_there_already": "Was there already. The data that the service has may differ from this row's: it does not "
    "show them, and kept them.",
    "found_by_status": "Found by its status.",
    "found_in_list": "Found in the payer's list of accounts.{differences}",
    "stored_failed": "Stored, but the service returned it as {status}.",
    "listed_failed": "Stored, but the payer's list shows it as {status}.",
    "stored_twice": "Stored more than once: it was sent again while its outcome was unknown, or the payer's list had "
    "it more than once already. Compare the accounts with list_payment_details(), and ask the service to deactivate "
    "all but one.",
    # What is unknown
    "cut_off": "The run ended before the response arrived.",
    "earlier_unknown": "The outcome of an earlier attempt is unknown. The last attempt: {cause}",
    "not_looked_up": "The outcome is unknown, though the payer was looked up {looks} times. The last time: {cause}",
    "lost_again": "It was sent again, and that outcome is unknown, too.",
    "could_be": f"{_UNKNOWN} {_COULD_BE} {_COMPARE}",
    "could_be_twice": f"Sent more than once.{{stored}} {_COULD_BE} {_COMPARE}",
    "list_not_whole": f"{_UNKNOWN} The payer's list does not show the account, but it {_LEAVES_OUT}",
    "lists_prove_nothing": f"{_UNKNOWN} The payer's list does not show the account, but this service's lists do not "
    "show accounts that are certainly stored, either. The next run looks again.",
    "absent_again": "Sent {attempts} times, but not in the payer's list of accounts. The next run sends it again.",
    "absent_and_waits": "The outcome is unknown; the account is not in the payer's list. {cause}",
    # Remarks
    "payer_stored": "Its payer is stored, its account is not. {noted}",
    "look_due": "{noted} It was sent more than once: the next run checks that it is stored only once.",
    "look_again": f"{{noted}} It was sent more than once, and may be stored twice: the payer's list {_LEAVES_OUT}",
    "links_lost": "{noted} Its links were lost with the response: create_payer() returns them again, and creates no "
    "second payer.",
    "has_errors_now": "{noted} Not sent again: {findings}",
    # Why a run stopped
    "interrupted": "Interrupted by the user.",
    "internal_error": "Internal error in payerkit.",
    "journal_lost": "journal: {name} was deleted, moved or replaced during the run. If you still have it, put it back "
    "and call again. Otherwise call again with a new one: accounts that the service lists are not sent again.",
    "equal_refusals": "{times} rows were refused with the same response: {cause} Correct the rows and call again: "
    'changed rows are sent again, and unchanged ones with RunOptions(retry=["refused"]) (--retry refused). To go on, '
    "use RunOptions(stop_after=None) (--stop-after none).",
    "too_frequent": "The service refused calls as too frequent {times} times in a row. Call again later, with a lower "
    "rate.",
    "asked_to_wait": "{cause} Call again after that time.",
    "key_refused": "{cause} {advice} If this key was replaced, use the new one and set PAYERKIT_PREVIOUS_API_KEY to "
    "this one: it opens the journal.",
    "not_the_api": "{times} responses in a row did not come from the API. {cause} Nothing was marked as refused. Check "
    "the address of the service, and whether a proxy or a gateway in between refuses the calls; then call again.",
    "unreachable": "The service could not be reached {times} times in a row. {cause}",
}
"""The words of each code."""


def rendered(outcome: Outcome) -> str:
    """Return an outcome in words."""
    known = {name: each for name, each in outcome.params.items() if each is not None}
    params = {name: each.text if isinstance(each, Outcome) else each for name, each in known.items()}
    text = _TEXTS[outcome.code].format_map(_Words(params)).strip()
    return " ".join([text, *params.get("fields", ())])


class _Words(dict[str, Any]):
    """The parameters of an outcome, and what its words make of them."""

    def __missing__(self, name: str) -> str:
        return _MADE[name](self)


def words_of_service(params: Params) -> str:
    """Return what the service says about a call that it refused, "" if it says nothing."""
    words = params.get("words", "")
    return f"It says: {words}{'' if words.endswith(('.', '!', '?', '…')) else '.'}" if words else ""


def _says(params: Params) -> str:
    said = words_of_service(params)
    broken = "The response broke off before the reason." if params.get("is_cut") else ""
    return f" {said or broken}".rstrip()


def _in_brackets(params: Params) -> str:
    """Return the ids of accounts in brackets, three at most, "" if they have none."""
    ids = [each for each in params["ids"] if each]
    return f" ({', '.join(ids[:3])}{', ...' * (len(ids) > 3)})" if ids else ""


def _shows(params: Params) -> str:
    """Return what a list shows that does not tell whether it has an account."""
    if "listed" in params:
        return f"shows {params['listed']} accounts and may leave out others."
    accounts = "accounts" if len(params["ids"]) > 1 else "an account"
    return f"has {accounts}{_in_brackets(params)} that could be this one, but does not show enough to tell."


def _differences(params: Params) -> str:
    differs = params.get("differs", ())
    return f" The payer's list shows a different {' and a different '.join(differs)}." if differs else ""


def _what_to_do(params: Params) -> str:
    """Return what to do about statuses that another day does not change, "" about others."""
    found = explain_payer(params.get("kyc_status"), params.get("agreement_status"))
    return found.what_to_do if found.final and not found.is_passed else ""


_MADE: dict[str, Callable[[Params], str]] = {
    "noted": lambda _: "",
    "says": _says,
    "wait": lambda params: f" {params['seconds']:g} seconds" if "seconds" in params else "",
    "body": lambda params: f" (body {params['fingerprint']})" if "fingerprint" in params else "",
    "first": lambda params: "the first row" if params["rows"] == 1 else f"the first {count_of(params['rows'], 'row')}",
    "kyc": lambda params: params.get("kyc_status", "unknown"),
    "agreement": lambda params: params.get("agreement_status", "unknown"),
    "what_to_do": _what_to_do,
    "until": lambda params: WAITING_CODES[params["waiting_code"]],
    "in_brackets": _in_brackets,
    "shows": _shows,
    "listed_ids": lambda params: ", ".join(each or "one without an id" for each in params["ids"]),
    "stored": lambda params: f" It is stored as {params['id']}." if "id" in params else "",
    "differences": _differences,
}
"""What words are made of the parameters."""
