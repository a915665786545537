"""`payerkit events`: a receiver of events on this machine, until a signal ends it."""

from __future__ import annotations

import getpass
import os
import signal
import sys
from argparse import Namespace
from contextlib import suppress

from payerkit.errors import InvalidInput
from payerkit.events.file import EventsFile
from payerkit.wording import count_of

SECRET = "PAYERKIT_EVENTS_SECRET"  # noqa: S105 - the name of a variable

_HOST = "127.0.0.1"


def run(options: Namespace) -> int:
    """Receive events until a signal, and append them to a file."""
    # Imported here: the server is an extra.
    try:
        import uvicorn  # noqa: PLC0415

        from payerkit.events.receiver import EventReceiver  # noqa: PLC0415
        from payerkit.service.failures import SetupError  # noqa: PLC0415
        from payerkit.service.server import listen, uvicorn_config  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ImportError(f"Receiving events needs {error.name}: pip install 'payerkit[sandbox]'.") from error

    secret = _read_secret()
    file = EventsFile(options.to)
    try:
        listening = listen(_HOST, options.listen, "--listen")
    except SetupError as error:
        raise InvalidInput(str(error)) from None
    receiver = EventReceiver(file, secret, _show)
    url = f"http://{_HOST}:{listening.getsockname()[1]}"
    lines = [
        f"Receiver    {url}   (this machine only; a tunnel or proxy of yours leads the service here)",
        f"Events      {options.to}   (has personal data; only its owner may read it)",
        f"In Python   payerkit.read_events({str(options.to)!r}, secret=...)",
        "Press Ctrl+C to stop.",
    ]
    # SIGTERM's default action would skip the count.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with listening:
            print("\n".join(lines), flush=True)
            uvicorn.Server(uvicorn_config(receiver)).run(sockets=[listening])
    finally:
        _show(f"{count_of(receiver.stored, 'event')} stored, {receiver.refused:,} refused.")
    return 0


def _read_secret() -> str:
    """Return the secret of the webhook. Raises InvalidInput if there is nobody to ask."""
    secret = os.environ.get(SECRET) or (getpass.getpass("Secret of the webhook: ") if sys.stdin.isatty() else "")
    if not secret.strip():
        raise InvalidInput(f"secret: set {SECRET} to the secret of the webhook.")
    if secret != secret.strip():
        raise InvalidInput(f"secret: {SECRET} begins or ends with a blank or a line break. Remove it.")
    return secret


def _show(line: str) -> None:
    with suppress(OSError):  # the terminal or the pipe is gone, which is no reason to lose events
        print(line, flush=True)
