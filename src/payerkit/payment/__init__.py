"""An order before it is sent, calldata by itself, and many payments at once."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
