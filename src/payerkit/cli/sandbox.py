"""`payerkit sandbox`: the service in the foreground, until a signal ends it."""

from __future__ import annotations

import logging
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from typing import get_args

from payerkit.connection import API_KEY, BASE_URL, open_service
from payerkit.errors import InvalidInput
from payerkit.wire import is_loopback


def add_options(parser: ArgumentParser) -> None:
    """Add an option for each setting, whose description and default are its help."""
    from payerkit.service.settings import CommandSettings, Settings  # noqa: PLC0415 - the sandbox is an extra

    fields = CommandSettings.model_fields
    for name in sorted(fields, key=lambda each: each in Settings.model_fields):
        field, flag = fields[name], f"--{name.replace('_', '-')}"
        words = f"{field.description}".replace("%", "%%")
        if field.annotation is bool:
            parser.add_argument(flag, action="store_true", default=None, help=words)
            continue
        words += f" (default: {field.default})" if field.default not in {None, ""} else ""
        choices = None if name != "clock" else get_args(field.annotation)
        parser.add_argument(
            flag,
            metavar=None if choices else "SECONDS" if name.endswith("_after") else name.rpartition("_")[2].upper(),
            choices=choices,
            help=words,
        )


def run(arguments: Namespace) -> int:
    """Run the sandbox and print how to reach it; or print a new encryption key."""
    # Imported here: the sandbox is an extra.
    from payerkit.service.failures import SetupError  # noqa: PLC0415
    from payerkit.service.keys import API_KEY_VARIABLE, new_encryption_key  # noqa: PLC0415
    from payerkit.service.settings import CommandSettings, Settings  # noqa: PLC0415

    if arguments.new_key:
        print(new_encryption_key())
        return 0
    try:
        options = CommandSettings.read(vars(arguments))
    except SetupError as error:
        raise InvalidInput(str(error)) from None
    logging.basicConfig(level=logging.WARNING)
    settings = options.model_dump(include=set(Settings.model_fields))
    service = open_service(db=options.db, host=options.host, port=options.port, environment=os.environ, **settings)
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
        f"Sandbox      {service.url}   (a page with its test values)",
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
    print("\n".join(lines), flush=True)
    service.run()
    return 0
