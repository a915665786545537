"""Findings about a payment, with their texts from `review.tsv`."""

from __future__ import annotations

from collections.abc import Mapping
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


def finding(
    key: str,
    about: DecodedTransaction | Effect | None = None,
    *,
    field: str = "",
    policy_lines: str = "",
    **values: object,
) -> Finding:
    """Return the finding with this key in review.tsv, about a transaction, a payment of it, or the whole.

    policy_lines: what to add to the policy; they stand below the hint.
    """
    values = {"lines": f"\n{policy_lines}" if policy_lines else ""} | values
    row = _messages()[key]
    step, place = about.at if about else (None, None)
    return Finding(
        field=field or row["field"],
        wire_name=field or row["field"],
        severity=cast("Severity", row["severity"]),
        code=key.partition(".")[0],
        message=row["message"].format(**values),
        hint=row["hint"].format(**values),
        basis=row["basis"],
        step=step,
        place=place,
        unchecked={"yes": True, "": False}[row["unchecked"]],
        policy_lines=policy_lines if "{lines}" in row["hint"] else "",
    )


def shown(text: str, most: int = 80) -> str:
    """Return text of a response or an order, such that it cannot steer a terminal or fill a screen."""
    return visible(text)[:most]
