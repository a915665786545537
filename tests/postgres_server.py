"""A PostgreSQL server for the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory


def find_initdb() -> Path | None:
    """Return the path of the newest installed server's initdb; None without PostgreSQL
    (Debian: postgresql).
    """
    found = [
        shutil.which("initdb"),
        *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))),
    ]
    newest = next(filter(None, reversed(found)), None)
    return Path(newest) if newest else None


@dataclass(frozen=True)
class PostgresServer:
    """A running server: the URL of its one database, and what ends and starts it."""

    url: str
    kill: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def controlled_postgres(initdb: Path) -> Iterator[PostgresServer]:
    """Run a server with one empty database until the block ends; `kill` ends it as a
    crash does.
    """
    # The server refuses to run as root; the user that its package made may not enter
    # the folders of pytest.
    as_user = (
        ["runuser", "-u", "postgres", "--"]
        if os.name == "posix" and os.geteuid() == 0
        else []
    )
    with TemporaryDirectory(prefix="payerkit-postgres-") as folder:
        if as_user:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"

        def run(*command: str) -> None:
            subprocess.run(
                [*as_user, *command],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                timeout=60,
            )

        run(str(initdb), "-D", data, "-A", "trust", "-U", "payerkit", "--no-sync")
        options = (
            f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        )
        control = [
            str(initdb.with_name("pg_ctl")),
            "-D",
            data,
            "-w",
            "-l",
            f"{folder}/log",
        ]

        def start() -> None:
            run(*control, "-o", options, "start")

        def kill() -> None:
            run(*control, "-m", "immediate", "stop")

        start()
        try:
            yield PostgresServer(
                f"postgresql+psycopg://payerkit@/postgres?host={folder}", kill, start
            )
        finally:
            with suppress(
                subprocess.CalledProcessError
            ):  # a test may have left it ended
                kill()
