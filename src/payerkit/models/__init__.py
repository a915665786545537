"""The objects in requests and responses: snake_case here, the service's names on the wire."""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
