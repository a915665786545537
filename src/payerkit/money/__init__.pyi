# The public names, listed once: for type checkers and editors, and loaded lazily by
# `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from .checklist import payout_checklist as payout_checklist
from .order_trace import Leg as Leg
from .order_trace import Trace as Trace
from .events import Event as Event
from .events import verify_event as verify_event
from .wait import WaitReport as WaitReport

__all__: list[str]  # noqa: PYI035 - made from these names
