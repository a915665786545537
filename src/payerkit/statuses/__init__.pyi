# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from payerkit.explanations import Explanation as Explanation
from payerkit.bulk.list_many import list_many as list_many
from payerkit.bulk.wait_for import WaitReport as WaitReport

__all__: list[str]  # noqa: PYI035 - made from these names
