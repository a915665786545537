"""The policy of payments: what you agreed to once, for all payments, and the TOML file
that keeps it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    field_serializer,
    model_validator,
)

from payerkit.disk import save_file
from payerkit.errors import InvalidInput, kind_of, located, without_internal_frames
from payerkit.payments.address_book import AddressBook
from payerkit.payments.onchain.addresses import are_alike, is_same, with_checksum
from payerkit.payments.onchain.amounts import (
    format_number,
    format_percentage,
    positive_number,
    read_percentage,
    read_rate,
)
from payerkit.payments.onchain.currencies import (
    Currency,
    find_currency,
    find_token,
    is_currency_id,
    lookalike_id,
    network_in_id,
    read_network,
)
from payerkit.payments.policy_model import (
    AT_THE_TOP,
    PERCENTAGES,
    Address,
    PolicyModel,
)
from payerkit.wording import count_of, in_words, visible

UNLIMITED_WORD = "unlimited"
"""The word for an allowance without a limit."""


_Member = Decimal | str | int | None


def entry_lines(table: str, **members: _Member) -> str:
    """Return the lines of an entry of a table, such as "fees", without the members that
    are None.
    """
    return _table(f"[[{table}]]", members)


def rate_lines(rates: Mapping[tuple[str, str], Decimal | str]) -> str:
    """Return the lines with the price of one unit of a payment currency in an invoice
    currency, by both ids.
    """
    members = {_value("/".join(pair)): rate for pair, rate in rates.items()}
    return _table("[rates]", members)


def setting_line(name: str, value: Decimal | str) -> str:
    """Return the line of a percentage that belongs to no table, such as `batch_fee`."""
    return f"{name} = {_value(value)}"


def known_members_line(names: Iterable[str]) -> str:
    """Return the line that names members of responses that the user knows."""
    listed = ", ".join(_value(name) for name in dict.fromkeys(names))
    return f"known_members = [{listed}]"


def _table(head: str, members: Mapping[str, _Member]) -> str:
    lines = [head]
    for name, value in members.items():
        if value is not None:
            lines.append(f"{name} = {_value(value)}")
    return "\n".join(lines)


def _value(value: Decimal | str | int) -> str:
    """Return a whole number, or a basic string of TOML, for which JSON escapes quotes
    and backslashes alike.

    A decimal is written as a person writes it; an address has its checksum, and what is
    invisible in a text is written out.
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        text = format_number(value)
    else:
        text = with_checksum(value)
    return json.dumps(text, ensure_ascii=False)


_EMPTY_BOOK = AddressBook()

RateSource = Callable[[str, str], Decimal | int | str | None]
"""Returns the price of one unit of a payment currency in an invoice currency, both by
id; None if it is not known.
"""

MOST_PERCENT = 20
"""Percent up to which a policy can agree to anything: what is further off has to be
corrected, not agreed to.
"""


def _percentage(value: object, info: ValidationInfo) -> Decimal:
    number = read_percentage(value)
    if number is None or number > MOST_PERCENT:
        raise InvalidInput(
            f"{info.field_name}: expected a percentage from 0 to {MOST_PERCENT}, such"
            ' as "0.1".'
        )
    return number


def _limit(value: object, info: ValidationInfo) -> Decimal | None:
    if value is None or value == UNLIMITED_WORD:
        return None
    number = positive_number(value)
    if number is None:
        raise InvalidInput(
            f'{info.field_name}: expected a positive number, such as "1000", or'
            f' "{UNLIMITED_WORD}".'
        )
    return number


Percentage = Annotated[Decimal, BeforeValidator(_percentage)]
"""A percentage from 0 to 20, given as a Decimal, an int or text."""

Limit = Annotated[Decimal | None, BeforeValidator(_limit)]
"""The highest amount that was agreed, in whole units; None for any."""


class AgreedFee(PolicyModel):
    """A fee that was agreed.

    Attributes:
        address: Who receives it.
        max_percent: The highest percentage of the amount, from 0 to 20; given as a
            Decimal, an int or text.
        max_amount: The highest amount of the fee, in whole units of the currency that
            it is in; None for any amount that its share allows.
        name: What people call it; may be empty.

    Raises:
        InvalidInput: The address is malformed or mistyped, the percentage is not from 0
            to 20, or the amount is not a positive number.

    Example:
        >>> AgreedFee(
        ...     address="0xfee5000000000000000000000000000000000001", max_percent="0.1"
        ... ).max_percent
        Decimal('0.1')
    """

    address: Address
    max_percent: Percentage
    max_amount: Limit = None
    name: str = ""


class AcceptedAllowance(PolicyModel):
    """An allowance that is accepted although it is more than a payment needs.

    Attributes:
        token: A currency id.
        spender: The address that may take the tokens.
        most: The highest amount, in whole units of the token; "unlimited" or None for
            any amount.

    Raises:
        InvalidInput: The address is malformed or mistyped, or the amount is not a
            positive number.

    Example:
        >>> proxy = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
        >>> AcceptedAllowance(token="fUSDC-sepolia", spender=proxy, most="1000").most
        Decimal('1000')
    """

    token: str
    spender: Address
    most: Limit

    @field_serializer("most")
    def _in_a_file(self, most: Decimal | None) -> Decimal | str:
        return UNLIMITED_WORD if most is None else most


def symbol_in(currency_id: str, network: str) -> str:
    """Return the symbol in a currency id, which comes before the network."""
    ending = f"-{network}"
    if currency_id.lower().endswith(ending):
        return currency_id[: -len(ending)]
    return currency_id


def _token_id(text: str) -> str:
    if not is_currency_id(text):
        raise InvalidInput(
            "id: expected printable ASCII characters: others may only look like those"
            " of another id."
        )
    alike = lookalike_id(text)
    if alike:
        raise InvalidInput(
            f"id: it looks like {alike}, but is another id. Copy it from the service,"
            " or type it again."
        )
    return text


class FurtherToken(PolicyModel):
    """A token that payerkit's table does not have.

    Attributes:
        id: Its currency id.
        network: A name as in currency ids.
        address: Of its contract.
        decimals: As its contract has them, from 0 to 36.

    Raises:
        InvalidInput: A member is malformed, looks like that of another token, or
            contradicts the token list.

    Example:
        >>> FurtherToken(
        ...     id="USDT0-matic",
        ...     network="matic",
        ...     address="0xfee5000000000000000000000000000000000001",
        ...     decimals=6,
        ... ).currency.symbol
        'USDT0'
    """

    id: Annotated[str, AfterValidator(_token_id)]
    network: Annotated[str, AfterValidator(read_network)]
    address: Address
    decimals: Annotated[int, Field(strict=True, ge=0, le=36)]

    @model_validator(mode="after")
    def _agrees_with_the_list(self) -> Self:
        named = network_in_id(self.id)
        if named is not None and named.name != self.network:
            raise InvalidInput(
                f"network: the id ends with {named.name}. Correct one of them."
            )
        listed = find_token(self.network, self.address)
        if listed is not None and listed.decimals != self.decimals:
            raise InvalidInput(
                f"decimals: the token list has {listed.decimals} for this address, as"
                f" {listed.id}."
            )
        same = find_currency(self.id)
        if same is not None and same != listed:
            raise InvalidInput(
                f"id: in the token list, {same.id} is another token. Choose another id."
            )
        return self

    @property
    def currency(self) -> Currency:
        """The token as the token list would have it."""
        return Currency(
            id=self.id,
            kind="erc20",
            network=self.network,
            symbol=symbol_in(self.id, self.network),
            decimals=self.decimals,
            address=self.address,
        )


def _book(value: Any) -> AddressBook | None:
    if value is None or isinstance(value, AddressBook):
        return value
    if isinstance(value, list):  # of the entries of a file
        return AddressBook(value)
    return AddressBook.read(value)


def _known_members(names: object) -> tuple[str, ...]:
    given = names if isinstance(names, list | tuple) else [None]
    if not all(isinstance(name, str) and name for name in given):
        raise InvalidInput(
            'known_members: expected a list of names, such as ["quoteExpiry"].'
        )
    return tuple(given)


def _rates(rates: object) -> dict[tuple[str, str], Decimal]:
    """Return rates by both ids, which the last slash separates in a file."""
    if not isinstance(rates, Mapping):
        raise InvalidInput("rates: expected a table. Write [rates] above its members.")
    by_pair = {}
    for currencies, rate in rates.items():
        if isinstance(currencies, tuple):
            pair = tuple(str(currency) for currency in currencies)
        else:
            pair = tuple(str(currencies).rsplit("/", 1))
        where = f"rates: {visible('/'.join(pair))}"
        if len(pair) != 2 or not all(pair):
            raise InvalidInput(
                f'{where}: expected both ids, such as "ETH-sepolia-sepolia/USD" ='
                f' "2500"; {AT_THE_TOP}'
            )
        by_pair[pair] = read_rate(rate, where)
    return by_pair


class PaymentPolicy(PolicyModel):
    """What you agreed to once, for all payments; `check_payment` compares with it what
    an order does not name.

    What it agrees to is "ok". It never clears what contradicts an order. Keep it in a
    file, which a person can read and edit: `PaymentPolicy.read(path)` and
    `.save(path)`. `print(policy)` shows what the file would hold.

    Attributes:
        fees: The agreed fees, as `AgreedFee` or dicts. A fee of a payment is agreed if
            its recipient is named here, and neither its share nor its amount is higher.
        allowances: Allowances that are accepted although they are more than a payment
            needs.
        addresses: The `AddressBook`, or what `AddressBook.read` takes. With None, or
            with operators alone, no payee is called new.
        rates: The price of one unit of a payment currency in an invoice currency, by
            both ids, as in `{("ETH-sepolia-sepolia", "USD"): "2500"}`.
        tokens: Tokens that payerkit's table does not have, as `FurtherToken` or dicts;
            the id also gives the symbol.
        rate_tolerance: By how many percent an amount may differ from what a rate asks
            for, and so may the maximum of a payment that is converted on execution;
            None if a person is to look at each. This and the two below are at most 20.
        peg_tolerance: By how many percent the amount in a token that is pegged to the
            invoice currency may differ from one to one, without a rate; None if a
            person is to look at each.
        batch_fee: The highest percentage that a batch contract may take in addition;
            the calldata does not show it. None if a person is to look at each batch.
        known_members: Names of members of responses that payerkit does not know, but
            you do: what they say, and an address or a hash in them, is no reason to
            look at a payment. What is there to be signed is one all the same.
        rate_source: A function that returns a rate that `rates` does not have; it is
            not saved.
        source: The file that the policy was read from; "" for one that was made in
            Python.

    Raises:
        InvalidInput: A member has another type or value than described, or two entries
            are about the same.

    Example:
        >>> fee = AgreedFee(
        ...     address="0xfee5000000000000000000000000000000000001", max_percent="1"
        ... )
        >>> print(PaymentPolicy(fees=[fee]))
        [[fees]]
        address = "0xfeE5000000000000000000000000000000000001"
        max_percent = "1"
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    fees: tuple[AgreedFee, ...] = ()
    allowances: tuple[AcceptedAllowance, ...] = ()
    addresses: Annotated[AddressBook | None, PlainValidator(_book)] = None
    rates: Annotated[Mapping[tuple[str, str], Decimal], PlainValidator(_rates)] = Field(
        default_factory=dict
    )
    tokens: tuple[FurtherToken, ...] = ()
    rate_tolerance: Percentage | None = None
    peg_tolerance: Percentage | None = None
    batch_fee: Percentage | None = None
    known_members: Annotated[tuple[str, ...], PlainValidator(_known_members)] = ()
    rate_source: RateSource | None = None
    source: str = ""

    @model_validator(mode="after")
    def _has_each_entry_once(self) -> Self:
        _check_single("fees", [fee.address for fee in self.fees])
        allowances = [(self._id(each.token), each.spender) for each in self.allowances]
        _check_single("allowances", allowances)
        _check_single("tokens", [token.id.lower() for token in self.tokens])
        rates = [
            (self._id(payment), self._id(invoice)) for payment, invoice in self.rates
        ]
        _check_single("rates", rates)
        # Amounts would be right by one number of decimals only.
        decimals = {
            (token.network, token.address.lower(), token.decimals)
            for token in self.tokens
        }
        places = sorted((network, address) for network, address, _ in decimals)
        _check_single("tokens", places)
        return self

    @property
    def book(self) -> AddressBook:
        """The address book, or an empty one."""
        return _EMPTY_BOOK if self.addresses is None else self.addresses

    @property
    def names_payees(self) -> bool:
        """Whether its address book has payees, so that one who is missing there is new;
        a book of operators says nothing about payees.
        """
        if self.addresses is None:
            return False
        roles = {known.role for known in self.addresses}
        return roles != {"operator"}

    @classmethod
    @without_internal_frames
    def read(cls, path: str | Path) -> Self:
        """Read a policy from a TOML file.

        Args:
            path: The file. Its `address_book`, if it names one, is the path of a CSV
                file that `AddressBook.read` takes, from the folder of this file.

        Returns:
            The policy.

        Raises:
            InvalidInput: The file cannot be read, or something in it is unknown,
                missing or wrong; the message names the table and the member.

        Example:
            >>> PaymentPolicy(batch_fee="0.3").save("policy.toml")
            >>> PaymentPolicy.read("policy.toml").batch_fee
            Decimal('0.3')
        """
        with located(Path(path).name):
            members = _read_policy_file(Path(path))
            return cls(**{**members, "source": str(Path(path))})

    def save(self, path: str | Path) -> None:
        """Write the policy to a TOML file, replacing an existing one; all but
        `rate_source`.

        Args:
            path: The file. The address book is written into it, too. Comments of the
                old file are lost. A new file may be read by its owner alone.

        Raises:
            InvalidInput: The path is that of a symbolic link, or of no file.
            OSError: The file cannot be written; what was there is as it was.

        Example:
            >>> PaymentPolicy(peg_tolerance="1").save("policy.toml")
            >>> print(PaymentPolicy.read("policy.toml"))
            peg_tolerance = "1"
        """
        save_file(path, f"{self}\n" if str(self) else "")

    def with_lines(self, lines: str) -> Self:
        """Return the policy with the lines of a finding, such as those that agree to a
        fee, or name a wallet.

        Args:
            lines: `Finding.policy_lines`, without question marks. A fee takes the place
                of one that was agreed for the same recipient; likewise an allowance, a
                rate and a percentage.

        Raises:
            InvalidInput: The lines are no lines of a policy.

        Example:
            >>> lines = (
            ...     initiate_payment(client, order)
            ...     .card(rate="2500")
            ...     .findings.warnings[0]
            ...     .policy_lines
            ... )
            >>> len(PaymentPolicy().with_lines(lines).fees)
            1
        """
        try:
            content = tomllib.loads(lines, parse_float=Decimal)
        except tomllib.TOMLDecodeError:
            raise InvalidInput("These are no lines of a policy.") from None
        added = PaymentPolicy(**content)
        fees = {fee.address: fee for fee in (*self.fees, *added.fees)}
        allowances = {
            (each.token, each.spender): each
            for each in (*self.allowances, *added.allowances)
        }
        book = self.addresses
        if added.addresses is not None:
            book = AddressBook([*self.book, *added.addresses])
        changed = {
            "fees": [*fees.values()],
            "allowances": [*allowances.values()],
            "addresses": book,
            "rates": {**self.rates, **added.rates},
            "tokens": (*self.tokens, *added.tokens),
            "known_members": (*self.known_members, *added.known_members),
        }
        return type(self)(**{**dict(self), **changed, **added.percentages})

    def __str__(self) -> str:
        settings = [setting_line(*each) for each in self.percentages.items()]
        if self.known_members:
            settings.append(known_members_line(self.known_members))
        parts = ["\n".join(settings)] if settings else []
        tables: dict[str, Iterable[PolicyModel]] = {
            "fees": self.fees,
            "allowances": self.allowances,
            "addresses": self.book,
            "tokens": self.tokens,
        }
        for table, entries in tables.items():
            for entry in entries:
                members = entry.model_dump(exclude_defaults=True)
                parts.append(entry_lines(table, **members))
        if self.rates:
            parts.append(rate_lines(self.rates))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return f"<PaymentPolicy: {self.summary}>"

    @property
    def summary(self) -> str:
        """What the policy holds, in numbers: a notebook saves what it shows, and the
        entries have names.
        """
        counts = {
            "agreed fee": self.fees,
            "accepted allowance": self.allowances,
            "rate": self.rates,
            "further token": self.tokens,
            "known member": self.known_members,
        }
        words = [count_of(len(each), name) for name, each in counts.items() if each]
        if self.book.findings:
            words.append("an address book with warnings")
        elif self.addresses is not None:
            words.append("an address book")
        for name, each in self.percentages.items():
            words.append(f"{in_words(name)} {format_percentage(each)}")
        if self.rate_source:
            words.append("a source of rates")
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
        """Return a known wallet, of the address book or of an agreed fee, that another
        wallet is easily taken for.

        Return None for a wallet that is itself known.
        """
        if address is None or self.book.entries(address) or self.agreed_fee(address):
            return None
        in_book = self.book.lookalike(address)
        if in_book is not None:
            return in_book.address
        for fee in self.fees:
            if are_alike(fee.address, address):
                return fee.address
        return None

    def accepts_allowance(
        self, token: str, spender: str | None, amount: Decimal | None
    ) -> bool:
        """Return True if an allowance is accepted. token: its id. amount: in whole
        units; None if that is not known.
        """
        for accepted in self.allowances:
            if not is_same(accepted.spender, spender):
                continue
            if self._id(accepted.token) != self._id(token):
                continue
            if accepted.most is None:
                return True
            if amount is not None and amount <= accepted.most:
                return True
        return False

    def _id(self, currency_id: str) -> str:
        """Return the same id, in lower case, for all ids of a currency."""
        known = self.find_currency(currency_id)
        return (currency_id if known is None else known.id).lower()

    def rate(self, payment_currency: str, invoice_currency: str) -> Decimal | None:
        """Return the price of one unit of the payment currency in the invoice currency;
        None if it is not known.

        Raises InvalidInput if `rate_source` raises something, or returns anything but a
        positive number.
        """
        asked = (self._id(payment_currency), self._id(invoice_currency))
        for (payment, invoice), rate in self.rates.items():
            if (self._id(payment), self._id(invoice)) == asked:
                return rate
        if self.rate_source is None:
            return None
        try:
            found = self.rate_source(payment_currency, invoice_currency)
        except Exception as error:
            pair = visible(f"{payment_currency}/{invoice_currency}")
            raise InvalidInput(
                f"rate_source: {kind_of(error)} was raised for {pair}. Correct the"
                " function; it returns None for an unknown rate."
            ) from error
        if found is None:
            return None
        return read_rate(found, "rate_source")

    def find_currency(self, currency_id: str) -> Currency | None:
        """Return a currency by its id, from payerkit's table or from the further
        tokens; None if neither has it.

        A further token at an address of the table is the token of the table, under
        another id; so is one at the address of an earlier one.
        """
        known = find_currency(currency_id)
        if known is not None:
            return known
        for token in self.tokens:
            if token.id.lower() == currency_id.lower():
                return self.find_token(token.network, token.address)
        return None

    def find_token(self, network: str, address: str) -> Currency | None:
        """Return the token at an address of a network; tokens of the table come before
        those of the policy.
        """
        listed = find_token(network, address)
        if listed is not None:
            return listed
        for token in self.tokens:
            if token.network == network and is_same(token.address, address):
                return token.currency
        return None

    def name_of(self, address: str | None, network: str | None) -> str | None:
        """Return the name of a wallet, from the address book or of an agreed fee; None
        if it has none.
        """
        known = self.book.find(address, network)
        if known is not None and known.name:
            return known.name
        fee = self.agreed_fee(address)
        if fee is not None and fee.name:
            return fee.name
        return None


def _check_single(name: str, keys: list[Any]) -> None:
    """Raise InvalidInput for two entries about the same: one of them would have no
    effect.
    """
    places: dict[Any, int] = {}
    for number, key in enumerate(keys, 1):
        first = places.setdefault(key, number)
        if first != number:
            raise InvalidInput(
                f"{name}: entry {number} is about the same as entry {first}. Keep one"
                " of them."
            )


NO_POLICY = PaymentPolicy()
"""Nothing was agreed."""


def given_policy(policy: PaymentPolicy | None) -> PaymentPolicy:
    """Return a given policy, or `NO_POLICY` for None. Raises InvalidInput for anything
    else.
    """
    if policy is None:
        return NO_POLICY
    if not isinstance(policy, PaymentPolicy):
        raise InvalidInput(
            "policy: give a PaymentPolicy, such as PaymentPolicy.read(path); got"
            f" {kind_of(policy)}."
        )
    return policy


def _read_policy_file(path: Path) -> dict[str, Any]:
    """Return the members of the policy in a file. Raises InvalidInput."""
    content = _read_toml(path)
    for name in ("rate_source", "source"):  # of policies that are made in Python
        if name in content:
            raise InvalidInput(f"{name}: not a member of a policy file.")
    if "addresses" in content:
        entries = content["addresses"]
        places: list[str] = []
        if isinstance(entries, list):  # anything else is refused
            places = [f"[[addresses]] {n}" for n, _ in enumerate(entries, 1)]
        content["addresses"] = AddressBook(entries, places=places)
    file = content.pop("address_book", None)
    if file is None:
        return content
    if not isinstance(file, str):
        raise InvalidInput("address_book: expected the path of a CSV file.")
    with located("address_book"):
        book = AddressBook.read(path.parent / file)
    own = content.get("addresses", _EMPTY_BOOK)
    content["addresses"] = AddressBook(
        [*book, *own], places=[*book.places, *own.places]
    )
    return content


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror})"
    except (ValueError, RecursionError) as error:
        # A ValueError is also one of another encoding, or of an endless number.
        problem = f"not valid TOML: {visible(str(error))}"
    raise InvalidInput(f"{problem}.")
