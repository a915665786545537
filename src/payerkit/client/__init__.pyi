# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from payerkit.client.client import Client as Client
from payerkit.client.pace import Timeout as Timeout
from payerkit.client.pace import Retries as Retries
from payerkit.connection import SandboxClient as SandboxClient
from payerkit.sandbox_controls import SandboxControls as SandboxControls

__all__: list[str]  # noqa: PYI035 - made from these names
