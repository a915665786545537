"""Events: what the service reports by itself (webhooks), received, verified and read. Beyond the specification."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
