# The public names, listed once: for type checkers and editors, and loaded lazily by `__init__.py`.

from payerkit.bulk.plan import Plan as Plan
from payerkit.bulk.rate_limit import RunOptions as RunOptions
from payerkit.bulk.report import Report as Report
from payerkit.bulk.verify import verify_onboarding as verify_onboarding

__all__: list[str]  # noqa: PYI035 - made from these names
