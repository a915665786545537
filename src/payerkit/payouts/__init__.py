"""Payments into stored bank accounts, and reading back what was paid. All of it is beyond the specification."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
