# The public names, listed once: for type checkers and editors, and loaded lazily by
# `__init__.py`.
# ruff: noqa: I001 - by subject, not by module
from .client import Client as Client
from .pace import Timeout as Timeout
from .pace import Retries as Retries
from .sandbox_client import SandboxClient as SandboxClient
from .sandbox_client import SandboxControls as SandboxControls

__all__: list[str]  # noqa: PYI035 - made from these names
