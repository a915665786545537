"""Why a row or a call ended as it did: a code with parameters, and the one place where
it becomes words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from payerkit._tsv import rows
from payerkit.explanations import explain_payer
from payerkit.wording import count_of

Params = Mapping[str, Any]


WAITING_CODES = {
    "not_yet_passed_kyc_kyb": "the payer has passed the identity check",
    "not_approved_for_payout_rail": "the payer is approved for these rails",
    "payment_detail_not_approved": "the bank details are approved",
}
"""Codes of refusals that end by themselves, and until when each holds. Source: the
operator's documentation.
"""


class Outcome(NamedTuple):
    """Why a row or a call ended as it did.

    code: for programs; stable. params: what the words name: numbers, ids, words of the
    service, and other outcomes. `cause` is an outcome that led to this one; `noted` is
    one to which this one only adds a remark. `fields` has what the service says of
    single fields.
    """

    code: str
    params: Params = {}  # noqa: RUF012 - nothing changes it

    @property
    def main(self) -> Outcome:
        """The outcome without remarks."""
        noted = self.params.get("noted")
        if isinstance(noted, Outcome):
            return noted.main
        return self

    @property
    def text(self) -> str:
        """The outcome in words, with what to do."""
        return rendered(self)

    def of_texts(self, change: Callable[[str], str]) -> Outcome:
        """Return the outcome with each text of its parameters changed."""
        return Outcome(
            self.code,
            {name: _changed(value, change) for name, value in self.params.items()},
        )

    @classmethod
    def from_value(cls, value: list[Any]) -> Outcome:
        """Return an outcome from its parsed JSON, a list of the code and the
        parameters.
        """
        code, params = value
        return cls(
            code,
            {
                name: cls.from_value(each) if _is_outcome(each) else each
                for name, each in params.items()
            },
        )


def _is_outcome(value: Any) -> bool:
    """Return True if a parameter is an outcome in parsed JSON; other lists are of
    texts.
    """
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], dict)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, Outcome):
        return value.of_texts(change)
    if isinstance(value, list):
        return [change(each) for each in value]
    if isinstance(value, str):
        return change(value)
    return value


@cache
def _texts() -> dict[str, str]:
    """Return the words of each code."""
    return {row["code"]: row["text"] for row in rows("payerkit", "reasons")}


def rendered(outcome: Outcome) -> str:
    """Return an outcome in words."""
    known = {name: each for name, each in outcome.params.items() if each is not None}
    params = {
        name: each.text if isinstance(each, Outcome) else each
        for name, each in known.items()
    }
    text = _texts()[outcome.code].format_map(_Words(params)).strip()
    return " ".join([text, *params.get("fields", ())])


class _Words(dict[str, Any]):
    """The parameters of an outcome, and what its words make of them."""

    def __missing__(self, name: str) -> str:
        return _MADE[name](self)


def words_of_service(params: Params) -> str:
    """Return what the service says about a call that it refused, "" if it says
    nothing.
    """
    words = params.get("words", "")
    if not words:
        return ""
    if not words.endswith((".", "!", "?", "…")):
        words += "."
    return f"It says: {words}"


def _says(params: Params) -> str:
    words = words_of_service(params)
    if not words and params.get("is_cut"):
        words = "The response broke off before the reason."
    return f" {words}".rstrip()


def _in_brackets(params: Params) -> str:
    """Return the ids of accounts in brackets, three at most, "" if they have none."""
    ids = [account_id for account_id in params["ids"] if account_id]
    if not ids:
        return ""
    shown = ", ".join(ids[:3])
    if len(ids) > 3:
        shown += ", ..."
    return f" ({shown})"


def _shows(params: Params) -> str:
    """Return the end of the sentence that says why a list leaves open whether it has an
    account.
    """
    if "listed" in params:
        return f"shows {params['listed']} accounts and may leave out others."
    accounts = "an account"
    if len(params["ids"]) > 1:
        accounts = "accounts"
    return (
        f"has {accounts}{_in_brackets(params)} that could be this one, but does not"
        " show enough to tell."
    )


def _differences(params: Params) -> str:
    differs = params.get("differs", ())
    if not differs:
        return ""
    return f" The payer's list shows a different {' and a different '.join(differs)}."


def _what_to_do(params: Params) -> str:
    """Return the next step if it is yours, or if waiting does not change the statuses
    of a payer, else "".
    """
    found = explain_payer(params.get("kyc_status"), params.get("agreement_status"))
    if found.is_passed or not (found.final or found.whose_move == "you"):
        return ""
    return found.what_to_do


def _wait(params: Params) -> str:
    if "seconds" not in params:
        return ""
    return f" {count_of(math.ceil(params['seconds']), 'second')}"


def _body(params: Params) -> str:
    if "fingerprint" not in params:
        return ""
    return f" (body {params['fingerprint']})"


def _first_rows(params: Params) -> str:
    if params["rows"] == 1:
        return "the first row"
    return f"the first {count_of(params['rows'], 'row')}"


_MADE: dict[str, Callable[[Params], str]] = {
    "noted": lambda _: "",
    "says": _says,
    "wait": _wait,
    "body": _body,
    "first": _first_rows,
    "kyc": lambda params: params.get("kyc_status", "unknown"),
    "agreement": lambda params: params.get("agreement_status", "unknown"),
    "what_to_do": _what_to_do,
    "until": lambda params: WAITING_CODES[params["waiting_code"]],
    "in_brackets": _in_brackets,
    "shows": _shows,
    "listed_ids": lambda params: ", ".join(
        each or "one without an id" for each in params["ids"]
    ),
    "differences": _differences,
}
"""The fields of the texts that are made from parameters, by name."""
