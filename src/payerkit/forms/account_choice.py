"""The stored accounts that a payment can be paid to: those of a payer, masked, in words to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from payerkit.explanations import explain_word
from payerkit.models import Payout
from payerkit.wording import count_of, in_words, listed, visible


class AccountChoice:
    """The accounts of a payer, by their ids. Account numbers are masked, and nothing else in it is secret."""

    def __init__(self, client_user_id: str = "", records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.client_user_id = client_user_id
        ids = {str(record["id"]): record for record in records if record.get("id")}
        self._accounts = {
            name: Payout.of_account(record, request_id="", client_user_id=client_user_id, payment_details_id=name)
            for name, record in ids.items()
        }

    def find(self, payment_details_id: object) -> Payout | None:
        """Return an account; None if its payer was not looked up, or has no such account."""
        return self._accounts.get(str(payment_details_id))

    def approved(self) -> list[str]:
        """Return the ids of the accounts that can be paid."""
        return [name for name, account in self._accounts.items() if _is_approved(account)]

    def options(self, chosen: str = "") -> dict[str, str]:
        """Return what to choose from: the accounts that can be paid, and the chosen one, by id in words."""
        words = {
            name: _describe(account)
            for name, account in self._accounts.items()
            if _is_approved(account) or name == chosen
        }
        if chosen and chosen not in words:  # its payer was not looked up
            words[chosen] = f"The account with the id {visible(chosen)}"
        count = Counter(words.values())
        return {name: text if count[text] == 1 else f"{text}, id …{name[-6:]}" for name, text in words.items()}

    def summary(self) -> str:
        """Return how many accounts can be paid, and which ones cannot."""
        others = [_describe(account) for account in self._accounts.values() if not _is_approved(account)]
        count = f"{count_of(len(self.approved()), 'account')} can be paid."
        return f"{count} Not approved: {listed(others, 'and')}." if others else count


def _is_approved(account: Payout) -> bool:
    return explain_word(account.status, "account").is_passed


def _describe(account: Payout) -> str:
    """Return an account in words, such as "••••3489 at Chase (USD, local)"; its status, unless it can be paid."""
    status = "" if _is_approved(account) else f", {in_words(account.status or '') or 'no status'}"
    return visible(f"{account.words}{status}")
