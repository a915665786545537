"""What payerkit knows, as tables: rules, findings about payments, statuses, currencies,
and a cheat sheet.
"""

from payerkit.cheat_sheet import cheat_sheet
from payerkit.checks.records import rules
from payerkit.explanations import Explanation, statuses
from payerkit.findings import findings
from payerkit.payments.onchain.currency_table import currencies

__all__ = [
    "Explanation",
    "cheat_sheet",
    "currencies",
    "findings",
    "rules",
    "statuses",
]
