"""What a user agreed to once, for all payments, and the wallets that a user knows."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
