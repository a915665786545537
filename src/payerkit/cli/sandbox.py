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
    from payerkit_sandbox.settings import CommandSettings, Settings  # noqa: PLC0415 - the sandbox is an extra

    fields = CommandSettings.model_fields
    for name in sorted(fields, key=lambda each: each in Settings.model_fields):
        field = fields[name]
        flag = f"--{name.replace('_', '-')}"
        words = f"{field.description}".replace("%", "%%")
        if field.annotation is bool:
            parser.add_argument(flag, action="store_true", default=None, help=words)
            continue
        if field.default not in {None, ""}:
            words = f"{words} (default: {field.default})"
        if name == "clock":
            choices = get_args(field.annotation)
            parser.add_argument(flag, choices=choices, help=words)
            continue
        metavar = name.rpartition("_")[2].upper()
        if name.endswith("_after"):
            metavar = "SECONDS"
        parser.add_argument(flag, metavar=metavar, help=words)


def run(arguments: Namespace) -> int:
    """Run the sandbox and print how to reach it."""
    # Imported here: the sandbox is an extra.
    from payerkit_sandbox.failures import SetupError  # noqa: PLC0415
    from payerkit_sandbox.settings import (  # noqa: PLC0415
        API_KEY_VARIABLE,
        CommandSettings,
        Settings,
        read_api_keys,
    )

    given = {
        name: value
        for name, value in vars(arguments).items()
        if name in CommandSettings.model_fields and value is not None
    }
    text = os.environ.get(API_KEY_VARIABLE, "")
    api_keys = None
    try:
        options = CommandSettings(**given)
        if text:
            api_keys = read_api_keys(text)
    except SetupError as error:
        raise InvalidInput(str(error)) from None
    logging.basicConfig(level=logging.WARNING)
    settings = options.model_dump(include=set(Settings.model_fields))
    service = open_service(
        db=options.db,
        host=options.host,
        port=options.port,
        api_keys=api_keys,
        **settings,
    )
    key = service.api_key
    if text:
        key = f"the value of {API_KEY_VARIABLE}"
    url = f'"{service.url}", api_key=...'
    is_local = is_loopback(options.host)
    if not is_local:
        url = "the https URL of your proxy, api_key=..."
        warning = (
            "Other machines can reach this sandbox over plain http: put a proxy with"
            " TLS in front of it."
        )
        print(warning, file=sys.stderr)
    worlds = ", ".join(service.world_names)
    lines = [
        f"Sandbox      {service.url}   (a page with its test values)",
        f"API key      {key}",
        *(
            [f"Worlds       {worlds}: each API key opens its own"]
            * (len(service.world_names) > 1)
        ),
        (
            "Data         kept in the database"
            if options.db
            else "Data         deleted at the end; --db keeps it"
        ),
        *(
            [
                (
                    "Clock        stands still until"
                    " SandboxControls(client).advance(minutes=2)"
                )
            ]
            * (options.clock == "manual")
        ),
        f"In Python    payerkit.connect({url})",
        *(
            [
                (
                    f"In a shell   {BASE_URL}={service.url} {API_KEY}=... "
                    "payerkit onboard payers.csv"
                )
            ]
            * is_local
        ),
        "Press Ctrl+C to stop.",
    ]
    # SIGTERM's default action would skip the clean-up and leave the temporary data
    # behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print("\n".join(lines), flush=True)
    service.run()
    return 0
