"""Example payments by name: an honest one, and bad ones that show what a check finds. All addresses are examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from payerkit.frames import columns, frame_of
from payerkit.models import Payment, PaymentOrder
from payerkit.payment.check import check_payment

if TYPE_CHECKING:
    import pandas as pd

_PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
_FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"  # fUSDC-sepolia
_CONTRACT = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"  # ERC20FeeProxy 0.2.0 on sepolia
_REFERENCE = "44d119773d96f724"
_ORDER = {"payee": _PAYEE, "amount": "10", "invoice_currency": "fUSDC-sepolia", "payment_currency": "fUSDC-sepolia"}
_HONEST: dict[str, Any] = {
    "to": _CONTRACT,
    "value": 0,
    "spender": _CONTRACT,
    "token": _FUSDC,
    "payee": _PAYEE,
    "amount": 10_000_000,
    "fee": 0,
    "fee_wallet": "0x000000000000000000000000000000000000dEaD",
    "reference": _REFERENCE,
}
"""The arguments of the calls of the honest payment; `sample_payments.json` has those that differ in the others."""


def _transaction(members: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the file; if it describes a call of a contract, return the transaction instead."""
    says = _HONEST | members
    if "call" not in members:
        return members
    if says["call"] == "approve":
        return {"to": _FUSDC, "data": "0x095ea7b3" + _words(says["spender"], says["amount"]), "value": 0}
    words = _words(says["token"], says["payee"], says["amount"], 6 * 32, says["fee"], says["fee_wallet"], 8)
    return {"to": says["to"], "data": f"0xc219a14d{words}{says['reference']:0<64}", "value": says["value"]}


def _words(*arguments: int | str) -> str:
    """Return numbers, and addresses as hex, as words of calldata."""
    return "".join(f"{int(each, 16) if isinstance(each, str) else each:064x}" for each in arguments)


@cache
def _samples() -> dict[str, dict[str, Any]]:
    """Return what each sample shows, its transactions, and the other members of its response."""
    file = files(__package__).joinpath("sample_payments.json")
    return dict(json.loads(file.read_text("utf-8"), object_hook=_transaction))


class SamplePayments(Mapping[str, Payment]):
    """Example payments by name, each with its order, and example workbooks; nobody can be paid by them.

    All are for one order: 10 fUSDC on Sepolia, a test network.

    Example:
        >>> check_payment(samples["honest"]).verdict, check_payment(samples["lookalike_payee"]).verdict
        ('ok', 'stop')
        >>> samples.to_frame().set_index("name").loc["burned", "shows"]
        'The money goes to an address that nobody controls.'
    """

    def __getitem__(self, name: str) -> Payment:
        if name not in _samples():
            raise KeyError(f"no sample {name!r}; there are {', '.join(self)}")
        members = {key: value for key, value in _samples()[name].items() if key != "shows"}
        response = {"requestId": f"01{_REFERENCE * 4}", "paymentReference": f"0x{_REFERENCE}", **members}
        return Payment.read(response, order=PaymentOrder(**_ORDER))

    def __iter__(self) -> Iterator[str]:
        return iter(_samples())

    def __len__(self) -> int:
        return len(_samples())

    @staticmethod
    def workbook(name: str) -> Path:
        """Return the path of an example workbook, of which all people and firms are invented.

        "quickbooks-employees.xlsx" lists 300 employees, with damages; "payouts.xlsx" 200 payers, each with the account
        of a payee, with mistakes; "ibans.xlsx" 60 vendors with their IBANs, six of them wrong or odd. Raises KeyError
        for any other name.

        Example:
            >>> len(propose_mapping(samples.workbook("quickbooks-employees.xlsx")))
            15
        """
        folder = Path(__file__).parent / "example_files"
        if name not in (names := sorted(file.name for file in folder.iterdir())):
            raise KeyError(f"no sample workbook {name!r}; there are {', '.join(names)}")
        return folder / name

    def to_frame(self) -> pd.DataFrame:
        """Return what the samples show, and what a check without a policy says.

        Returns:
            One row per sample: `name`, `shows` and `verdict`, all `string`.

        Example:
            >>> samples.to_frame().groupby("verdict").size().to_dict()
            {'look': 2, 'ok': 1, 'stop': 15}
        """
        rows = ((name, _samples()[name]["shows"], check_payment(payment).verdict) for name, payment in self.items())
        return frame_of(rows, columns("name shows verdict"))

    def __repr__(self) -> str:
        return f"<SamplePayments: {', '.join(self)}>"


samples = SamplePayments()
"""The one set of samples."""
