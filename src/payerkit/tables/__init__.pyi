# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from payerkit.tables.mapping import (
    Mapping as Mapping,
    propose_mapping as propose_mapping,
)
from payerkit.tables.source_table import SourceTable as SourceTable
from payerkit.tables.templates import template as template

__all__: list[str]  # noqa: PYI035 - made from these names
