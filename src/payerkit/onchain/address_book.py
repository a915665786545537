"""Names of known wallets, and addresses that only look like one of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from payerkit.onchain.addresses import is_same


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAddress:
    """A wallet with its name. network: None if the name holds on every network."""

    address: str
    name: str
    network: str | None = None


class AddressBook:
    """Known wallets with their names."""

    def __init__(self, entries: Iterable[KnownAddress] = ()) -> None:
        self._entries = tuple(entries)

    def find(self, address: str | None, network: str | None) -> KnownAddress | None:
        """Return the entry of an address, one of this network first; None if it has none for this network."""
        found = [each for each in self._entries if is_same(each.address, address) and each.network in {None, network}]
        return min(found, key=lambda each: each.network is None, default=None)

    def lookalike(self, address: str | None) -> KnownAddress | None:
        """Return a known address with the same first and last four hex digits, if it is another one; else None."""
        shown = _ends(address or "")
        if any(is_same(each.address, address) for each in self._entries):
            return None
        return next((each for each in self._entries if _ends(each.address) == shown), None)


def _ends(address: str) -> tuple[str, str]:
    """Return what people compare of an address: the first and the last four hex digits."""
    return address[2:6].lower(), address[-4:].lower()
