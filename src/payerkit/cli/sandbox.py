"""`payerkit sandbox`: the service in the foreground, until a signal ends it."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from contextlib import closing

from payerkit.connection import BASE_URL, open_service
from payerkit.errors import InvalidInput
from payerkit.profiles import API_KEY
from payerkit.wire import is_loopback
from payerkit.wording import count_of, listed


def run(arguments: Namespace) -> int:
    """Run the sandbox and print how to reach it, after a reset if asked for; or print a new encryption key."""
    # Imported here: the sandbox is an extra.
    from payerkit.cli.sandbox_options import read_options  # noqa: PLC0415
    from payerkit.service.api_keys import API_KEY_VARIABLE  # noqa: PLC0415
    from payerkit.service.call_log import log_to_stderr  # noqa: PLC0415
    from payerkit.service.encryption import new_encryption_key  # noqa: PLC0415

    if arguments.new_key:
        print(new_encryption_key())
        return 0
    options = read_options(vars(arguments))
    log_to_stderr(options.log_level)
    if os.environ.get(API_KEY) and not os.environ.get(API_KEY_VARIABLE):
        warning = f"{API_KEY} is not used here: it may be a live service's key. Set {API_KEY_VARIABLE} to choose a key."
        print(warning, file=sys.stderr)
    if arguments.reset and not _reset(options.db, (options.host, options.port), is_agreed=arguments.yes):
        return 1
    service = open_service(
        db=options.db, host=options.host, port=options.port, environment=os.environ, **options.service_settings
    )
    is_given = bool(os.environ.get(API_KEY_VARIABLE))
    key = f"the value of {API_KEY_VARIABLE}" if is_given else service.api_key_location or service.api_key
    url = f'"{service.url}", api_key=...'
    is_local = is_loopback(options.host)
    if not is_local:
        url = "the https URL of your proxy, api_key=..."
        warning = "Other machines can reach this sandbox over plain http: put a proxy with TLS in front of it."
        print(warning, file=sys.stderr)
    worlds = ", ".join(service.world_names)
    lines = [
        f"Sandbox      {service.url}   (API documentation: {service.url}/docs)",
        f"API key      {key}",
        *([f"Worlds       {worlds}: each API key opens its own"] * (len(service.world_names) > 1)),
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


def _reset(db: str | None, address: tuple[str, int], *, is_agreed: bool) -> bool:
    """Delete the data in a database, and older copies of it, if the user agrees; return True if it was deleted."""
    from payerkit.service.database_opening import (  # noqa: PLC0415 - the sandbox is an extra
        copies_before_upgrades,
        open_existing,
    )
    from payerkit.service.server import check_address  # noqa: PLC0415
    from payerkit.service.settings import SetupError  # noqa: PLC0415

    if db is None:
        raise InvalidInput("--reset: name the database with --db. Without one, the data is deleted at the end anyway.")
    if not is_agreed and not sys.stdin.isatty():
        raise InvalidInput("--reset: add --yes to confirm, since this is no terminal to ask in. Nothing was deleted.")
    try:
        check_address(*address)  # a sandbox that runs there may be serving this very database
        with closing(open_existing(db, os.environ)) as stored:
            counts = stored.count_rows()
            nouns = {"payers": "payer", "payment_details": "account", "payments": "payment"}
            copies = copies_before_upgrades(db)
            what = listed([*(count_of(counts[table], noun) for table, noun in nouns.items()), *map(str, copies)])
            if not is_agreed and input(f"Delete {what} for good? [y/N] ").strip().lower() not in {"y", "yes"}:
                print("Nothing was deleted.")
                return False
            stored.delete_everything()
            for copy in copies:
                copy.unlink()
    except SetupError as error:
        problem = InvalidInput(f"{error} Nothing was deleted.")
    else:
        print(f"Deleted {what}.")
        return True
    raise problem
