"""What payerkit knows, as tables: rules, statuses, currencies, and a cheat sheet."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
