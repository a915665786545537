"""Where payers and their money are: statuses, requests, payouts and events. Payouts
and events are beyond the specification.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
