# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.payouts.checklist import payout_checklist as payout_checklist
from payerkit.payouts.evidence_page import evidence as evidence
from payerkit.payouts.trace_order import Leg as Leg
from payerkit.payouts.trace_order import Trace as Trace
from payerkit.payouts.trace_order import draw_invoices as draw_invoices
from payerkit.payouts.trace_order import draw_states as draw_states

__all__: list[str]  # noqa: PYI035 - made from these names
