"""What payments do, compared with what they should do: orders, calldata, policies,
cards and Safe files.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
