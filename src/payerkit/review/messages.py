"""Findings about a payment, with their texts from `review.tsv`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import cast

from payerkit._tsv import rows
from payerkit.findings import Finding, Severity
from payerkit.html import visible
from payerkit.onchain.effects import Effect
from payerkit.review.transactions import DecodedTransaction


@cache
def _messages() -> Mapping[str, Mapping[str, str]]:
    return {row["key"]: row for row in rows(__package__, "review")}


def finding(key: str, about: DecodedTransaction | None = None, *, field: str = "", **values: object) -> Finding:
    """Return the finding with this key in review.tsv, about a transaction or the whole payment."""
    row = _messages()[key]
    return Finding(
        field=field or row["field"],
        wire_name=field or row["field"],
        severity=cast("Severity", row["severity"]),
        code=key.partition(".")[0],
        message=row["message"].format(**values),
        hint=row["hint"].format(**values),
        basis=row["basis"],
        step=about.index if about else None,
        unchecked={"yes": True, "": False}[row["unchecked"]],
    )


def shown(text: str, most: int = 80) -> str:
    """Return text of a response or an order, such that it cannot steer a terminal or fill a screen."""
    return visible(text)[:most]


def in_place(payment: Effect, findings: Iterable[Finding]) -> Iterable[Finding]:
    """Return findings about a payment, with its place in its batch."""
    return findings if payment.place is None else (replace(each, place=payment.place) for each in findings)
