"""What events say of payers that no call does: since when a status holds, and why an account was rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from payerkit.checks.schema import MASK
from payerkit.errors import InvalidInput
from payerkit.events.frame import believed_events
from payerkit.masking import holds_email

if TYPE_CHECKING:
    from payerkit.bulk.payer_statuses import Snapshot

_PAYER, _ACCOUNT = "compliance.updated", "payment_detail.updated"

_TEXTS = ("event", "client_user_id", "payment_details_id", "kyc_status", "agreement_status", "status", "reason")
_TIMES = ("timestamp", "received_at")
_NEEDED = (*_TEXTS, "is_compliant", *_TIMES)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What one event says of a payer or an account. states: None for what it does not say. at: when, if known."""

    states: tuple[Any, ...]
    at: datetime | None
    reason: str | None

    def says(self, states: Sequence[Any]) -> bool:
        """Return True if the event says nothing else than these states."""
        return all(said is None or said == state for said, state in zip(self.states, states, strict=True))


@dataclass(frozen=True)
class PayerEvents:
    """What events say, in the order in which they happened: of payers by client user id, of accounts by their id."""

    payers: Mapping[str, Sequence[StatusReport]]
    accounts: Mapping[str, Sequence[StatusReport]]
    has_masked_ids: bool = False

    @classmethod
    def read(cls, events: Any) -> Self:
        """Return what a frame of events says, nothing for None. Raises InvalidInput for anything else.

        Tests, and events whose signature does not match, say nothing.
        """
        if events is None:
            return cls({}, {})
        payers: dict[str, list[StatusReport]] = {}
        accounts: dict[str, list[StatusReport]] = {}
        has_masked_ids = False
        for row in _rows(believed_events(events, _NEEDED)):
            if row["event"] == _PAYER and row["client_user_id"]:
                has_masked_ids |= row["client_user_id"] == MASK
                states = (row["kyc_status"], row["agreement_status"], row["is_compliant"])
                payers.setdefault(row["client_user_id"], []).append(_report(row, states))
            elif row["event"] == _ACCOUNT and row["payment_details_id"]:
                accounts.setdefault(row["payment_details_id"], []).append(_report(row, (row["status"],)))
        return cls(payers, accounts, has_masked_ids)

    def require_ids(self, ids: Iterable[str]) -> None:
        """Raise InvalidInput if the events of these payers cannot be found, since their ids are masked."""
        if self.has_masked_ids and any(map(holds_email, ids)):
            raise InvalidInput(
                "events: ids that are e-mail addresses are masked in it. Read the events with reveal=True; the result "
                "masks them again."
            )

    def since(self, client_user_id: str, snapshot: Snapshot) -> datetime | None:
        """Return since when the statuses of a payer hold, as far as events say it of all of them.

        Once the payer is compliant, the accounts count, too.
        """
        runs = [self._of_payer(client_user_id, snapshot), *(self._of_accounts(snapshot) if snapshot.compliant else ())]
        times = [min((report.at for report in run if report.at is not None), default=None) for run in runs]
        known = [time for time in times if time is not None and time <= snapshot.checked_at]
        return max(known) if len(known) == len(times) else None

    def reason(self, client_user_id: str, snapshot: Snapshot) -> str | None:
        """Return why the payer or an account does not pass, in the service's words; None if no event says it."""
        runs = [self._of_payer(client_user_id, snapshot), *self._of_accounts(snapshot)]
        return "; ".join(dict.fromkeys(run[-1].reason for run in runs if run and run[-1].reason)) or None

    def _of_payer(self, client_user_id: str, snapshot: Snapshot) -> Sequence[StatusReport]:
        """Return the events since the payer's statuses changed last."""
        if snapshot.status is None:
            return ()
        states = (snapshot.status.kyc_status, snapshot.status.agreement_status, snapshot.compliant)
        return _last_run(self.payers.get(client_user_id, ()), states)

    def _of_accounts(self, snapshot: Snapshot) -> Iterable[Sequence[StatusReport]]:
        """Yield the events since the last change of each account that counts."""
        for record in snapshot.relevant or ():
            yield _last_run(self.accounts.get(str(record.get("id")), ()), (record.get("status"),))


def _last_run(reports: Sequence[StatusReport], states: Sequence[Any]) -> Sequence[StatusReport]:
    """Return the last events, as long as they say what holds now; none if the very last one says something else."""
    count = next((place for place, report in enumerate(reversed(reports)) if not report.says(states)), len(reports))
    return reports[len(reports) - count :]


def _report(row: Mapping[str, Any], states: tuple[Any, ...]) -> StatusReport:
    return StatusReport(states, row["timestamp"] or row["received_at"], row["reason"])


def _rows(events: pd.DataFrame) -> Iterable[dict[str, Any]]:
    """Return the events by time; the frame may come from a file, in which all is text."""
    columns: dict[str, Any] = {name: events[name].astype("string") for name in _TEXTS}
    columns["is_compliant"] = events["is_compliant"].astype("string").str.lower().map({"true": True, "false": False})
    for name in _TIMES:
        columns[name] = pd.to_datetime(events[name].astype("string"), utc=True, errors="coerce", format="ISO8601")
    table = pd.DataFrame(columns, index=events.index)
    order = table["timestamp"].fillna(table["received_at"]).sort_values(kind="stable").index
    table = table.astype(object).where(table.notna(), None)
    return table.loc[order].to_dict("records")  # type: ignore[return-value]  # its names are text
