"""Forms for notebooks. Values stay in the kernel; the saved widget state holds none."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
