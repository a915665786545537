# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.cheat_sheet import cheat_sheet as cheat_sheet
from payerkit.checks.records import rules as rules
from payerkit.explanations import statuses as statuses
from payerkit.onchain.currency_table import currencies as currencies
from payerkit.pictures import who_is_who as who_is_who

__all__: list[str]  # noqa: PYI035 - made from these names
