"""Public names that are listed once, in the stub of their package, and loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from sys import modules
from typing import Any


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
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if places[name] == package:
            return import_module(f"{package}.{name}")
        found = getattr(import_module(places[name]), name)
        setattr(modules[package], name, found)  # from now on without this function
        return found

    return load, lambda: [*places], [name for name, place in places.items() if place != package]
