# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.tables.mapping import Mapping as Mapping
from payerkit.tables.normalise import SourceTable as SourceTable
from payerkit.tables.read import propose_mapping as propose_mapping
from payerkit.tables.spreadsheets import template as template

__all__: list[str]  # noqa: PYI035 - made from these names
