"""The objects in requests and responses: snake_case here, the service's names on the
wire.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
