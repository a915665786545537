# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.onboarding.options import RunOptions as RunOptions
from payerkit.onboarding.plan import Plan as Plan
from payerkit.onboarding.report import Report as Report
from payerkit.onboarding.verify import verify_onboarding as verify_onboarding

__all__: list[str]  # noqa: PYI035 - made from these names
