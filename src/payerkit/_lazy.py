"""Public names that are listed once, in the stub of their package, and loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from sys import modules
from typing import Any

_MEANT = {
    "create_payers": " For a table of payers, use onboard().",
    "create_payment_details": " For a table of accounts, use add_bank_details().",
    "list_payers": " Use payer_statuses().",
    "Client": " Use connect(), or sandbox() to practise.",
}
"""What to use in place of names that people guess."""


def _hint(package: str, name: str, places: Mapping[str, str]) -> str:
    """Return the hint in the error about a missing name, such as a likely one; "" for the name of a module."""
    if name.startswith("_") or find_spec(f"{package}.{name}"):  # Python asks for a module before it imports it
        return ""
    from payerkit.wording import did_you_mean  # noqa: PLC0415 - an import of the package does not need it

    others = {each: import_module(f"{package}.{each}") for each, place in places.items() if place == package}
    found = [each for each, module in others.items() if name in getattr(module, "__all__", vars(module))]
    likely = f" It is in {package}.{found[0]}." if found else did_you_mean(name, places)
    return f".{_MEANT.get(name, likely)}"


def load_lazily(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose stub, beside its file, lists the public names.

    Each stands on a line of its own, as `name as name`. What the stub imports from the package itself are its modules:
    they are found, too, and not in `__all__`.
    """
    module, places = "", {}
    with open(f"{file}i", encoding="utf-8") as stub:  # noqa: PTH123 - pathlib takes longer to import than this
        for words in map(str.split, stub):
            module = words[1] if words[:1] == ["from"] else module
            if "as" in words:
                places[words[words.index("as") - 1]] = module

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_hint(package, name, places)}")
        if places[name] == package:
            return import_module(f"{package}.{name}")
        found = getattr(import_module(places[name]), name)
        setattr(modules[package], name, found)  # from now on without this function
        return found

    return load, lambda: [*places], [name for name, place in places.items() if place != package]
