"""Hand many checked payments to Safes: one file per network for the Transaction Builder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.errors import InvalidInput, located, without_internal_frames
from payerkit.frames import frame_of
from payerkit.models.compared_with import KnowsPaid
from payerkit.onchain.addresses import read_address
from payerkit.onchain.currencies import networks
from payerkit.payment.check_payments import CheckedPayment, Source, checked_payments
from payerkit.policy.payment_policy import PaymentPolicy
from payerkit.signing.safe import SafeCall, builder_file, calls_of, chain_id_of, write_builder_file
from payerkit.wording import count_of

_FILE_COLUMNS = {"network": "string", "path": "string", "payments": "int64", "transactions": "int64"}
"""The columns of `write_safe_files`."""


@without_internal_frames
def write_safe_files(  # noqa: PLR0913 - what payments are compared with, each by name
    payments: Iterable[Source] | Mapping[str, Source] | pd.Series[Any] | str | Path,
    folder: str | Path,
    *,
    safe: str | Mapping[str, str],
    policy: PaymentPolicy | None = None,
    rate: Decimal | int | str | None = None,
    now: datetime | None = None,
    client: KnowsPaid | None = None,
    created_at: datetime | None = None,
    anyway: bool = False,
) -> pd.DataFrame:
    """Write many payments to files for Safe's Transaction Builder, one per network, replacing existing ones.

    The payments are checked as `check_payments` does it, so that what was perhaps paid already is refused. The Safe of
    a network makes all of its transactions as one batch, in their order: if one fails, none is made. Nothing is sent.

    Args:
        payments: Payments, or paths of saved ones, or their folder, as `check_payments` takes them.
        folder: Where to write `safe-NETWORK.json`; it is made if it does not exist.
        safe: The address of the Safe that pays; a dict by network if it is not the same on each.
        policy, rate, now, client: What the payments are compared with, as `check_payments` takes them.
        created_at: The time that the files name, with its time zone; by default, the clock's.
        anyway: Write them although the verdict of a payment is "stop".

    Returns:
        One row per file: network, path (string), payments, transactions (int64).

    Raises:
        InvalidInput: The verdict of a payment is "stop", its network is not known, a transaction cannot be read, or an
            argument is invalid. Nothing was written.
        OSError: A file cannot be written.

    Example:
        >>> samples["honest"].save("monday.json")
        >>> write_safe_files(["monday.json"], "safe", safe="0x111CEEee040739fD91D29C34C33E6B3E112F2177")["path"][0]
        'safe/safe-sepolia.json'
    """
    labels, checked = checked_payments(payments, policy=policy, rate=rate, now=now, client=client)
    if not checked:
        raise InvalidInput("payments: there are none.")
    batches: dict[str, list[tuple[SafeCall, ...]]] = {}
    for label, each in zip(labels, checked, strict=True):
        network, calls = _calls(each, label, anyway=anyway)
        batches.setdefault(network, []).append(calls)
    contents = {network: _content(network, batches[network], safe, created_at) for network in sorted(batches)}
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for network, content in contents.items():
        path = place / f"safe-{network}.json"
        write_builder_file(path, content)
        written.append((network, str(path), len(batches[network]), len(content["transactions"])))
    return frame_of(written, _FILE_COLUMNS)


def _calls(checked: CheckedPayment, label: object, *, anyway: bool) -> tuple[str, tuple[SafeCall, ...]]:
    """Return the network and the calls of a payment that may be handed over. Raises InvalidInput for any other."""
    review, errors = checked.review, [found for found in checked.findings if found.severity == "error"]
    if review is None:
        raise InvalidInput(f"payments: {label} cannot be read: {errors[0].message} Nothing was written.")
    if errors and not anyway:
        raise InvalidInput(
            f"payments: the verdict of {label} is stop: {errors[0].message} Nothing was written. Leave it out, or pass "
            "anyway=True."
        )
    with located(f"payments: {label}"):
        chain_id_of(review.network)
        return str(review.network), calls_of(review, anyway=anyway)


def _content(
    network: str, batch: list[tuple[SafeCall, ...]], safe: str | Mapping[str, str], created_at: datetime | None
) -> dict[str, Any]:
    """Return the content of the file of a network."""
    if isinstance(safe, Mapping) and network not in safe:
        raise InvalidInput(f"safe: give the address of the Safe on {networks()[network]}.")
    count = count_of(len(batch), "payment")
    return builder_file(
        [call for calls in batch for call in calls],
        safe=read_address(safe[network] if isinstance(safe, Mapping) else safe, "safe"),
        chain_id=chain_id_of(network),
        name=f"payerkit {count}",
        description=f"{count} on {network}",
        created_at=created_at,
    )
