"""Checkers of documents: tax and identity numbers of countries that ask for them."""

from __future__ import annotations

import re

from payerkit.checks.banks import standard_number
from payerkit.checks.texts import bare, capitals

_STANDARDS = {
    ("ARS", "cuit"): "ar.cuit",
    ("BRL", "cnpj"): "br.cnpj",
    ("BRL", "cpf"): "br.cpf",
    ("CLP", "rut"): "cl.rut",
    ("COP", "nit"): "co.nit",
    ("MXN", "curp"): "mx.curp",
    ("MXN", "rfc"): "mx.rfc",
    ("PEN", "ruc"): "pe.ruc",
}
"""What python-stdnum calls a document, by currency and kind: other countries have documents of the same names."""

_FORMS = {("COP", "ced_ciu"): "[0-9]{6,10}", ("PEN", "dni"): "[0-9]{8}"}
"""Documents whose numbers have a form and no check."""


def document_wrong(number: str, kind: str | None, currency: str | None) -> bool | str:
    """Return the kind of document whose number this is not; False if it is one, or nothing is known of it."""
    digits = _bare(number)
    documents = _documents(kind, currency, digits)
    if not documents or any(_fits(digits, document) for document in documents):
        return False
    return " or ".join(name.upper().replace("_", " ") for _, name in documents)


def document_unchecked(kind: str, currency: str | None, number_is_given: bool | None) -> bool:  # noqa: FBT001 - as a rule passes it
    """Tell whether nothing is known of the numbers of a kind of document."""
    return bool(number_is_given) and not _documents(kind, currency, "")


def _bare(number: str) -> str:
    return bare(number).replace(".", "").replace("/", "")


def _documents(kind: str | None, currency: str | None, digits: str) -> list[tuple[str, str]]:
    """Return the documents that may be meant; without a kind, those that the length tells."""
    currency = capitals(currency)
    if kind is not None:
        document = (currency, kind.strip().lower())
        return [document] if document in _STANDARDS or document in _FORMS else []
    if currency == "BRL":
        return [("BRL", "cpf"), ("BRL", "cnpj")]
    return [("ARS", "cuit")] if currency == "ARS" and re.fullmatch("[0-9]{11}", digits) else []


def _fits(number: str, document: tuple[str, str]) -> bool:
    if document in _FORMS:
        return re.fullmatch(_FORMS[document], number) is not None
    return standard_number(_STANDARDS[document], number)
