"""Checkers of documents: tax and identity numbers of countries that ask for them."""

from __future__ import annotations

import re

from payerkit.checks.banks import standard_number
from payerkit.checks.texts import bare

_STANDARDS = {
    "cpf": "br.cpf",
    "cnpj": "br.cnpj",
    "cuit": "ar.cuit",
    "curp": "mx.curp",
    "rfc": "mx.rfc",
    "rut": "cl.rut",
    "nit": "co.nit",
    "ruc": "pe.ruc",
}
"""What python-stdnum calls the documents whose numbers have a published check."""

_FORMS = {"dni": "[0-9]{7,8}", "ced_ciu": "[0-9]{6,10}"}
"""Documents whose numbers have a form and no check."""


def document_wrong(number: str, kind: str | None, currency: str | None) -> bool | str:
    """Return the kind of document whose number this is not; False if it is one, or nothing is known of it."""
    kinds = _kinds(number, kind, currency)
    if not kinds or any(_fits(bare(number), name) for name in kinds):
        return False
    return " or ".join(name.upper() for name in kinds)


def document_unchecked(kind: str, number_is_given: bool | None) -> bool:  # noqa: FBT001 - as a rule passes it
    """Tell whether nothing is known of the numbers of a kind of document."""
    return bool(number_is_given) and not _kinds("", kind, None)


def _kinds(number: str, kind: str | None, currency: str | None) -> tuple[str, ...]:
    if kind is not None:
        name = kind.strip().lower()
        return (name,) if name in _STANDARDS or name in _FORMS else ()
    if (currency or "").upper() == "BRL":
        return ("cpf", "cnpj")
    is_cuit = (currency or "").upper() == "ARS" and re.fullmatch("[0-9]{11}", bare(number)) is not None
    return ("cuit",) if is_cuit else ()


def _fits(number: str, name: str) -> bool:
    if name in _FORMS:
        return re.fullmatch(_FORMS[name], number) is not None
    return standard_number(_STANDARDS[name], number)
