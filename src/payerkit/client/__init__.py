"""The client: one service, one key, one deadline a call, and what each failure proves.

A call goes from `client.Client.send` through `transport`, which alone touches the network, to its end in `call`.
"""

from payerkit._lazy import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
