# The public names, listed once: for type checkers and editors, and loaded lazily by
# `__init__.py`.

from .options import RunOptions as RunOptions
from .plan import Plan as Plan
from .report import Report as Report
from .verify import verify_onboarding as verify_onboarding

__all__: list[str]  # noqa: PYI035 - made from these names
