"""Read where payers stand: their statuses and those of their accounts, and what follows from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from payerkit.bulk.list_many import Records, request_each
from payerkit.bulk.options import RunOptions
from payerkit.bulk.rate_limit import RateLimiter
from payerkit.bulk.sending import list_accounts
from payerkit.client.client import Client
from payerkit.endpoints import payer_status_call
from payerkit.errors import PayerkitError
from payerkit.explanations import Explanation, account_group, count_words, explain_payer, is_compliant
from payerkit.models import PayerStatus
from payerkit.wire import first, wire_name


@dataclass(frozen=True)
class Snapshot:
    """The statuses of one payer, and of the payer's accounts, at one time.

    accounts: the listed records; None if they were not read. stopped: why the payer was not asked for. seen_since: the
    time of an earlier snapshot with the same statuses.
    """

    checked_at: datetime
    status: PayerStatus | None = None
    accounts: Records | None = None
    error: PayerkitError | None = None
    stopped: str = ""
    seen_since: datetime | None = None

    def after(self, earlier: Snapshot) -> Snapshot:
        """Return this snapshot with the time from which its statuses are known to hold, if an earlier one had them."""
        if self.status is None or self._statuses != earlier._statuses:
            return self
        return replace(self, seen_since=earlier.since or earlier.checked_at)

    @property
    def _statuses(self) -> tuple[Any, ...]:
        status = self.status and (self.status.kyc_status, self.status.agreement_status)
        return status, self.compliant, self.account_statuses

    @property
    def account_statuses(self) -> str | None:
        """All accounts by status, such as "1 approved, 1 pending"; None if they were not read."""
        if self.accounts is None:
            return None
        words = (record.get("status") for record in self.accounts)
        return count_words(word if isinstance(word, str) else "" for word in words)

    @cached_property
    def relevant(self) -> list[Mapping[str, Any]] | None:
        """The accounts that count: neither deactivated nor replaced; None if they were not read."""
        if self.accounts is None:
            return None
        return without_replaced([record for record in self.accounts if account_group(record.get("status")) != "off"])

    @cached_property
    def compliant(self) -> bool | None:
        """Whether the payer is compliant; None if it is not known."""
        if self.status is None:
            return None
        return is_compliant(self.status.kyc_status, self.status.agreement_status, self.status.is_compliant)

    @cached_property
    def explanation(self) -> Explanation:
        """Whose move it is, and what to do."""
        if self.status is None or (self.error is not None and self.compliant):
            advice = self.error.advice if self.error is not None else "Call again."
            return Explanation("payer", "", self.problem, "you", what_to_do=advice)
        relevant = None if self.relevant is None else [record.get("status") for record in self.relevant]
        status = self.status
        return explain_payer(status.kyc_status, status.agreement_status, status.is_compliant, accounts=relevant)

    @property
    def problem(self) -> str:
        """Why the payer, or the payer's accounts, could not be read; "" if they were."""
        return self.stopped if self.error is None else self.error.message

    @property
    def groups(self) -> Counter[str]:
        """How many of the accounts that count are approved, open and failed."""
        return Counter(account_group(record.get("status")) for record in self.relevant or ())

    @property
    def since(self) -> datetime | None:
        """The time from which the statuses are known to hold: since an earlier snapshot, or as the service says.

        Once the payer is compliant, the accounts count, too.
        """
        records: list[Mapping[str, Any]] = [self.status.to_dict(reveal=True)] if self.status is not None else []
        if self.compliant:
            records += self.relevant or ()
        times = [time for record in records if (time := _changed_at(record)) is not None and time <= self.checked_at]
        return min([*([max(times)] if times else []), *([self.seen_since] if self.seen_since else [])], default=None)


def take_snapshots(
    client: Client,
    ids: Sequence[str],
    options: RunOptions,
    limiter: RateLimiter,
    *,
    accounts: bool = True,
    progress: bool = False,
) -> dict[str, Snapshot]:
    """Return the statuses of each payer, in the order of the ids; the limiter knows why it ended early."""

    def take(own: Client, client_user_id: str) -> tuple[Snapshot, bool]:
        status: PayerStatus | None = None
        records: Records | None = None
        error: PayerkitError | None = None
        try:
            status = limiter.call(lambda: own.send(payer_status_call(client_user_id, PayerStatus.read)))
            records = list_accounts(own, limiter, client_user_id) if accounts else None
        except PayerkitError as problem:
            error = problem
        return Snapshot(datetime.now(UTC), status, records, error), error is None

    found = request_each(client, ids, take, options, limiter, progress=progress)
    unread = Snapshot(datetime.now(UTC), stopped=limiter.stop.reason)
    return {client_user_id: found.get(client_user_id, unread) for client_user_id in ids}


def without_replaced(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return accounts without failed ones that another account replaces: same currency, and same holder or number."""
    failed = [account_group(record.get("status")) == "failed" for record in records]
    pairs = list(zip(records, failed, strict=True))
    replacing = {mark for record, has_failed in pairs if not has_failed for mark in _marks(record)}
    return [record for record, has_failed in pairs if not has_failed or replacing.isdisjoint(_marks(record))]


def _marks(record: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return what tells that two accounts are meant for the same payee: holder or number, each with the currency."""
    fields = {wire_name(name): _compact(value) for name, value in record.items() if isinstance(value, str)}
    numbers = (fields.get(name, "") for name in ("iban", "accountNumber", "ribNumber"))
    marks = [fields.get("accountName", ""), *(number for number in numbers if len(number) >= 8)]  # not "••••1234"
    return {(fields.get("currency", ""), mark) for mark in marks if mark}


def _compact(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


_CHANGED = ("statusUpdatedAt", "updatedAt")
"""Wire names under which services say when a status changed. Not `timestamp`, which may be that of the response."""


def _changed_at(record: Mapping[str, Any]) -> datetime | None:
    """Return when a record changed, from ISO 8601 text or Unix seconds or milliseconds; None if it does not say."""
    inner = record.get("status")
    fields = {wire_name(name): value for name, value in record.items()}
    fields |= {wire_name(name): value for name, value in inner.items()} if isinstance(inner, dict) else {}
    value = first(fields, *_CHANGED)
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, str):
            time = datetime.fromisoformat(value.strip())
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    return None
