# The public names, listed once: for type checkers and editors, and loaded lazily by
# `__init__.py`.

from .mapping import ColumnMapping as ColumnMapping
from .normalise import SourceTable as SourceTable
from .read import propose_mapping as propose_mapping
from .spreadsheets import template as template

__all__: list[str]  # noqa: PYI035 - made from these names
