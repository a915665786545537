# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.events.event import Event as Event
from payerkit.events.event import verify_event as verify_event

__all__: list[str]  # noqa: PYI035 - made from these names
