"""Requests that are paid out to bank accounts: created, and turned into transactions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from eth_utils import is_address
from sqlalchemy import func, insert, select

from payerkit.onchain.currencies import find_currency, native_currency
from payerkit.service.bills import OPERATOR_ADDRESS, find_request, order_to_operator
from payerkit.service.clock import format_time
from payerkit.service.encoding import payment_reference
from payerkit.service.errors import Problem
from payerkit.service.money import Rates
from payerkit.service.payments import check_order, create_transactions, payment_metadata
from payerkit.service.settings import Settings
from payerkit.service.states import is_compliant
from payerkit.service.store import Store
from payerkit.service.stored_rows import RequestRow
from payerkit.service.wallet import read_holdings, read_rates

_PAYOUT_CURRENCIES = {"USDC-mainnet", "USDC-matic", "USDC-arbitrum-one", "fUSDC-sepolia"}
"""What can be paid out to a bank (operator's documentation): USDC on four networks."""

QUOTE_SECONDS = 900
"""How long the amounts of a payment are promised; invented."""

_LEAST_BY_RAILS = {("USD", "local"): 1, ("USD", "swift"): 30, ("EUR", "local"): 1, ("EUR", "swift"): 30}
_LEAST = {
    "AED": 100,
    "AUD": 40,
    "CAD": 40,
    "CHF": 40,
    "CNY": 200,
    "GBP": 20,
    "HKD": 100,
    "IDR": 500_000,
    "INR": 2000,
    "JPY": 3000,
    "KES": 4000,
    "KRW": 40_000,
    "MXN": 400,
    "MYR": 150,
    "NZD": 50,
    "PHP": 2000,
    "SEK": 250,
    "SGD": 40,
    "THB": 1000,
}
"""The least amounts of payouts by the account's currency, for some by its rails (operator's documentation, 2025-11)."""


def create_payout_request(store: Store, body: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Store a request and return the response's body. Raises Problem for one that cannot be paid out."""
    order = check_order(order_to_operator(body), read_rates(store), settings.fee_rate)
    if order.currency.id not in _PAYOUT_CURRENCIES:
        listed = ", ".join(sorted(_PAYOUT_CURRENCIES))
        message = f"cannot be paid out to a bank; choose one of {listed}"
        raise Problem.of_field("paymentCurrency", message, "currency_payout")
    stored = json.dumps(body, sort_keys=True)
    reference = body.get("reference")
    key = store.lookup_key(f"reference {reference}") if reference is not None else None

    def attempt() -> dict[str, Any]:
        ordinal = store.ordinal(select(func.count(RequestRow.id)).where(RequestRow.key == key))
        request_id = "01" + store.identifiers.token_bytes(32, "payout request", stored, ordinal).hex()
        salt = store.identifiers.token_bytes(8, "payout salt", stored, ordinal).hex()
        on_chain = "0x" + payment_reference(request_id, salt, OPERATOR_ADDRESS).hex()
        row = {
            "world_id": store.world_id,
            "request_id": request_id,
            "payment_reference": on_chain,
            "key": key,
            "sealed": store.database.cipher.seal(f"request {request_id}", body),
        }
        with store.database.write() as connection:
            connection.execute(insert(RequestRow), row)
        return {"requestId": request_id, "paymentReference": on_chain}

    return store.database.retry_conflicts(attempt)


def pay_request(
    store: Store,
    request_id: str,
    client_user_id: str,
    detail_id: str,
    wallet: str | None,
    settings: Settings,
) -> dict[str, Any]:
    """Return the transactions that pay a request out to an account. Raises Problem if that is not possible yet."""
    request = find_request(store, request_id)
    if wallet is not None and not (wallet.startswith("0x") and is_address(wallet)):
        raise Problem.of_field("wallet", "must be an address: 0x and 40 hex digits", "address_format")
    account = find_payable_account(store, client_user_id, detail_id)
    rates = read_rates(store)
    order = check_order(request.order, rates, settings.fee_rate)
    _check_least(request.order, account, rates)
    coin = native_currency(order.currency.network)
    holdings = read_holdings(store, [order.currency, *([coin] if coin else [])])
    allowance = 0 if wallet is None else holdings[order.currency.id].allowance
    transactions = create_transactions(
        order, bytes.fromhex(request.payment_reference[2:]), settings.fee_recipient, allowance
    )
    metadata = payment_metadata(order, transactions, holdings, coin)
    metadata["hasEnoughAllowance"] = allowance >= order.total
    if wallet is None:
        metadata = {name: value for name, value in metadata.items() if not name.startswith("hasEnough")}
    metadata |= {"protocolFee": settings.protocol_fee} if settings.protocol_fee else {}
    if settings.clock == "wall":  # a manual clock stands in the past, and who checks a quote looks at a real one
        metadata["quoteExpiresAt"] = format_time(float(int(store.now())) + QUOTE_SECONDS)
    return {"transactions": [each.to_json() for each in transactions], "metadata": metadata}


def find_payable_account(store: Store, client_user_id: str, detail_id: str) -> Mapping[str, Any]:
    """Return the record of an account that can be paid. Raises Problem if payer or account may not be paid yet."""
    payer = store.find_payer(client_user_id)
    found = store.list_details(client_user_id, detail_id)
    if not found:
        raise Problem(404, f"Payment detail {detail_id} not found")
    if not is_compliant(payer.kyc, payer.agreement):
        raise Problem(403, "The payer is not compliant yet", code="not_yet_passed_kyc_kyb")
    if found[0]["status"] not in {"approved", "verified"}:
        message = f"is {found[0]['status']}: only an approved account can be paid"
        raise Problem.of_field("paymentDetailsId", message, "account_not_approved")
    return found[0]


def _check_least(order: Mapping[str, str], account: Mapping[str, Any], rates: Rates) -> None:
    """Raise Problem if an order is below the least amount of an account's currency and rails."""
    currency, rails = str(account["currency"]).upper(), str(account["rails"])
    least = _LEAST_BY_RAILS.get((currency, rails), _LEAST.get(currency))
    invoice, paid_out = find_currency(order["invoiceCurrency"]), find_currency(currency)
    if least is None or invoice is None or paid_out is None:
        return
    if Fraction(Decimal(order["amount"])) * rates.exchange_rate(invoice, paid_out) < least:
        message = f"is below the least amount: {least} {currency} by {rails} rails"
        raise Problem.of_field("amount", message, "below_currency_limit")
