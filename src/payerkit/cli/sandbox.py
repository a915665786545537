"""`payerkit sandbox`: the service in the foreground, until a signal ends it."""

from __future__ import annotations

import logging
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, get_args

from payerkit.connection import API_KEY, BASE_URL, needed_by_sandbox
from payerkit.errors import InvalidInput
from payerkit.wire import is_loopback

if TYPE_CHECKING:
    from payerkit_sandbox.server import Service
    from payerkit_sandbox.settings import CommandSettings


def add_options(parser: ArgumentParser) -> None:
    """Add an option for each setting, whose description and default are its help."""
    from payerkit_sandbox.settings import CommandSettings, Settings  # noqa: PLC0415 - the sandbox is an extra

    fields = CommandSettings.model_fields
    for name in sorted(fields, key=lambda each: each in Settings.model_fields):
        field = fields[name]
        flag = _option(name)
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


def _option(name: str) -> str:
    """Return the option of a setting."""
    return f"--{name.replace('_', '-')}"


def run(arguments: Namespace) -> int:
    """Run the sandbox and print how to reach it."""
    try:  # the sandbox is an extra
        from payerkit_sandbox.failures import SetupError  # noqa: PLC0415
        from payerkit_sandbox.server import Service  # noqa: PLC0415
        from payerkit_sandbox.settings import (  # noqa: PLC0415
            API_KEY_VARIABLE,
            CommandSettings,
            read_api_keys,
        )
    except ModuleNotFoundError as error:
        raise needed_by_sandbox(error) from error

    given = {
        name: value
        for name, value in vars(arguments).items()
        if name in CommandSettings.model_fields and value is not None
    }
    text = os.environ.get(API_KEY_VARIABLE, "")
    api_keys = None
    try:
        settings = CommandSettings(**given)
        if text:
            api_keys = read_api_keys(text)
        service = Service(
            settings,
            db=settings.db,
            host=settings.host,
            port=settings.port,
            api_keys=api_keys,
        )
    except SetupError as error:
        problem = _in_command(str(error))
        raise InvalidInput(f"The sandbox cannot start. {problem}") from None
    logging.basicConfig(level=logging.WARNING)
    key = service.api_key
    if text:
        key = f"the value of {API_KEY_VARIABLE}"
    if not is_loopback(settings.host):
        warning = (
            "Other machines can reach this sandbox over plain http: put a proxy with"
            " TLS in front of it."
        )
        print(warning, file=sys.stderr)
    # SIGTERM's default action would skip the clean-up and leave the temporary data
    # behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print("\n".join(_introduction(service, settings, key)), flush=True)
    service.run()
    return 0


def _in_command(message: str) -> str:
    """Return a message about settings, one a line, with the name that each has in the
    command.
    """
    from payerkit_sandbox.settings import API_KEY_VARIABLE, CommandSettings  # noqa: PLC0415

    lines = []
    for line in message.splitlines():
        name, colon, problem = line.partition(":")
        if name in CommandSettings.model_fields:
            name = _option(name)
        elif name == "api_keys":
            name = API_KEY_VARIABLE
        lines.append(f"{name}{colon}{problem}")
    return "\n".join(lines)


def _introduction(service: Service, settings: CommandSettings, key: str) -> list[str]:
    """Return what a person reads who has started a sandbox. key: what is said of the
    API key.
    """
    is_local = is_loopback(settings.host)
    lines = [
        f"Sandbox      {service.url}   (a page with its test values)",
        f"API key      {key}",
    ]
    if len(service.world_names) > 1:
        worlds = ", ".join(service.world_names)
        lines.append(f"Worlds       {worlds}: each API key opens its own")
    if settings.db:
        lines.append("Data         kept in the database")
    else:
        lines.append("Data         deleted at the end; --db keeps it")
    if settings.clock == "manual":
        advance = "SandboxControls(client).advance(minutes=2)"
        lines.append(f"Clock        stands still until {advance}")
    url = "the https URL of your proxy"
    if is_local:
        url = f'"{service.url}"'
    lines.append(f"In Python    payerkit.connect({url}, api_key=...)")
    if is_local:
        command = "payerkit onboard payers.csv"
        variables = f"{BASE_URL}={service.url} {API_KEY}=..."
        lines.append(f"In a shell   {variables} {command}")
    lines.append("Press Ctrl+C to stop.")
    return lines
