# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.forms.mapping_form import MappingForm as MappingForm

__all__: list[str]  # noqa: PYI035 - made from these names
