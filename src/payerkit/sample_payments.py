"""Example payments by name: an honest one, and bad ones that show what a check finds.
All addresses are examples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from payerkit.frames import columns, frame_of
from payerkit.models import Payment, PaymentOrder
from payerkit.payments.check import check_payment

if TYPE_CHECKING:
    import pandas as pd

_REFERENCE = "44d119773d96f724"
_ORDER = {
    "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "amount": "10",
    "invoice_currency": "fUSDC-sepolia",
    "payment_currency": "fUSDC-sepolia",
}


@cache
def _samples() -> dict[str, dict[str, Any]]:
    """Return what each sample shows, its transactions, and the other members of its
    response.
    """
    file = files(__package__).joinpath("sample_payments.json")
    return dict(json.loads(file.read_text("utf-8")))


class SamplePayments(Mapping[str, Payment]):
    """Example payments by name, each with its order, and example workbooks; nobody can
    be paid by them.

    All are for one order: 10 fUSDC on Sepolia, a test network.

    Example:
        >>> (
        ...     check_payment(samples["honest"]).verdict,
        ...     check_payment(samples["lookalike_payee"]).verdict,
        ... )
        ('ok', 'stop')
        >>> samples.to_frame().set_index("name").loc["burned", "shows"]
        'The money goes to an address that nobody controls.'
    """

    def __getitem__(self, name: str) -> Payment:
        if name not in _samples():
            raise KeyError(f"no sample {name!r}; there are {', '.join(self)}")
        members = {
            key: value for key, value in _samples()[name].items() if key != "shows"
        }
        response = {
            "requestId": f"01{_REFERENCE * 4}",
            "paymentReference": f"0x{_REFERENCE}",
            **members,
        }
        return Payment.read(response, order=PaymentOrder(**_ORDER))

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"no attribute {name!r}. Write {self._written(name)}.")

    def __call__(self, name: str = "") -> NoReturn:
        """Say how to write it."""
        raise TypeError(f"samples is no function. Write {self._written(name)}.")

    def _written(self, name: str) -> str:
        """Return how to write the sample that a name most likely means."""
        close = get_close_matches(name, [*self], n=1) or ["honest"]
        return f'samples["{close[0]}"]'

    def _ipython_key_completions_(self) -> list[str]:
        """Return what Tab offers in brackets."""
        return [*self]

    def __iter__(self) -> Iterator[str]:
        return iter(_samples())

    def __len__(self) -> int:
        return len(_samples())

    @staticmethod
    def workbook(name: str) -> Path:
        """Return the path of an example workbook, of which all people and firms are
        invented.

        "quickbooks-employees.xlsx" lists 300 employees, with damages; "payouts.xlsx"
        200 payers, each with the account of a payee, with mistakes; "ibans.xlsx" 60
        vendors with their IBANs, six of them wrong or odd. Raises KeyError for any
        other name.

        Example:
            >>> len(propose_mapping(samples.workbook("quickbooks-employees.xlsx")))
            16
        """
        folder = Path(__file__).parent / "example_files"
        names = sorted(file.name for file in folder.iterdir())
        if name not in names:
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
        rows = (
            (name, _samples()[name]["shows"], check_payment(payment).verdict)
            for name, payment in self.items()
        )
        return frame_of(rows, columns("name shows verdict"))

    def __repr__(self) -> str:
        return f"<SamplePayments: {', '.join(self)}>"


samples = SamplePayments()
"""The one set of samples."""
