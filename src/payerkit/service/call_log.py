"""One line a call, without personal data: what was called, how it ended, how long it took, and in which world."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPMethod
from typing import Any

LOGGER = logging.getLogger("payerkit.sandbox")
"""The logger of calls (info), upgrades (warning) and failures (error). The process that runs the sandbox sets it up."""

CALL_RECORD = "payerkit.call"
"""Where a request's scope holds its CallRecord."""


_METHODS = frozenset(HTTPMethod)


@dataclass(slots=True)
class CallRecord:
    """A call, as it is logged. route: the template of its path, such as /v2/payer/{clientUserId}; None if unknown."""

    method: str
    route: str | None = None
    status: int | None = None
    world: str | None = None
    started: float = field(default_factory=time.monotonic)

    def log(self) -> None:
        """Log the call."""
        if LOGGER.isEnabledFor(logging.INFO):
            elapsed = round((time.monotonic() - self.started) * 1000, 1)
            # A caller without a key may send any word, as long as a head.
            method = self.method if self.method in _METHODS else "other"
            call = {"method": method, "route": self.route, "status": self.status, "ms": elapsed}
            LOGGER.info("call", extra={"call": call | {"world": self.world}})


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: time, level, message, and what a call or a failure adds."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"time": moment, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "call", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_stderr(level: str) -> None:
    """Log to standard error: the sandbox from this level on, everything else from warnings on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    LOGGER.setLevel(level.upper())
