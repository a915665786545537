"""What a payment that pays out to a stored bank account remembers of its request and of the account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from payerkit.html import visible
from payerkit.masking import mask, mask_account
from payerkit.wording import listed

_NUMBERS = ("accountNumber", "iban", "ribNumber")
"""Members of stored bank details that tell which account it is; the first that has a value is shown, masked."""


_IDS = {"request_id", "client_user_id", "payment_details_id"}
"""What every payout has."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Payout:
    """The request and the account that a payment pays out to: **beyond the specification**. Nothing in it is secret.

    Attributes:
        request_id: The service's id of the request.
        payment_reference: Its reference on the blockchain.
        reference: Your own reference of the request.
        client_user_id: The payer.
        payment_details_id: The service's id of the account.
        wallet: The wallet that pays, or None if it was not given.
        bank_name: The bank.
        account: The account number, masked.
        currency, rails, status: Those of the account, when the payment was requested.
        also_listed: What else the payer's list has under the same id, masked; None if the id is there once.

    Example:
        >>> request = create_request(client, amount="25.50", invoice_currency="USD", payment_currency="USDC-sepolia")
        >>> account = list_payment_details(client, "user-123")["id"][0]
        >>> payment = request_payment(client, request, client_user_id="user-123", payment_details_id=account)
        >>> payment.payout.account, payment.payout.bank_name
        ('••••3489', 'Chase')
    """

    request_id: str
    client_user_id: str
    payment_details_id: str
    payment_reference: str | None = None
    reference: str | None = None
    wallet: str | None = None
    bank_name: str | None = None
    account: str | None = None
    currency: str | None = None
    rails: str | None = None
    status: str | None = None
    also_listed: str | None = None

    @classmethod
    def of_list(cls, accounts: Iterable[Mapping[str, Any]], account_id: str, **known: str | None) -> Self | None:
        """Return a payout to the first of the accounts with an id; None without one. known: the other attributes."""
        known["payment_details_id"] = account_id
        found = [cls.of_account(each, **known) for each in accounts if str(each.get("id")) == account_id]
        return replace(found[0], also_listed=listed(found[1:]) if found[1:] else None) if found else None

    @classmethod
    def of_account(cls, account: Mapping[str, Any], **known: str | None) -> Self:
        """Return a payout to an account, as `GET .../payment-details` lists it. known: the other attributes."""
        numbers = (account.get(name) for name in _NUMBERS)
        number = next((each for each in numbers if isinstance(each, str) and each), None)
        shown = {"bank_name": account.get("bankName"), "account": number and mask_account(number)}
        shown |= {name: account.get(name) for name in ("currency", "rails", "status")}
        texts = {name: value if isinstance(value, str) else None for name, value in shown.items()}
        return cls(**texts, **known)  # type: ignore[arg-type]  # the ids are among what is known

    @classmethod
    def of_file(cls, saved: object) -> Self | None:
        """Return a payout as `to_dict` wrote it; None for anything else."""
        names = {each.name for each in fields(cls)}
        if not isinstance(saved, Mapping) or not saved.keys() <= names:
            return None
        if not all(isinstance(value, str) or (value is None and name not in _IDS) for name, value in saved.items()):
            return None
        if not saved.keys() >= _IDS:
            return None
        return cls(**saved)

    def to_dict(self) -> dict[str, str | None]:
        """Return the attributes, for a file."""
        return asdict(self)

    @property
    def words(self) -> str:
        """The account as it may be shown, such as "••••3489 at Chase (USD, local)"."""
        kind = ", ".join(filter(None, [(self.currency or "").upper(), self.rails]))
        at = f" at {self.bank_name}" if self.bank_name else ""
        return visible(f"{self.account or 'without a number'}{at}" + (f" ({kind})" if kind else ""))

    def __str__(self) -> str:
        return f"the account {self.words}"

    def __repr__(self) -> str:
        return f"<Payout of {mask('clientUserId', self.client_user_id)} to {self}>"
