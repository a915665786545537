"""The policy of payments: what you agreed to once, for all payments, and the TOML file that keeps it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from payerkit.errors import InvalidInput, kind_of, located, without_internal_frames
from payerkit.onchain.addresses import are_alike, is_same, read_address, with_checksum
from payerkit.onchain.amounts import format_number, format_percentage, positive_number, read_percentage, read_rate
from payerkit.onchain.currencies import (
    Currency,
    find_currency,
    find_token,
    is_currency_id,
    lookalike_id,
    network_in_id,
    networks,
    read_network,
)
from payerkit.policy.address_book import AddressBook, KnownAddress, read_text
from payerkit.wording import count_of, in_words, visible

if TYPE_CHECKING:
    from payerkit.policy.address_book import AddressSource


T = TypeVar("T")

UNLIMITED_WORD = "unlimited"
"""The word for an allowance without a limit."""


def fee_line(address: str, percent: Decimal | str, name: str = "", most: Decimal | None = None) -> str:
    """Return the lines that agree to a fee, up to a percentage of the amount. most: in whole units, if limited."""
    return _table("[[fees]]", address=with_checksum(address), max_percent=percent, max_amount=most, name=name or None)


def allowance_line(token: str, spender: str, most: Decimal | None) -> str:
    """Return the lines that accept an allowance of a token, by its id. most: in whole units; None for no limit."""
    limit = UNLIMITED_WORD if most is None else most
    return _table("[[allowances]]", token=token, spender=with_checksum(spender), most=limit)


def address_line(address: str, name: str, network: str | None = None, role: str = "payee") -> str:
    """Return the lines of a known wallet. network: None if the name holds on every network."""
    shown_role = None if role == "payee" else role
    return _table("[[addresses]]", address=with_checksum(address), name=name, network=network, role=shown_role)


def token_line(id: str, network: str, address: str, decimals: int | None) -> str:  # noqa: A002 - the member's name
    """Return the lines of a further token. decimals: None to let the user fill them in."""
    known = "?" if decimals is None else decimals
    return _table("[[tokens]]", id=id, network=network, address=with_checksum(address), decimals=known)


def rate_lines(rates: Mapping[tuple[str, str], Decimal | str]) -> str:
    """Return the lines with the price of one unit of a payment currency in an invoice currency, by both ids."""
    return _table("[rates]", **{_value(f"{payment}/{invoice}"): rate for (payment, invoice), rate in rates.items()})


PERCENTAGES = ("rate_tolerance", "peg_tolerance", "batch_fee")
"""Members of a policy that are percentages and belong to no table."""


def setting_line(name: str, value: Decimal | str) -> str:
    """Return the line of a percentage that belongs to no table, such as `batch_fee`."""
    return f"{name} = {_value(value)}"


def _table(head: str, **members: Decimal | str | int | None) -> str:
    lines = [f"{name} = {_value(value)}" for name, value in members.items() if value is not None]
    return "\n".join([head, *lines])


def _value(value: Decimal | str | int) -> str:
    """Return a whole number, or a basic string of TOML, for which JSON escapes quotes and backslashes alike.

    A decimal is written as a person writes it; what is invisible in a text is written out.
    """
    if isinstance(value, int):
        return str(value)
    return json.dumps(format_number(value) if isinstance(value, Decimal) else visible(value), ensure_ascii=False)


_EMPTY_BOOK = AddressBook()

DecimalLike = Decimal | int | str
"""An exact number, as a user gives it."""

RateSource = Callable[[str, str], DecimalLike | None]
"""Returns the price of one unit of a payment currency in an invoice currency, both by id; None if it is not known."""

MOST_PERCENT = 20
"""Percent up to which a policy can agree to anything: what is further off has to be corrected, not agreed to."""


@dataclass(frozen=True, slots=True, init=False)
class AgreedFee:
    """A fee that was agreed.

    Attributes:
        address: Who receives it.
        max_percent: The highest percentage of the amount, from 0 to 20; given as a Decimal, an int or text.
        name: What people call it; may be empty.
        max_amount: The highest amount of the fee, in whole units of the currency that it is in; None for any amount
            that its share allows.

    Raises:
        InvalidInput: The address is malformed or mistyped, the percentage is not from 0 to 20, or the amount is not a
            positive number.

    Example:
        >>> AgreedFee(address="0xfee5000000000000000000000000000000000001", max_percent="0.1").max_percent
        Decimal('0.1')
    """

    address: str
    max_percent: Decimal
    name: str = ""
    max_amount: Decimal | None = None

    def __init__(
        self, *, address: str, max_percent: DecimalLike, name: str = "", max_amount: DecimalLike | None = None
    ) -> None:
        _set(
            self,
            address=read_address(address, "address"),
            max_percent=_read_percentage(max_percent, "max_percent"),
            name=read_text(name, "name"),
            max_amount=None if max_amount is None else _read_amount(max_amount, "max_amount"),
        )


@dataclass(frozen=True, slots=True, init=False)
class AcceptedAllowance:
    """An allowance that is accepted although it is more than a payment needs.

    Attributes:
        token: A currency id.
        spender: The address that may take the tokens.
        most: The highest amount, in whole units of the token; "unlimited" or None for any amount.

    Raises:
        InvalidInput: The address is malformed or mistyped, or the amount is not a positive number.

    Example:
        >>> proxy = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
        >>> AcceptedAllowance(token="fUSDC-sepolia", spender=proxy, most="1000").most
        Decimal('1000')
    """

    token: str
    spender: str
    most: Decimal | None = None

    def __init__(self, *, token: str, spender: str, most: DecimalLike | None = None) -> None:
        is_unlimited = most in (None, UNLIMITED_WORD)
        limit = None if is_unlimited else _read_amount(most, "most", other=', or "unlimited"')
        _set(self, token=read_text(token, "token"), spender=read_address(spender, "spender"), most=limit)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PaymentPolicy:
    """What you agreed to once, for all payments; `check_payment` compares with it what an order does not name.

    What it agrees to is "ok". It never clears what contradicts an order. Keep it in a file, which a person can read and
    edit: `PaymentPolicy.read(path)` and `.save(path)`. `print(policy)` shows what the file would hold.

    Attributes:
        fees: The agreed fees, as `AgreedFee` or dicts. A fee of a payment is agreed if its recipient is named here, and
            neither its share nor its amount is higher.
        allowances: Allowances that are accepted although they are more than a payment needs.
        addresses: The `AddressBook`, or what `AddressBook.read` takes. With None, no payee is called new.
        rates: The price of one unit of a payment currency in an invoice currency, by both ids, as in
            `{("ETH-sepolia-sepolia", "USD"): "2500"}`.
        tokens: Tokens that payerkit's table does not have, each as a dict with `id`, `network`, `address` and
            `decimals`; the id also gives the symbol.
        rate_tolerance: By how many percent an amount may differ from what a rate asks for, and so may the maximum of a
            payment that is converted on execution; None if a person is to look at each. This and the two below are at
            most 20.
        peg_tolerance: By how many percent the amount in a token that is pegged to the invoice currency may differ from
            one to one, without a rate; None if a person is to look at each.
        batch_fee: The highest percentage that a batch contract may take in addition; the calldata does not show it.
            None if a person is to look at each batch.
        nodes: The address of a node by network, as in `{"sepolia": "https://node.example.com"}`; `check_payment` lets
            it execute payments of that network. It may hold a key: then keep it out of shared files.
        rate_source: A function that returns a rate that `rates` does not have; it is not saved.
        source: The file that the policy was read from; "" for one that was made in Python.

    Raises:
        InvalidInput: A member has another type or value than described, or two entries are about the same.

    Example:
        >>> fee = AgreedFee(address="0xfee5000000000000000000000000000000000001", max_percent="1")
        >>> print(PaymentPolicy(fees=[fee]))
        [[fees]]
        address = "0xfeE5000000000000000000000000000000000001"
        max_percent = "1"
    """

    fees: tuple[AgreedFee, ...]
    allowances: tuple[AcceptedAllowance, ...]
    addresses: AddressBook | None
    rates: Mapping[tuple[str, str], Decimal]
    tokens: tuple[Currency, ...]
    rate_tolerance: Decimal | None
    peg_tolerance: Decimal | None
    batch_fee: Decimal | None
    nodes: Mapping[str, str]
    rate_source: RateSource | None
    source: str = field(compare=False)
    book: AddressBook = field(init=False, compare=False)
    """The address book, or an empty one."""

    def __init__(  # noqa: PLR0913 - each has a name
        self,
        *,
        fees: Iterable[AgreedFee | Mapping[str, Any]] = (),
        allowances: Iterable[AcceptedAllowance | Mapping[str, Any]] = (),
        addresses: AddressBook | AddressSource | None = None,
        rates: Mapping[tuple[str, str], DecimalLike] | None = None,
        tokens: Iterable[Currency | Mapping[str, Any]] = (),
        rate_tolerance: DecimalLike | None = None,
        peg_tolerance: DecimalLike | None = None,
        batch_fee: DecimalLike | None = None,
        nodes: Mapping[str, str] | None = None,
        rate_source: RateSource | None = None,
        source: str = "",
    ) -> None:
        if addresses is not None and not isinstance(addresses, AddressBook):
            addresses = AddressBook.read(addresses)
        settings = {"rate_tolerance": rate_tolerance, "peg_tolerance": peg_tolerance, "batch_fee": batch_fee}
        _set(
            self,
            fees=_read_entries("fees", fees),
            allowances=_read_entries("allowances", allowances),
            addresses=addresses,
            book=_EMPTY_BOOK if addresses is None else addresses,
            rates=_read_rates({} if rates is None else rates),
            tokens=_read_entries("tokens", tokens),
            nodes=_read_nodes({} if nodes is None else nodes),
            rate_source=rate_source,
            source=source,
            **{name: None if each is None else _read_percentage(each, name) for name, each in settings.items()},
        )
        _check_single("fees", [each.address for each in self.fees])
        _check_single("allowances", [(self._id(each.token), each.spender) for each in self.allowances])
        _check_single("tokens", [each.id.lower() for each in self.tokens])
        _check_single("rates", [(self._id(payment), self._id(invoice)) for payment, invoice in self.rates])
        decimals = dict.fromkeys((each.network, each.address.lower(), each.decimals) for each in self.tokens)
        _check_single("tokens", [each[:2] for each in decimals])  # amounts would be right by one of them only

    @classmethod
    @without_internal_frames
    def read(cls, path: str | Path) -> Self:
        """Read a policy from a TOML file.

        Args:
            path: The file. Its `address_book`, if it names one, is the path of a CSV file that `AddressBook.read`
                takes, from the folder of this file.

        Returns:
            The policy.

        Raises:
            InvalidInput: The file cannot be read, or something in it is unknown, missing or wrong; the message names
                the table and the member.

        Example:
            >>> PaymentPolicy(batch_fee="0.3").save("policy.toml")
            >>> PaymentPolicy.read("policy.toml").batch_fee
            Decimal('0.3')
        """
        with located(Path(path).name):
            return cls(**_read_policy_file(Path(path)), source=str(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write the policy to a TOML file, replacing an existing one; all but `rate_source`.

        Args:
            path: The file. The address book is written into it, too. Comments of the old file are lost.

        Raises:
            OSError: The file cannot be written.

        Example:
            >>> PaymentPolicy(peg_tolerance="1").save("policy.toml")
            >>> print(PaymentPolicy.read("policy.toml"))
            peg_tolerance = "1"
        """
        Path(path).write_text(f"{self}\n" if str(self) else "", "utf-8")

    def with_lines(self, lines: str) -> Self:
        """Return the policy with the lines of a finding, which agree to a fee or name a wallet.

        Args:
            lines: `Finding.policy_lines`. A fee takes the place of one that was agreed for the same recipient.

        Example:
            >>> lines = initiate_payment(client, order).card(rate="2500").findings.warnings[0].policy_lines
            >>> len(PaymentPolicy().with_lines(lines).fees)
            1
        """
        added = tomllib.loads(lines, parse_float=Decimal)
        fees, wallets = (_read_entries(name, added.get(name, ())) for name in ("fees", "addresses"))
        others = [fee for fee in self.fees if fee.address not in {each.address for each in fees}]
        book = AddressBook([*(self.addresses or ()), *wallets]) if wallets else self.addresses
        return replace(self, fees=(*others, *fees), addresses=book)

    def __str__(self) -> str:
        parts = [
            "\n".join([setting_line(*each) for each in self.percentages.items()]),
            *(fee_line(each.address, each.max_percent, each.name, each.max_amount) for each in self.fees),
            *(allowance_line(each.token, each.spender, each.most) for each in self.allowances),
            *(address_line(one.address, one.name, one.network, one.role) for one in self.addresses or ()),
            *(token_line(one.id, one.network, one.address, one.decimals) for one in self.tokens),
            rate_lines(self.rates) if self.rates else "",
            _table("[nodes]", **self.nodes) if self.nodes else "",
        ]
        return "\n\n".join(filter(None, parts))

    def __repr__(self) -> str:
        return f"<PaymentPolicy: {self.summary}>"

    @property
    def summary(self) -> str:
        """What the policy holds, in numbers: a notebook saves what it shows, and the entries have names."""
        counts = {
            "agreed fee": self.fees,
            "accepted allowance": self.allowances,
            "rate": self.rates,
            "further token": self.tokens,
        }
        words = [count_of(len(each), name) for name, each in counts.items() if each]
        book = self.addresses
        words += [] if book is None else [f"an address book{' with warnings' * bool(book.findings)}"]
        words += [f"{in_words(name)} {format_percentage(each)}" for name, each in self.percentages.items()]
        words += ["a source of rates"] if self.rate_source else []
        return ", ".join(words) or "none"

    @property
    def percentages(self) -> dict[str, Decimal]:
        """The percentages that are set and belong to no table, by name."""
        settings = {name: getattr(self, name) for name in PERCENTAGES}
        return {name: value for name, value in settings.items() if value is not None}

    def agreed_fee(self, address: str | None) -> AgreedFee | None:
        """Return the fee that was agreed for a recipient, or None."""
        return next((fee for fee in self.fees if is_same(fee.address, address)), None)

    def lookalike(self, address: str | None) -> str | None:
        """Return a known wallet, of the address book or of an agreed fee, that another wallet is easily taken for.

        Return None for a wallet that is itself known.
        """
        if address is None or self.book.entries(address) or self.agreed_fee(address):
            return None
        known = (each.address for each in (self.book.lookalike(address), *self.fees) if each is not None)
        return next((each for each in known if are_alike(each, address)), None)

    def accepts_allowance(self, token: str, spender: str | None, amount: Decimal | None) -> bool:
        """Return True if an allowance is accepted. token: its id. amount: in whole units; None if that is not known."""
        found = [each for each in self.allowances if is_same(each.spender, spender)]
        mosts = [each.most for each in found if self._id(each.token) == self._id(token)]
        return any(most is None or (amount is not None and amount <= most) for most in mosts)

    def _id(self, currency_id: str) -> str:
        """Return the same id, in lower case, for all ids of a currency."""
        known = self.find_currency(currency_id)
        return (currency_id if known is None else known.id).lower()

    def rate(self, payment_currency: str, invoice_currency: str) -> Decimal | None:
        """Return the price of one unit of the payment currency in the invoice currency; None if it is not known.

        Raises InvalidInput if `rate_source` raises something, or returns anything but a positive number.
        """
        for (payment, invoice), rate in self.rates.items():
            if self._id(payment) == self._id(payment_currency) and self._id(invoice) == self._id(invoice_currency):
                return rate
        if self.rate_source is None:
            return None
        try:
            found = self.rate_source(payment_currency, invoice_currency)
        except Exception as error:
            words = f"{kind_of(error)} was raised for {visible(f'{payment_currency}/{invoice_currency}')}"
            raise InvalidInput(
                f"rate_source: {words}. Correct the function; it returns None for an unknown rate."
            ) from error
        return None if found is None else read_rate(found, "rate_source")

    def find_currency(self, currency_id: str) -> Currency | None:
        """Return a currency by its id, from payerkit's table or from the further tokens; None if neither has it.

        A further token at an address of the table is the token of the table, under another id; so is one at the address
        of an earlier one.
        """
        if (known := find_currency(currency_id)) is not None:
            return known
        own = next((each for each in self.tokens if each.id.lower() == currency_id.lower()), None)
        return None if own is None else self.find_token(own.network, own.address)

    def find_token(self, network: str, address: str) -> Currency | None:
        """Return the token at an address of a network; tokens of the table come before those of the policy."""
        own = (each for each in self.tokens if each.network == network and is_same(each.address, address))
        return find_token(network, address) or next(own, None)

    def name_of(self, address: str | None, network: str | None) -> str | None:
        """Return the name of a wallet, from the address book or of an agreed fee; None if it has none."""
        known, fee = self.book.find(address, network), self.agreed_fee(address)
        return (known.name if known else "") or (fee.name if fee else "") or None


def _set(instance: object, **members: Any) -> None:
    """Set the members of a frozen object that is being made."""
    for name, value in members.items():
        object.__setattr__(instance, name, value)


def _read_nodes(nodes: Any) -> dict[str, str]:
    if not isinstance(nodes, Mapping):
        raise InvalidInput('nodes: expected a table of addresses by network, such as sepolia = "https://...".')
    return {read_network(name): read_text(url, f"nodes: {name}") for name, url in nodes.items()}


def _read_percentage(value: object, name: str) -> Decimal:
    number = read_percentage(value)
    if number is None or number > MOST_PERCENT:
        raise InvalidInput(f'{name}: expected a percentage from 0 to {MOST_PERCENT}, such as "0.1".')
    return number


def _read_amount(value: object, name: str, *, other: str = "") -> Decimal:
    number = positive_number(value)
    if number is None:
        raise InvalidInput(f'{name}: expected a positive number, such as "1000"{other}.')
    return number


def symbol_in(currency_id: str, network: str) -> str:
    """Return the symbol in a currency id, which comes before the network."""
    ending = f"-{network}"
    return currency_id[: -len(ending)] if currency_id.lower().endswith(ending) else currency_id


def _token(*, id: str, network: str, address: str, decimals: int) -> Currency:  # noqa: A002 - a member
    read_text(id, "id")
    if not is_currency_id(id):
        raise InvalidInput("id: expected printable ASCII characters: others may only look like those of another id.")
    if alike := lookalike_id(id):
        raise InvalidInput(f"id: it looks like {alike}, but is another id. Copy it from the service, or type it again.")
    if read_text(network, "network") not in networks():
        raise InvalidInput('network: expected a name as in currency ids, such as "sepolia".')
    if type(decimals) is not int or not 0 <= decimals <= 36:
        raise InvalidInput("decimals: expected a number from 0 to 36, as the token's contract has it.")
    named = network_in_id(id)
    if named is not None and named.name != network:
        raise InvalidInput(f"network: the id ends with {named.name}. Correct one of them.")
    place, listed, same = read_address(address, "address"), find_token(network, address), find_currency(id)
    if listed is not None and listed.decimals != decimals:  # then one of the two is wrong
        raise InvalidInput(f"decimals: the token list has {listed.decimals} for this address, as {listed.id}.")
    if same is not None and same != listed:
        raise InvalidInput(f"id: in the token list, {same.id} is another token. Choose another id.")
    symbol = symbol_in(id, network)
    return Currency(id=id, kind="erc20", network=network, symbol=symbol, decimals=decimals, address=place)


def _check_single(name: str, keys: list[Any]) -> None:
    """Raise InvalidInput for two entries about the same: one of them would have no effect."""
    places: dict[Any, int] = {}
    for number, key in enumerate(keys, 1):
        if (first := places.setdefault(key, number)) != number:
            raise InvalidInput(f"{name}: entry {number} is about the same as entry {first}. Keep one of them.")


_SETTINGS = (*PERCENTAGES, "address_book")
_AT_THE_TOP = f"{', '.join(_SETTINGS)} stand at the top of the file."

_ENTRIES: Mapping[str, tuple[type, Callable[..., Any]]] = {
    "fees": (AgreedFee, AgreedFee),
    "allowances": (AcceptedAllowance, AcceptedAllowance),
    "addresses": (KnownAddress, KnownAddress),
    "tokens": (Currency, _token),
}
"""The entries of each table, which begins with [[name]], and what makes them."""


def _read_entries(table: str, entries: Any) -> tuple[Any, ...]:
    """Return the entries of a table, each an object or a dict of its members. Raises InvalidInput."""
    kind, make = _ENTRIES[table]
    if isinstance(entries, Mapping) or not isinstance(entries, Iterable):
        raise InvalidInput(f"{table}: expected a list. In a file, write [[{table}]] above the members of each entry.")
    found = []
    for number, entry in enumerate(entries, 1):
        with located(f"[[{table}]] {number}"):
            if not isinstance(entry, Mapping | kind):
                raise InvalidInput(f"expected a table of members, got {kind_of(entry)}.")
            found.append(_make(make, entry) if isinstance(entry, Mapping) else entry)
    return tuple(found)


def _make(make: Callable[..., Any], entry: Mapping[str, Any]) -> Any:
    """Return the object that an entry describes. Raises InvalidInput for a member that is unknown or missing."""
    known = {name: each.default for name, each in signature(make).parameters.items() if name != "source"}
    for name in entry:
        if name not in known:
            raise InvalidInput(f"{visible(str(name))}: not a member. There are {', '.join(known)}; {_AT_THE_TOP}")
    for name, default in known.items():
        if name not in entry and (default is Parameter.empty or name == "most"):  # no limit is not to be forgotten
            raise InvalidInput(f"{name}: missing. Add it.")
    return make(**entry)


def _read_rates(rates: Any) -> dict[tuple[str, str], Decimal]:
    """Return rates by both ids, which the last slash separates in a file. Raises InvalidInput."""
    if not isinstance(rates, Mapping):
        raise InvalidInput("rates: expected a table. Write [rates] above its members.")
    found = {}
    for currencies, rate in rates.items():
        is_pair = isinstance(currencies, tuple)
        pair = currencies if is_pair else str(currencies).rpartition("/")[::2]
        name = visible("/".join(map(str, pair)) if is_pair else str(currencies))
        if len(pair) != 2 or not all(isinstance(each, str) and each for each in pair):
            raise InvalidInput(
                f'rates: {name}: expected both ids, such as "ETH-sepolia-sepolia/USD" = "2500"; {_AT_THE_TOP}'
            )
        found[pair] = read_rate(rate, f"rates: {name}")
    return found


NO_POLICY = PaymentPolicy()
"""Nothing was agreed."""


def given_policy(policy: PaymentPolicy | None) -> PaymentPolicy:
    """Return a given policy, or `NO_POLICY` for None. Raises InvalidInput for anything else."""
    if policy is None:
        return NO_POLICY
    if not isinstance(policy, PaymentPolicy):
        raise InvalidInput(f"policy: give a PaymentPolicy, such as PaymentPolicy.read(path); got {kind_of(policy)}.")
    return policy


def _read_policy_file(path: Path) -> dict[str, Any]:
    """Return the arguments of the policy in a file. Raises InvalidInput."""
    content = _read_toml(path)
    for name in content:
        if name not in {*_SETTINGS, *_ENTRIES, "rates", "nodes"}:
            known = f"{', '.join(_SETTINGS)}, {', '.join(f'[[{each}]]' for each in _ENTRIES)}, [rates] and [nodes]"
            raise InvalidInput(f"{visible(name)}: not a member of a policy. There are {known}.")
    has_book = "addresses" in content or "address_book" in content
    book = _read_book(path, content.pop("address_book")) if "address_book" in content else ()
    entries = enumerate(_read_entries("addresses", content.pop("addresses", ())), 1)
    own = [replace(each, source=f"[[addresses]] {number}") for number, each in entries]
    return content | {"addresses": AddressBook([*book, *own]) if has_book else None}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror})"
    except (ValueError, RecursionError) as error:  # also of another encoding, or with an endless number
        problem = f"not valid TOML: {visible(str(error))}"
    raise InvalidInput(f"{problem}.")


def _read_book(path: Path, name: Any) -> AddressBook:
    with located("address_book"):
        return AddressBook.read(path.parent / read_text(name, "path"))
