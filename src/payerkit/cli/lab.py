"""`payerkit lab`: a working copy of the notebooks, and JupyterLab on it."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import payerkit

FIRST = "00-quickstart.ipynb"
FOLDER = "payerkit-notebooks"
_RECORD = ".payerkit.json"
"""In the working folder: the fingerprint of each notebook as it was shipped when it was copied."""


def shipped_notebooks() -> Path:
    """Return the folder of the notebooks: inside the package, or of the checkout that is installed in place."""
    package = Path(payerkit.__file__).parent
    inside = package / "notebooks"
    return inside if inside.is_dir() else package.parent.parent / "notebooks"


def copy_notebooks(source: Path, folder: Path) -> list[Path]:
    """Copy the notebooks to a folder and return the copies made; never write over a file that is there.

    A notebook that was shipped anew since it was copied is laid beside the user's, as NAME-new.ipynb.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record_file = folder / _RECORD
    record = _read_record(record_file)
    made = []
    for notebook in sorted(source.glob("*.ipynb")):
        content = notebook.read_bytes()
        fingerprint = hashlib.sha256(content).hexdigest()
        target = folder / notebook.name
        if target.exists() and record.get(notebook.name, fingerprint) != fingerprint:
            target = next(name for name in _new_names(target) if not name.exists())
        record[notebook.name] = fingerprint
        if not target.exists():
            with target.open("xb") as copy:
                copy.write(content)
            made.append(target)
    record_file.write_text(json.dumps(record, indent=1), "utf-8")
    return made


def _read_record(file: Path) -> dict[str, str]:
    """Return the record; a damaged one counts as none, and then nothing that is there is touched."""
    try:
        record = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _new_names(notebook: Path) -> Iterator[Path]:
    yield notebook.with_name(f"{notebook.stem}-new.ipynb")
    yield from (notebook.with_name(f"{notebook.stem}-new-{place}.ipynb") for place in count(2))


def sign(notebooks: list[Path]) -> None:
    """Mark notebooks as trusted, so that JupyterLab shows their stored outputs as they are."""
    import nbformat  # noqa: PLC0415 - comes with the extra [lab]
    from nbformat.sign import NotebookNotary  # noqa: PLC0415

    notary = NotebookNotary()
    for notebook in notebooks:
        notary.sign(nbformat.read(notebook, as_version=nbformat.NO_CONVERT))


def start_lab(folder: Path, *, port: int | None, open_browser: bool) -> None:
    """Run JupyterLab on the quickstart in a folder, until it is ended; print its address."""
    from jupyterlab.labapp import LabApp  # noqa: PLC0415 - comes with the extra [lab]

    # A kernel of the user's that belongs to another Python would not have payerkit.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    token = secrets.token_hex(24)
    arguments = _arguments(folder, token, port=port, open_browser=open_browser)
    server = LabApp.initialize_server(argv=arguments)

    def announce() -> None:
        address = server.display_url.split()[0].partition("?")[0]
        print(f"JupyterLab runs at {address}?token={token}\nEnd it with Ctrl+C.", flush=True)  # noqa: T201 - the command's output

    # Queued behind the server's own first step, which chooses the port and listens.
    server.io_loop.add_callback(announce)
    server.start()


def _arguments(folder: Path, token: str, *, port: int | None, open_browser: bool) -> list[str]:
    """Return JupyterLab's options: the folder, the first page, and nothing that reaches for the network."""
    options: dict[str, Any] = {
        "ServerApp.root_dir": str(folder.resolve()),
        "ServerApp.open_browser": open_browser and has_display(),
        "Application.log_level": "ERROR",
        "IdentityProvider.token": token,
        "ServerApp.answer_yes": True,
        "LabApp.default_url": f"/lab/tree/{FIRST}",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.news_url": None,
        "LabApp.extension_manager": "readonly",
    }
    if port is not None:
        options |= {"ServerApp.port": port, "ServerApp.port_retries": 0}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options["ServerApp.allow_root"] = True
    return [f"--{name}={value}" for name, value in options.items()]


def has_display() -> bool:
    """Tell whether a browser window could open here."""
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
