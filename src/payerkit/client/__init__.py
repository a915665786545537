"""The client: one service, one key, one deadline a call, and what each failure proves.

A call goes from `client.Client.send` through `transport`, which alone touches the
network, to its end in `call`.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
