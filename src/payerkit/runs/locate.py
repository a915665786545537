"""Which journal a run, or its plan, uses: the one beside the file, and one for each
service.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from payerkit.client.client import Client
from payerkit.errors import InvalidInput
from payerkit.runs.journal import Journal, OtherService, failures_told, secret_file
from payerkit.wire import is_loopback

_PACKAGE = Path(__file__).resolve().parents[1]


def journal_of_file(file: Path, client: Client) -> Path:
    """Return the journal of the rows of a file: beside it, and for a second service
    with the host of that in its name.

    Of a sample that comes with payerkit, it is in the folder of the process.
    """
    own = _beside(file)
    if own.is_file():
        try:
            _open_for(own, client).close()
        except OtherService as error:
            if not error.is_of_practice:
                host = urlsplit(client.base_url).hostname
                return own.with_name(f"{file.name}.{host}.journal")
        except InvalidInput:
            return own  # whoever opens it is told why it cannot be
    return own


def planned_journal(file: Path | None, journal: str | Path | None) -> Path | None:
    """Return the journal that a plan reads: the one that is named, else the one beside
    the file that was used last; None before the first run.
    """
    if journal is not None:
        candidates = [Path(journal)]
    elif file is None:
        return None
    else:
        own = _beside(file)
        others = own.parent.glob("*.journal")
        of_services = [each for each in others if each.name.startswith(f"{file.name}.")]
        candidates = [own, *of_services]
    journals = [each for each in candidates if each.is_file()]
    return max(journals, key=lambda each: each.stat().st_mtime, default=None)


def other_journals(file: Path | None, journal: Path) -> list[str]:
    """Return the names of journals in the folder of a file that are neither the one of
    a run nor those of the same file for other services.
    """
    if file is None:
        return []
    return sorted(
        each.name
        for each in file.parent.glob("*.journal")
        if each.resolve() != journal.resolve()
        and secret_file(each).is_file()
        and (each == _beside(file) or not each.name.startswith(f"{file.name}."))
    )


@contextmanager
def open_journal(
    path: Path, client: Client, *, may_begin: bool = True
) -> Iterator[Journal]:
    """Open the journal of runs with a client.

    may_begin: one of another sandbox on this machine, which has other payers and may be
    gone, is set aside, and a new one begun. Raises PayerkitError if it cannot be
    opened, written or read.
    """
    with failures_told(path):
        try:
            journal = _open_for(path, client)
        except OtherService as error:
            if not (may_begin and error.is_of_practice):
                raise
            aside = _set_aside(path)
            journal = _open_for(path, client)
            journal.set_aside = aside
        with journal:
            yield journal


def _beside(file: Path) -> Path:
    """Return the journal beside a file."""
    is_sample = _PACKAGE in file.resolve().parents
    folder = Path() if is_sample else file.parent
    return folder / f"{file.name}.journal"


def _open_for(path: Path, client: Client) -> Journal:
    """Return the open journal of a client's service."""
    host = urlsplit(client.base_url).hostname or ""
    return Journal(
        path,
        service=client.service_name(),
        environment=client.environment,
        is_practice=client.environment == "sandbox" and is_loopback(host),
    )


def _set_aside(path: Path) -> str:
    """Rename a journal and its secret, so that a new one can begin; return its new
    name.
    """
    names = (f"{path.name}.old-{number}" for number in count(1))
    name = next(name for name in names if not path.with_name(name).exists())
    secret_file(path).rename(secret_file(path.with_name(name)))
    path.rename(path.with_name(name))
    return name
