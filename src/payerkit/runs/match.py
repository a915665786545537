"""Accounts: what makes two the same one, however written, and which of those that a
service lists is one that was sent.

A list proves what is there. It hardly ever proves what is not: it may have pages, be
late, mask numbers or leave accounts out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import Any, Literal, TypeVar

from payerkit.checks.banks import is_iban
from payerkit.client.call import Call
from payerkit.endpoints import payment_details_call
from payerkit.models.formats import RAILS
from payerkit.models.requests import ACCOUNT_NUMBERS, BANK_CODES
from payerkit.models.responses import usable_id
from payerkit.wire import wire_name

ACCOUNT_FIELDS = ("currency", "rails", *ACCOUNT_NUMBERS, *BANK_CODES)
"""Fields that make an account of a payer another account if they differ; all others
describe it.
"""

_SAID_BY_IBAN = {*ACCOUNT_NUMBERS, *BANK_CODES} - {"iban"}

_HEAD_OFFICE = "XXX"
"""The end of a SWIFT code of eleven characters that means the same as one of eight (ISO
9362).
"""


def account_identity(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what makes an account of a payer this account and no other, "" for each
    field that is missing.

    An IBAN says which account it is: whoever adds another number or a code to one has
    the same account.
    """
    forms = {
        name: normal_form(name, str(values.get(name) or "")) for name in ACCOUNT_FIELDS
    }
    return tuple(
        "" if forms["iban"] and name in _SAID_BY_IBAN else form
        for name, form in forms.items()
    )


def normal_form(name: str, value: str) -> str:
    """Return a value of one of ACCOUNT_FIELDS in the form in which equal values are
    equal texts.
    """
    text = _compact(value).upper()
    if name == "rails":
        # The first is what the specification says that a missing one means.
        return text.lower() or RAILS[0]
    if name == "swift_bic" and len(text) == 11:
        return text.removesuffix(_HEAD_OFFICE)
    return text


def id_form(client_user_id: str) -> str:
    """Return an id in the form in which near duplicates are equal: other blanks, case
    or Unicode form.
    """
    return "".join(unicodedata.normalize("NFKC", client_user_id).casefold().split())


def loose_id_form(client_user_id: str) -> str:
    """Return an id in the form in which all of its spellings are equal: as `id_form`,
    and without hyphens and zeros in front of a number.
    """
    form = "".join(
        char
        for char in id_form(client_user_id)
        if unicodedata.category(char) not in {"Pd", "Cf"}
    )
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", form)


def account_numbers(values: Mapping[str, Any]) -> list[str]:
    """Return the numbers of an account, whatever zeros are in front, however written.

    Two accounts of a payer that share one are hardly two.
    """
    forms = [normal_form(name, str(values.get(name) or "")) for name in ACCOUNT_NUMBERS]
    return [form.lstrip("0") for form in forms if form]


def _compact(value: str) -> str:
    """Return a number or a code without blanks, hyphens and characters that are not
    shown.
    """
    if value.isascii() and value.isalnum():
        return value  # the usual case
    text = unicodedata.normalize("NFKC", value)
    return "".join(
        char
        for char in text
        if unicodedata.category(char) not in {"Zs", "Pd", "Cf", "Cc"}
    )


class Grade(Enum):
    """How much a listed account tells about being the one that a row asks for.

    SAME: number, codes and currency are equal. NUMBER: the number is equal, but the
    list does not show all of the others. PERHAPS: its number is masked, missing or
    written in another way; or it is equal, and codes or rails are not. OTHER: another
    number or currency; or, in a list that shows nothing of the number, another code or
    other rails.
    """

    SAME = "same"
    NUMBER = "number"
    PERHAPS = "perhaps"
    OTHER = "other"


Relation = Literal["equal", "fits", "hidden", "unlike", "different"]
"""A field of the row next to that of the list. fits: the list shows a part of it.
hidden: it shows nothing of it. unlike: it has something in its place, such as a hash or
words. different: it has another value of its kind."""

_DESCRIBING = ("bank_name", "account_name")

_IN_FULL = re.compile(r"(?=.*\w)[^•*…]*", re.DOTALL)
"""A name of which a list masks nothing."""

_DEAD = frozenset({"failed", "rejected", "deactivated"})
"""Statuses of accounts that cannot be paid, and never will be. Source: those of
`statuses.tsv` for accounts.
"""

_MASK = re.compile(r"X{2,}|[\W_]+")
"""The characters of a mask in a normal form, which has neither blanks nor hyphens."""


def compare(values: Mapping[str, Any], record: Mapping[str, Any]) -> Grade:
    """Compare a row's values, by field name, with an account that a service lists.

    A mask may rule an account out, and never confirms it. An equal number in an equal
    currency is never another account, however its codes and rails are written: banks
    have several codes, and services write them as they like. The names of bank and
    holder do neither: `differing_names` compares them.
    """
    listed = _shown_texts(record)
    number = _compare_numbers(values, listed)
    currency = _compare_field("currency", values, listed)
    others = {
        name: _compare_field(name, values, listed) for name in ("rails", *BANK_CODES)
    }
    is_number_shown = number in {"equal", "fits"}
    if "different" in {number, currency} or (
        "different" in others.values() and not is_number_shown
    ):
        return Grade.OTHER
    if number != "equal" or {"unlike", "different"} & set(others.values()):
        return Grade.PERHAPS
    # An IBAN says where the account is kept.
    has_iban = _compare_field("iban", values, listed) == "equal"
    codes = [
        name
        for name in BANK_CODES
        if values.get(name) or (listed.get(wire_name(name)) and not has_iban)
    ]
    is_shown = currency == "equal" and all(others[name] == "equal" for name in codes)
    return Grade.SAME if is_shown else Grade.NUMBER


def differing_names(values: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """Return which of the names of bank and holder a list shows, in full, otherwise
    than a row has them.
    """
    listed = _shown_texts(record)
    names = []
    for name in _DESCRIBING:
        sent = str(values.get(name) or "")
        shown = listed.get(wire_name(name), "")
        is_in_full = _IN_FULL.fullmatch(shown) is not None
        if sent and is_in_full and id_form(sent) != id_form(shown):
            names.append(name)
    return names


def _shown_texts(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts and numbers of a listed account, by the fields' names in
    requests.
    """
    return {
        wire_name(name): str(value)
        for name, value in record.items()
        if isinstance(value, str | int)
    }


def is_dead(record: Mapping[str, Any]) -> bool:
    """Return True if a listed account cannot be paid, and never will be."""
    return str(record.get("status")).strip().casefold() in _DEAD


def _compare_numbers(values: Mapping[str, Any], listed: Mapping[str, str]) -> Relation:
    """Compare the numbers of an account; a list may have an IBAN in the place of the
    account number.
    """
    relations = {_compare_field(name, values, listed) for name in ACCOUNT_NUMBERS}
    sent = {
        normal_form(name, str(values[name]))
        for name in ACCOUNT_NUMBERS
        if values.get(name)
    }
    shown = {
        normal_form(name, listed[wire_name(name)])
        for name in ACCOUNT_NUMBERS
        if listed.get(wire_name(name))
    }
    if sent & shown:
        return "fits" if "different" in relations else "equal"
    if "different" in relations:
        return "different"
    # An account number and its IBAN, say.
    is_part = any(_is_part(*pair) for pair in product(sent, shown))
    return "fits" if is_part or "fits" in relations else "hidden"


def _compare_field(
    name: str, values: Mapping[str, Any], listed: Mapping[str, str]
) -> Relation:
    """Compare a field that makes an account this account and no other."""
    text = listed.get(wire_name(name), "").strip()
    sent = normal_form(name, str(values.get(name) or ""))
    shown = normal_form(name, text)
    if not text or not sent or (name == "rails" and shown not in RAILS):
        return "hidden"
    if sent == shown:
        return "equal"
    if not shown.strip("0"):  # a mask of zeros
        return "hidden"
    parts = _MASK.split(shown)
    if len(parts) > 1:
        return _compare_ends(parts, sent)
    if name in ACCOUNT_NUMBERS and _is_part(sent, shown):
        return "fits"
    if name == "currency":
        return "different" if len(shown) == 3 and shown.isalpha() else "hidden"
    if sent.isdecimal() and shown.isdecimal() and sent.lstrip("0") == shown.lstrip("0"):
        return "fits"
    is_value = name == "rails" or _is_of_its_kind(name, sent, shown)
    return "different" if is_value else "unlike"


def _compare_ends(parts: Sequence[str], sent: str) -> Relation:
    """Compare what a mask leaves of the beginning and the end; words, zeros alone, and
    fewer than three digits tell nothing.
    """
    first = parts[0]
    last = parts[-1]
    if sent in parts:  # with something behind it, such as .0
        return "fits"
    start = r"[0-9]{3,}" if sent.isdecimal() else r"[A-Z]{2}[0-9]{2}\w*"
    ends = []
    if re.fullmatch(start, first) and first.strip("0"):
        ends.append(sent.lstrip("0").startswith(first.lstrip("0")))
    if re.fullmatch(r"[0-9]{3,}", last) and last.strip("0"):
        ends.append(sent.endswith(last))
    if not ends:
        return "hidden"
    return "fits" if all(ends) else "different"


def _is_part(sent: str, shown: str) -> bool:
    """Return True if one number begins or ends with the other, whatever zeros are in
    front.
    """
    one, other = sorted([sent.lstrip("0"), shown.lstrip("0")], key=len)
    return bool(one) and (other.startswith(one) or other.endswith(one))


def _is_of_its_kind(name: str, sent: str, shown: str) -> bool:
    """Return True if a listed text is a whole value of a field, and not a word or a
    hash in its place.
    """
    if name == "iban":
        return is_iban(shown)
    if sent.isdecimal() != shown.isdecimal():
        return False
    return len(sent) == len(shown) or (name in ACCOUNT_NUMBERS and sent.isdecimal())


Record = Mapping[str, Any]
Values = Mapping[str, Any]
Key = TypeVar("Key", bound=Hashable)

_PAGE = 8
"""Accounts of a list from which on it may be the first page of several: the
specification has no pages, and no sign of more.
"""


@dataclass(frozen=True, slots=True)
class AccountList:
    """The accounts that a service lists for a payer.

    is_whole: False if the list says that it has more than it shows, or shows accounts
    of another payer, which are left out here.
    """

    records: Sequence[Record]
    is_whole: bool = True

    def may_lack_accounts(self, own: Collection[str]) -> bool:
        """Return True if there may be accounts that are not listed.

        own: ids of the accounts that the caller sent. Of a long list of these alone,
        the caller knows that nothing else is there.
        """
        if not self.is_whole:
            return True
        has_others = any(id_of(record) not in own for record in self.records)
        return len(self.records) >= _PAGE and has_others


def account_list_call(client_user_id: str, user_id: str = "") -> Call[AccountList]:
    """Return the call that lists a payer's accounts, with whether the list is whole.
    user_id: the payer's id at the service, "" if it is not known.

    Raises InvalidInput for an id that cannot be sent.
    """
    call: Call[Any] = payment_details_call(client_user_id)
    ids = {"clientUserId": client_user_id, "userId": user_id}

    def read(response: Any) -> AccountList:
        records = call.read(response)
        own = [record for record in records if not _is_of_another(record, ids)]
        distinct = {id_of(record) or place: record for place, record in enumerate(own)}
        is_whole = len(own) == len(records)
        if isinstance(response, dict):
            is_whole &= not _is_of_another(response, ids)
            is_whole &= not _says_more(response, len(records))
        return AccountList(list(distinct.values()), is_whole=is_whole)

    return replace(call, read=read)


def _is_of_another(record: Record, ids: Mapping[str, str]) -> bool:
    """Return True if a record names another payer than the one with these ids."""
    shown = {wire_name(name): value for name, value in record.items()}
    return any(
        own and isinstance(shown.get(name), str) and shown[name] not in {"", own}
        for name, own in ids.items()
    )


_FLAGS = {"hasmore", "hasnext", "hasnextpage", "more", "truncated", "partial"}
_TOTALS = {"total", "totalcount", "totalitems", "totalrecords", "totalresults", "count"}
_PAGES = {"pages", "totalpages", "pagecount", "lastpage"}
_SIZES = {"limit", "perpage", "pagesize"}
_CURSORS = {"cursor", "continuationtoken"}


def _says_more(members: Mapping[str, Any], shown: int) -> bool:
    """Return True if the members beside a list say that it may have more entries.

    shown: how many entries the list has.
    """
    for name, value in members.items():
        if isinstance(value, dict):
            if _says_more(value, shown):
                return True
            continue
        word = re.sub(r"[^a-z]", "", name.lower())
        number = int(value) if re.fullmatch(r"[0-9]{1,9}", str(value)) else 0
        is_set = value not in (None, False, "", 0) and str(value).lower() != "false"
        if word in _FLAGS | _CURSORS or word.startswith("next"):
            says_more = is_set
        elif word in _TOTALS:
            says_more = number > shown
        elif word in _PAGES:
            says_more = number > 1
        else:
            says_more = word in _SIZES and 0 < number <= shown
        if says_more:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Matches:
    """Which of the listed accounts are one that was sent.

    same: those that are it, whose number and currency are equal; two are one that is
    stored twice. perhaps: those that could be it, as far as the list shows.
    """

    same: Sequence[Record] = ()
    perhaps: Sequence[Record] = ()


def match_accounts(
    accounts: Mapping[Key, Values],
    records: Sequence[Record],
    *,
    has_hidden: bool = False,
) -> dict[Key, Matches]:
    """Return for each account that was sent, or is to be, which listed ones are it.

    accounts: values by field name, by any key. records: those that are not known to be
    other accounts. A listed account of which the list shows too little to tell between
    two of these accounts is perhaps either one. has_hidden: there is one more account
    with an unknown outcome, whose values nobody has; it claims what is not all equal.
    """
    grades = [
        {key: compare(values, record) for key, values in accounts.items()}
        for record in records
    ]
    matches: dict[Key, Matches] = {}
    for key in accounts:
        same: list[Record] = []
        perhaps: list[Record] = []
        for record, graded in zip(records, grades, strict=True):
            strong = [grade for grade in graded.values() if grade in _STRONG]
            if graded[key] in _STRONG:
                is_shared = len(strong) > 1 or (
                    has_hidden and graded[key] is Grade.NUMBER
                )
                is_it = id_of(record) != "" and not is_shared
                (same if is_it else perhaps).append(record)
            elif graded[key] is Grade.PERHAPS and strong != [Grade.SAME]:
                perhaps.append(record)
        matches[key] = Matches(same, perhaps)
    return matches


_STRONG = {Grade.SAME, Grade.NUMBER}


def id_of(record: Record) -> str:
    """Return the id of an account, "" if it has none that can be used."""
    return usable_id(record.get("id"))
