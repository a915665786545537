"""Example payments by name: an honest one, and bad ones that show what a check finds. All addresses are examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from payerkit import html
from payerkit.frames import frame_of
from payerkit.models import Payment, PaymentOrder
from payerkit.payment.check_payment import check_payment

if TYPE_CHECKING:
    import pandas as pd

_PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
_LOOKALIKE = "0x692311111111111111111111111111111111C7D7"
_STRANGER = "0x1111111111111111111111111111111111111111"
_FEE_WALLET = "0xFee5fEe5Fee5fEe5feE5fee5Fee5fee5fEe5feE5"
_BURN_ADDRESS = "0x000000000000000000000000000000000000dEaD"
_FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"  # fUSDC-sepolia
_FAU = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"  # FAU-sepolia; on mainnet, a payment contract has this address
_CONTRACT = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"  # ERC20FeeProxy 0.2.0 on sepolia
_CONTRACT_ELSEWHERE = "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9"  # the same on matic, but not on sepolia
_REFERENCE = "44d119773d96f724"
_ORDER = {"payee": _PAYEE, "amount": "10", "invoice_currency": "fUSDC-sepolia", "payment_currency": "fUSDC-sepolia"}
_AMOUNT = 10_000_000
_UNLIMITED = 2**256 - 1


def _call(selector: str, *words: int | str) -> str:
    """Return calldata of a selector and words: numbers, and addresses as hex."""
    return f"0x{selector}" + "".join(f"{int(word, 16) if isinstance(word, str) else word:064x}" for word in words)


def _approve(amount: int = _AMOUNT, spender: str = _CONTRACT) -> dict[str, Any]:
    """Return a transaction that lets a contract take tokens."""
    return {"to": _FUSDC, "data": _call("095ea7b3", spender, amount), "value": 0}


def _pay(  # noqa: PLR0913 - the arguments of the contract's function
    *,
    payee: str = _PAYEE,
    amount: int = _AMOUNT,
    token: str = _FUSDC,
    fee: int = 0,
    fee_wallet: str = _BURN_ADDRESS,
    reference: str = _REFERENCE,
    to: str = _CONTRACT,
) -> dict[str, Any]:
    """Return a transaction that pays tokens, with a reference and a fee."""
    data = _call("c219a14d", token, payee, amount, 6 * 32, fee, fee_wallet, 8) + reference.ljust(64, "0")
    return {"to": to, "data": data, "value": 0}


def _declared(percentage: str) -> dict[str, Any]:
    """Return metadata in which the service declares a protocol fee."""
    return {"metadata": {"protocolFee": {"percentage": percentage, "address": _FEE_WALLET}}}


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is to be seen in a payment, its transactions, and the other members of its response."""

    shows: str
    transactions: list[dict[str, Any]]
    others: dict[str, Any] = field(default_factory=dict)


_INTENT = {
    "domain": {
        "name": "Permit2",
        "chainId": 11155111,
        "verifyingContract": "0x000000000022D473030F116dDEE9F6B43aC78BA3",
    },
    "types": {"PermitTransferFrom": [{"name": "spender", "type": "address"}]},
    "primaryType": "PermitTransferFrom",
    "message": {"spender": _STRANGER},
}
_SAMPLES = {
    "honest": _Sample("Exactly what was ordered: 10 fUSDC to the payee.", [_approve(), _pay()]),
    "declared_fee": _Sample(
        "A fee of 0.1 %, which the service declares. A policy can agree to it.",
        [_approve(_AMOUNT + 10_000), _pay(fee=10_000, fee_wallet=_FEE_WALLET)],
        _declared("0.1"),
    ),
    "unlimited_allowance": _Sample("The contract may take all tokens, now and later.", [_approve(_UNLIMITED), _pay()]),
    "other_payee": _Sample("Somebody else is paid.", [_approve(), _pay(payee=_STRANGER)]),
    "lookalike_payee": _Sample(
        "The address begins and ends like the payee's, but is another one.", [_approve(), _pay(payee=_LOOKALIKE)]
    ),
    "burned": _Sample("The money goes to an address that nobody controls.", [_approve(), _pay(payee=_BURN_ADDRESS)]),
    "ten_times": _Sample("Ten times the amount is paid.", [_approve(10 * _AMOUNT), _pay(amount=10 * _AMOUNT)]),
    "other_token": _Sample("Another token is paid.", [_pay(token=_FAU)]),
    "other_network": _Sample(
        "The contract is on Polygon, not on Sepolia: the call succeeds and pays no one.", [_pay(to=_CONTRACT_ELSEWHERE)]
    ),
    "other_reference": _Sample(
        "The service would not recognise the payment.", [_approve(), _pay(reference="0123456789abcdef")]
    ),
    "other_spender": _Sample("Somebody else may take the tokens.", [_approve(spender=_STRANGER), _pay()]),
    "undeclared_fee": _Sample(
        "A fee goes to an address that nothing declares.",
        [_approve(_AMOUNT + 10_000), _pay(fee=10_000, fee_wallet=_STRANGER)],
    ),
    "high_fee": _Sample(
        "The service declares a fee of 12 %, and takes it.",
        [_approve(11_200_000), _pay(fee=1_200_000, fee_wallet=_FEE_WALLET)],
        _declared("12"),
    ),
    "second_payment": _Sample(
        "A second payment follows, to somebody else.", [_approve(2 * _AMOUNT), _pay(), _pay(payee=_STRANGER)]
    ),
    "hidden_transaction": _Sample(
        "A transaction stands outside the list of transactions, where a program may still pick it up.",
        [_approve(), _pay()],
        {"batchPaymentTransaction": _pay(payee=_STRANGER)},
    ),
    "message_to_sign": _Sample(
        "A message to sign stands beside the transactions: it may give tokens away without a transaction.",
        [_approve(), _pay()],
        {"paymentIntent": _INTENT},
    ),
    "unknown_function": _Sample(
        "A call that payerkit cannot read stands beside the payment.",
        [_approve(), _pay(), {"to": _STRANGER, "data": "0xdeadbeef", "value": 0}],
    ),
    "value_beside_tokens": _Sample(
        "Native coins are sent along with tokens: the contract refuses them.", [_approve(), _pay() | {"value": "1"}]
    ),
}
"""The samples by name. What is not said of one is as in the honest payment."""


class SamplePayments(Mapping[str, Payment]):
    """Example payments by name, each with its order, to learn from and to test with; nobody can be paid by them.

    All are for one order: 10 fUSDC on Sepolia, a test network.

    Example:
        >>> check_payment(samples["honest"]).verdict, check_payment(samples["lookalike_payee"]).verdict
        ('ok', 'stop')
        >>> samples.to_frame().set_index("name").loc["burned", "shows"]
        'The money goes to an address that nobody controls.'
    """

    def __getitem__(self, name: str) -> Payment:
        if name not in _SAMPLES:
            raise KeyError(f"no sample {name!r}; there are {', '.join(_SAMPLES)}")
        sample = _SAMPLES[name]
        response = {
            "requestId": f"01{_REFERENCE * 4}",
            "paymentReference": f"0x{_REFERENCE}",
            "transactions": sample.transactions,
            **sample.others,
        }
        return Payment.read(response, order=PaymentOrder(**_ORDER))

    def __iter__(self) -> Iterator[str]:
        return iter(_SAMPLES)

    def __len__(self) -> int:
        return len(_SAMPLES)

    def to_frame(self) -> pd.DataFrame:
        """Return what the samples show, and what a check without a policy says.

        Returns:
            One row per sample: `name`, `shows` and `verdict`, all `string`.

        Example:
            >>> samples.to_frame().groupby("verdict").size().to_dict()
            {'look': 2, 'ok': 1, 'stop': 15}
        """
        return frame_of(self._rows(), dict.fromkeys(("name", "shows", "verdict"), "string"))

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(name, _SAMPLES[name].shows, check_payment(payment).verdict) for name, payment in self.items()]

    def __repr__(self) -> str:
        return f"<SamplePayments: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        rows = [(html.code(name), shows, html.verdict(verdict)) for name, shows, verdict in self._rows()]
        return html.picture(html.grid(("name", "what it shows", "verdict"), rows, caption="Sample payments"))


samples = SamplePayments()
"""The one set of samples."""
