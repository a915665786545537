"""List the accounts of many payers at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from payerkit.bulk.options import RunOptions
from payerkit.bulk.rate_limit import RateLimiter, Records, StopSignal, request_lists
from payerkit.client.client import Client, check_client
from payerkit.errors import InvalidInput, kind_of, without_internal_frames
from payerkit.frames import payment_details_frame
from payerkit.masking import mask
from payerkit.wire import check_id


@without_internal_frames
def list_many(
    client: Client,
    ids: Iterable[str],
    *,
    workers: int = 32,
    rate: float | None = None,
    progress: bool = True,
    reveal: bool = False,
) -> pd.DataFrame:
    """Return the bank accounts of many payers in one DataFrame.

    Args:
        client: From `connect()` or `sandbox()`.
        ids: Client user ids, such as a column; duplicates are requested once.
        workers: Calls at the same time, 1 to 32.
        rate: Calls per second, at most, no more than `client.pace.rate`; None for that rate.
        progress: Show a progress bar.
        reveal: Show account numbers, birth dates, addresses, people's names and ids that are e-mail addresses, which
            are masked otherwise.

    Returns:
        One row per account, in the order of the ids. Columns: `client_user_id` (string); those of
        `list_payment_details`; `error` (string), missing for payers who were read. A payer who could not be read has
        one row with `client_user_id` and `error` alone; a payer without accounts has no row.

    Raises:
        InvalidInput: For ids that cannot be sent and options out of range. Nothing was sent.
        KeyboardInterrupt: After Ctrl+C; nothing was changed, so call again.

    Example:
        >>> accounts = list_many(client, ["user-123", "user-9"], progress=False)
        >>> accounts[["client_user_id", "bank_name", "account_number"]]
          client_user_id bank_name account_number
        0       user-123     Chase       ••••3489
        1         user-9      <NA>           <NA>
        >>> accounts["error"].str.contains("404").tolist()
        [<NA>, True]
    """
    check_client(client)
    options = RunOptions(workers=workers, rate=rate)
    limiter = RateLimiter(client.pace, StopSignal(), rate=rate)
    results = request_lists(client, distinct_ids(ids), options, limiter, progress=progress)
    return accounts_frame(results, client.account_secret, reveal=reveal is True)


def distinct_ids(ids: Iterable[str]) -> list[str]:
    """Return client user ids in their order, each once. Raises InvalidInput for one that cannot be sent."""
    if isinstance(ids, str | bytes | Mapping) or hasattr(ids, "columns") or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids: expected a list or a column of client user ids, got {kind_of(ids)}.")
    return list(dict.fromkeys(check_id(each, "ids") for each in ids))


def accounts_frame(results: Mapping[str, Records | str], secret: bytes, *, reveal: bool) -> pd.DataFrame:
    """Return the results of `request_lists` as `list_many` returns them."""
    payers, records, errors = [], [], []
    for client_user_id, result in results.items():
        for record in [{}] if isinstance(result, str) else result:
            payers.append(client_user_id if reveal else mask("clientUserId", client_user_id))
            records.append(record)
            errors.append(result if isinstance(result, str) else None)
    frame = payment_details_frame(records, secret=secret, reveal=reveal)
    # Undocumented fields of the service become columns; these two names are ours.
    frame = frame.drop(columns=[name for name in ("client_user_id", "error") if name in frame.columns])
    frame.insert(0, "client_user_id", pd.Series(payers, dtype="string"))
    return frame.assign(error=pd.array(errors, dtype="string"))
