"""Hashes of rows: which rows name one payer or one account, and which of those differ.

A hash stands in place of the cells it is made of, so that a whole table can be compared without its cells, wherever
these are. It has 64 bits of SipHash: two values of a million have the same one by chance in one table of 37 million.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from payerkit.bulk.findings_by_row import Step
from payerkit.bulk.identity import ACCOUNT_FIELDS, CODES, NUMBERS, id_form, normal_form
from payerkit.checks.inputs import is_blank
from payerkit.checks.schema import BANK_DETAILS, PAYER
from payerkit.checks.texts import compact

Hashes = npt.NDArray[np.uint64]

ID = "client_user_id"

_KEY = "payerkit of rows"
"""The key of SipHash. It is the same in all processes, so that the choice between near duplicates is, too."""

_GOLDEN = 0x9E3779B97F4A7C15
"""An odd number with evenly spread bits: 2**64 divided by the golden ratio."""

_PLACES = {name: place for place, name in enumerate(dict.fromkeys([*PAYER.fields, *BANK_DETAILS.fields]))}
_PLACES |= {f"bank_{name}": len(_PLACES) + place for name, place in _PLACES.items()}
"""A number for each field and column."""


@dataclass(frozen=True, slots=True)
class RowHashes:
    """Hashes of some rows, one a row in each array; 0 where there is nothing to hash.

    id: equal for near duplicates of an id; written_id: for equal ids alone. account: what makes an account this one.
    payer, details: equal for rows whose values for a step are equal; like_payer, like_details: for near duplicates,
    too; the id counts in none of these. content: of all that is sent. email, ssn: of the payer. iban; number: of an
    account without one, with the codes of its bank, or its name if it has none.
    """

    id: Hashes
    written_id: Hashes
    payer: Hashes
    like_payer: Hashes
    account: Hashes
    details: Hashes
    like_details: Hashes
    content: Hashes
    email: Hashes
    ssn: Hashes
    iban: Hashes
    number: Hashes


def hash_rows(frame: pd.DataFrame, columns: Mapping[Step, Mapping[str, str]]) -> RowHashes:
    """Return the hashes of some rows. columns: those of each step by field."""
    cells = {column: _Distinct(frame[column]) for column in _columns_sent(columns)}
    written = {column: each.hash(str) for column, each in cells.items()}
    payer = {name: column for name, column in columns.get("payer", {}).items() if name != ID}
    details = columns.get("bank_details", {})
    alike = {name: cells[column].hash(_account_form(name)) for name, column in details.items()}
    alike_payer = {name: cells[column].hash(id_form) for name, column in payer.items()}
    nothing = np.zeros(len(frame), np.uint64)
    return RowHashes(
        id=cells[ID].hash(lambda text: id_form(text) or text),
        written_id=written[ID],
        payer=_mix(nothing, {name: written[column] for name, column in payer.items()}),
        like_payer=_mix(nothing, alike_payer),
        account=_mix(nothing, {name: hashes for name, hashes in alike.items() if name in ACCOUNT_FIELDS}),
        details=_mix(nothing, {name: written[column] for name, column in details.items()}),
        like_details=_mix(nothing, alike),
        content=_mix(nothing, written),
        email=alike_payer.get("email", nothing),
        ssn=cells[payer["ssn"]].hash(compact) if "ssn" in payer else nothing,
        iban=alike.get("iban", nothing),
        number=_hash_number(nothing, alike),
    )


def _hash_number(nothing: Hashes, alike: Mapping[str, Hashes]) -> Hashes:
    """Return the hashes of account numbers with what says where the account is; 0 without a number, or with an IBAN."""
    given = {name: hashes for name, hashes in alike.items() if name in (*NUMBERS, *CODES)}
    places = _mix(nothing, {name: hashes for name, hashes in given.items() if name in CODES})
    numbers = _mix(nothing, {name: hashes for name, hashes in given.items() if name in NUMBERS})
    bank = _mix(nothing, {name: hashes for name, hashes in alike.items() if name == "bank_name"})
    is_left = (numbers == 0) | (alike.get("iban", nothing) != 0)
    return np.where(is_left, np.uint64(0), numbers + np.where(places == 0, bank, places))


def hash_content(frame: pd.DataFrame, columns: Mapping[Step, Mapping[str, str]]) -> Hashes:
    """Return the hashes of all that is sent of some rows, and no others."""
    nothing = np.zeros(len(frame), np.uint64)
    return _mix(nothing, {column: _Distinct(frame[column]).hash(str) for column in _columns_sent(columns)})


def _columns_sent(columns: Mapping[Step, Mapping[str, str]]) -> set[str]:
    return {ID}.union(*(fields_of_step.values() for fields_of_step in columns.values()))


def _mix(nothing: Hashes, columns: Mapping[str, Hashes]) -> Hashes:
    """Return one hash for each row, of hashes by field; a field that is blank counts as none."""
    return sum((hashes * _odd(_PLACES[name]) for name, hashes in columns.items()), nothing)


def _odd(place: int) -> np.uint64:
    """Return an odd number for each place, so that equal values in two places do not cancel out."""
    return np.uint64(_GOLDEN * (2 * place + 1) % 2**64)


def _account_form(name: str) -> Callable[[str], str]:
    """Return how a field of an account is compared."""
    return (lambda text: normal_form(name, text)) if name in ACCOUNT_FIELDS else id_form


class _Distinct:
    """The cells of a column: the distinct ones, and for each row the place of its cell among them, last if blank."""

    def __init__(self, cells: pd.Series[Any]) -> None:
        values = cells.to_numpy(object)
        try:
            self._places, distinct = pd.factorize(values)
        except TypeError:  # lists and the like, which are never sent
            values = np.array([None if is_blank(value) else _stable_form(value) for value in values], object)
            self._places, distinct = pd.factorize(values)
        self._texts = [_stable_form(value) for value in distinct]

    def hash(self, form: Callable[[str], str]) -> Hashes:
        """Return the hash of a form of each cell; of that of "" for a blank one, and 0 if that is "", too."""
        forms = [form(text).encode("utf-8", "surrogatepass") for text in (*self._texts, "")]
        hashes = pd.util.hash_array(np.array(forms, object), hash_key=_KEY, categorize=False)
        hashes[[not text for text in forms]] = 0
        return hashes[self._places]


def _stable_form(cell: Any) -> str:
    """Return text that is the same for the same cell in every process.

    Cells that are neither text nor have such a repr are never sent, so their type is enough.
    """
    if isinstance(cell, str):
        return cell
    is_stable = isinstance(cell, Number) or hasattr(cell, "isoformat")
    return f"\0{cell!r}" if is_stable else f"\0{type(cell).__name__}"
