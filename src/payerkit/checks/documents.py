"""Checkers of national tax and identity numbers."""

from __future__ import annotations

import re

from payerkit.checks.banks import is_valid_number
from payerkit.checks.texts import compact, upper_code

_STDNUM_MODULES = {
    ("ARS", "cuit"): "ar.cuit",
    ("BRL", "cnpj"): "br.cnpj",
    ("BRL", "cpf"): "br.cpf",
    ("CLP", "rut"): "cl.rut",
    ("COP", "nit"): "co.nit",
    ("MXN", "curp"): "mx.curp",
    ("MXN", "rfc"): "mx.rfc",
    ("PEN", "ruc"): "pe.ruc",
}
"""Modules of python-stdnum by currency and document type: countries share the names of documents."""

_PATTERNS = {("COP", "ced_ciu"): "[0-9]{6,10}", ("PEN", "dni"): "[0-9]{8}"}
"""Patterns of numbers without a check digit."""


def document_invalid(number: str, kind: str | None, currency: str | None) -> bool | str:
    """Return the document types for which a number is invalid; False if it is valid, or no format is known."""
    compacted = compact(number).replace(".", "").replace("/", "")
    documents = _documents(kind, currency, compacted)
    if not documents or any(_is_valid(compacted, document) for document in documents):
        return False
    return " or ".join(name.upper().replace("_", " ") for _, name in documents)


def document_unchecked(kind: str, currency: str | None, has_number: bool | None) -> bool:  # noqa: FBT001 - rules pass it by position
    """Return True if there is a number, but no known format for its document type."""
    return bool(has_number) and not _documents(kind, currency, "")


def _documents(kind: str | None, currency: str | None, number: str) -> list[tuple[str, str]]:
    """Return the document types that may be meant; without a kind, those that the currency and length suggest."""
    currency = upper_code(currency)
    if kind is not None:
        document = (currency, kind.strip().lower())
        return [document] if document in _STDNUM_MODULES or document in _PATTERNS else []
    if currency == "BRL":
        return [("BRL", "cpf"), ("BRL", "cnpj")]
    return [("ARS", "cuit")] if currency == "ARS" and re.fullmatch("[0-9]{11}", number) else []


def _is_valid(number: str, document: tuple[str, str]) -> bool:
    if document in _PATTERNS:
        return re.fullmatch(_PATTERNS[document], number) is not None
    return is_valid_number(_STDNUM_MODULES[document], number)
