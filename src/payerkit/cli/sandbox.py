"""`payerkit sandbox`: the service in the foreground, until a signal ends it."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace

from payerkit.connection import BASE_URL, open_service
from payerkit.profiles import API_KEY
from payerkit.wire import is_loopback

_SETTINGS = (
    "seed",
    "clock",
    "public_url",
    "kyc_after",
    "accounts_after",
    "decide_after",
    "kyc_required",
    "rate_limit",
    "live_like",
    "fee_percent",
    "fee_address",
    "faults",
)
"""Options of the command that are settings of the service."""


def run(options: Namespace) -> int:
    """Run the sandbox and print how to reach it; or print a new encryption key."""
    if options.new_key:
        from payerkit.service.encryption import new_encryption_key  # noqa: PLC0415 - the sandbox is an extra

        print(new_encryption_key())
        return 0
    settings = {name: getattr(options, name) for name in _SETTINGS}
    service = open_service(db=options.db, host=options.host, port=options.port, environment=os.environ, **settings)
    key = f"the value of {API_KEY}" if os.environ.get(API_KEY) else service.api_key_location or service.api_key
    url = f'"{service.url}", api_key=...'
    is_local = is_loopback(options.host)
    if not is_local:
        url = "the https URL of your proxy, api_key=..."
        warning = "Other machines can reach this sandbox over plain http: put a proxy with TLS in front of it."
        print(warning, file=sys.stderr)
    lines = [
        f"Sandbox      {service.url}   (API documentation: {service.url}/docs)",
        f"API key      {key}",
        f"Data         {'kept in the database' if options.db else 'deleted at the end; --db keeps it'}",
        *(["Clock        stands still until SandboxControls(client).advance(minutes=2)"] * (options.clock == "manual")),
        f"In Python    payerkit.connect({url})",
        *([f"In a shell   {BASE_URL}={service.url} {API_KEY}=... payerkit onboard payers.csv"] * is_local),
        "Press Ctrl+C to stop.",
    ]
    # SIGTERM's default action would skip the clean-up and leave the temporary data behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    service.run(lambda: print("\n".join(lines), flush=True))
    return 0
