"""What signers see, and the files that they hand over."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
