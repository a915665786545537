"""Read the accounts of many payers at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from payerkit.bulk.progress import Progress
from payerkit.bulk.rate_limit import RateLimiter, StopSignal
from payerkit.bulk.run import Options
from payerkit.bulk.workers import INTERRUPTED, each
from payerkit.client import Client, check_client
from payerkit.endpoints import payment_details_call
from payerkit.errors import InvalidInput, PayerkitError, without_internal_frames
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
    """Return the bank accounts of many payers in one frame: the columns of `list_payment_details`, and whose they are.

    ids: client user ids, such as a column; each is asked for once, and the order is theirs. `client_user_id` comes
    first; `error` comes last, and says of a payer who could not be read why: such a payer has one row and nothing else
    in it. A payer without accounts has no row. workers, rate: as for `onboard`. Raises InvalidInput for an id that
    cannot be sent, and for numbers that cannot be used.
    """
    check_client(client)
    Options(workers, rate)
    if isinstance(ids, str | bytes | Mapping) or hasattr(ids, "columns") or not isinstance(ids, Iterable):
        raise InvalidInput(f"ids: give a list or a column of client user ids; got a {type(ids).__name__}.")
    wanted = list(dict.fromkeys(check_id(each_id, "ids") for each_id in ids))
    read: dict[str, list[dict[str, Any]] | str] = {}
    stop = StopSignal()
    pace = RateLimiter(rate, stop)
    with client.without_retries(pool_size=workers) as own, Progress(len(wanted), shown=progress) as bar:

        def read_one(client_user_id: str) -> None:
            try:
                read[client_user_id] = pace.call(lambda: own.send(payment_details_call(client_user_id)))
            except PayerkitError as error:
                read[client_user_id] = error.message
            bar.count("refused" if isinstance(read[client_user_id], str) else "done")

        each(read_one, wanted, workers=workers, stop=stop, beat=bar.beat)
    if stop.reason == INTERRUPTED:
        raise KeyboardInterrupt
    return _together(wanted, read, stop.reason, client.account_secret, reveal=reveal is True)


def _together(
    ids: list[str], read: dict[str, list[dict[str, Any]] | str], stopped: str, secret: bytes, *, reveal: bool
) -> pd.DataFrame:
    owners, records, errors = [], [], []
    for client_user_id in ids:
        answer = read.get(client_user_id, stopped)
        for record in [{}] if isinstance(answer, str) else answer:
            owners.append(client_user_id if reveal else mask("clientUserId", client_user_id))
            records.append(record)
            errors.append(answer if isinstance(answer, str) else None)
    frame = payment_details_frame(records, secret=secret, reveal=reveal)
    frame = frame.drop(columns=[name for name in ("client_user_id", "error") if name in frame.columns])
    frame.insert(0, "client_user_id", pd.Series(owners, dtype="string"))
    return frame.assign(error=pd.array(errors, dtype="string"))
