# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.explanations import Explanation as Explanation
from payerkit.pictures import draw_moves as draw_moves
from payerkit.statuses.statuses import list_many as list_many
from payerkit.statuses.wait_for import WaitReport as WaitReport

__all__: list[str]  # noqa: PYI035 - made from these names
