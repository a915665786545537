"""The fields of the requests: how people see each one, and what it is to a program.

A field is one annotation of its model. `fields_of` reads it for all who need more than
its type: forms, templates, headers, damage, masking, matching and documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypedDict, Unpack, cast, get_args

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from payerkit.findings import Finding
from payerkit.models.formats import TEXT, AccountNumber, FieldKind, Format, Hidden
from payerkit.redaction import Masking
from payerkit.wire import wire_name

Section = Literal[
    "Who",
    "Where",
    "Compliance",
    "Account",
    "Bank",
    "Account holder",
    "Where the money goes",
    "Order",
]
"""The section of a form that shows a field; forms show their sections in this order."""

Lookup = Literal["", "countries", "fiat", "currencies", "tokens"]
"""The table that a form suggests values from; other values are allowed, too.

currencies: fiat currencies, coins and tokens. tokens: the coins and tokens alone, which
can pay.
"""

Identifies = Literal["", "account", "bank"]
"""What a value identifies, so that two accounts in which it differs are not the
same.
"""

AppliesTo = Literal["", "individual", "business", "wallet", "account"]
"""The type of payer or holder, or of what is paid, that has a field; "" for all of
them.
"""

_TYPE_WORDS = {
    "individual": "a person",
    "business": "a business",
    "wallet": "a wallet",
    "account": "a bank account",
}


class Traits(TypedDict, total=False):
    """What a field is besides its type.

    rank: Its order within the section: a type, which decides about other fields, comes
    first; what is read by the country comes after it. Fields of one rank are in the
    order of the model. kind: What it holds, if its type does not say so. masking: What
    may be shown of a value, if its type does not say so. business_title, business_help,
    business_example: Its name, the line about it and the example if the payer or holder
    is a business, where they differ. option_titles: Words for each option; none where
    the options are words. aliases: Other names that tables often have for it, in small
    letters and digits alone.
    """

    rank: int
    kind: FieldKind
    identifies: Identifies
    masking: Masking
    lookup: Lookup
    applies_to: AppliesTo
    business_title: str
    business_help: str
    business_example: str
    option_titles: tuple[str, ...]
    aliases: tuple[str, ...]


def field(
    *,
    title: str,
    help: str,  # noqa: A002 - what it is called everywhere
    example: str,
    section: Section,
    **traits: Unpack[Traits],
) -> Any:
    """Return pydantic's description of a field, which stands beside its type.

    title: its name for people. help: one line about it. example: as published. section:
    of a form.
    """
    extra: Any = {"section": section, **traits}
    return Field(
        title=title, description=help, examples=[example], json_schema_extra=extra
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestField:
    """A field of a request: its names, what its type says, and its traits.

    options: the only values that it takes; empty if others are allowed.
    """

    name: str
    wire_name: str
    required: bool
    format: Format
    options: tuple[str, ...]
    title: str
    help: str
    example: str
    section: Section
    rank: int = 2
    kind: FieldKind = "text"
    identifies: Identifies = ""
    masking: Masking = ""
    lookup: Lookup = ""
    applies_to: AppliesTo = ""
    business_title: str = ""
    business_help: str = ""
    business_example: str = ""
    option_titles: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def title_for(self, holder: str) -> str:
        """Return the title for a type of payer or holder, "" for an unknown one."""
        if holder == "business" and self.business_title:
            return self.business_title
        return self.title

    @property
    def full_help(self) -> str:
        """The help for people and companies together, for documents that do not know
        the type.
        """
        if self.applies_to:
            return f"For {_TYPE_WORDS[self.applies_to]}: {_uncapitalized(self.help)}"
        own = _uncapitalized(self.business_help or self.business_title)
        if not own:
            return self.help
        return f"{self.help} For a business: {own.rstrip('.')}."

    @property
    def is_id(self) -> bool:
        """True if it becomes part of a path, so that it stays as typed."""
        return self.kind in {"id", "chosen"}

    @property
    def has_any_text(self) -> bool:
        """True if any text can be sent, be it right or wrong."""
        return self.format.pattern in {".*", ".+"}

    @property
    def is_secret(self) -> bool:
        """True if a value is hidden while it is typed, and its type masks it."""
        return self.masking in {"account", "hidden"}


def _uncapitalized(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


@cache
def fields_of(model: type[BaseModel]) -> Mapping[str, RequestField]:
    """Return the fields of a request by name, in its order."""
    return {name: _described(name, info) for name, info in model.model_fields.items()}


def _described(name: str, info: FieldInfo) -> RequestField:
    traits = dict(cast("dict[str, Any]", info.json_schema_extra))
    parts = list(_parts(info.annotation)) + info.metadata
    own = next((part for part in parts if isinstance(part, Format)), TEXT)
    traits.setdefault("kind", own.kind)
    for part in parts:
        if part is Hidden or part is AccountNumber:
            traits["masking"] = part.masking
    return RequestField(
        name=name,
        wire_name=wire_name(name),
        required=info.is_required(),
        format=own,
        options=own.options,
        title=info.title or name,
        help=info.description or "",
        example=str((info.examples or [""])[0]),
        **traits,
    )


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield a type, its alternatives, and its annotations."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


@cache
def names_of(model: type[BaseModel]) -> Mapping[object, str]:
    """Return our name of each field by our name and by its wire name."""
    names: dict[object, str] = {}
    for field in fields_of(model).values():
        names[field.name] = field.name
        names[field.wire_name] = field.name
    return names


# What is wrong with a value


@cache
def _validator(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return pydantic's validator of one field."""
    info = model.model_fields[name]
    own_type: Any = info.annotation
    for part in info.metadata:
        own_type = Annotated[own_type, part]
    return TypeAdapter(own_type)


def check_field(model: type[BaseModel], name: str, value: Any) -> Finding | None:
    """Return how an unwrapped value breaks the specification; None if it does not."""
    if value is None:
        field = fields_of(model)[name]
        if not field.required:
            return None
        return _missing(model, field)
    try:
        _validator(model, name).validate_python(value)
    except ValidationError as error:
        return finding_of(model, name, error.errors(include_url=False)[0])
    return None


def finding_of(model: type[BaseModel], name: str, error: ErrorDetails) -> Finding:
    """Return pydantic's error about a field as a finding."""
    field = fields_of(model)[name]
    if error["type"] == "missing":
        return _missing(model, field)
    if error["type"] == "empty" and not field.required:
        hint = f"Leave it out if it has no value. {field.format.hint}".rstrip()
        return error_finding(model, name, field.format.code, field.format.message, hint)
    context = error["ctx"]
    return error_finding(
        model, name, error["type"], context["message"], context["hint"]
    )


def _missing(model: type[BaseModel], field: RequestField) -> Finding:
    return error_finding(
        model, field.name, "required", "Required.", field.format.if_missing
    )


def error_finding(
    model: type[BaseModel], name: str, code: str, message: str, hint: str = ""
) -> Finding:
    """Return an error whose basis is that of the request. A name that is not a field's
    stays as it is.
    """
    return Finding(
        field=name,
        wire_name=wire_name(name) if name in model.model_fields else name,
        message=message,
        code=code,
        severity="error",
        hint=hint,
        basis=getattr(model, "basis", ""),
    )
