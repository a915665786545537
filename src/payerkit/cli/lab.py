"""`payerkit lab`: a working copy of the notebooks, opened in JupyterLab."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from argparse import Namespace
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import payerkit

FIRST = "00-quickstart.ipynb"
FOLDER = "payerkit-notebooks"
_RECORD = ".payerkit.json"
"""In the working folder: the SHA-256 hash of each notebook as it was shipped when it was copied."""


def run(options: Namespace) -> int:
    """Copy the notebooks and run JupyterLab on them until it is stopped."""
    folder = options.folder or Path(FOLDER)
    copies = copy_notebooks(shipped_notebooks(), folder)
    for notebook in copies:
        print(f"Copied {notebook}")
    sign(copies)
    start_lab(folder, port=options.port, open_browser=not options.no_browser)
    return 0


def shipped_notebooks() -> Path:
    """Return the folder of the notebooks: in the package, or in the checkout of an editable install."""
    package = Path(payerkit.__file__).parent
    inside = package / "notebooks"
    return inside if inside.is_dir() else package.parent.parent / "notebooks"


def copy_notebooks(source: Path, folder: Path) -> list[Path]:
    """Copy the notebooks to a folder and return the new copies; no existing file is overwritten.

    If a notebook has changed since it was copied, the new version is saved beside the user's, as NAME-new.ipynb.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record_file = folder / _RECORD
    record = _read_record(record_file)
    copies = []
    for notebook in sorted(source.glob("*.ipynb")):
        content = notebook.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        target = folder / notebook.name
        if target.exists() and record.get(notebook.name, digest) != digest:
            target = next(name for name in _new_names(target) if not name.exists())
        record[notebook.name] = digest
        if not target.exists():
            with target.open("xb") as copy:
                copy.write(content)
            copies.append(target)
    record_file.write_text(json.dumps(record, indent=1), "utf-8")
    return copies


def _read_record(file: Path) -> dict[str, str]:
    """Return the record; a missing or damaged one counts as empty, so that existing files are kept as they are."""
    try:
        record = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _new_names(notebook: Path) -> Iterator[Path]:
    yield notebook.with_name(f"{notebook.stem}-new.ipynb")
    yield from (notebook.with_name(f"{notebook.stem}-new-{number}.ipynb") for number in count(2))


def sign(notebooks: list[Path]) -> None:
    """Mark notebooks as trusted, so that JupyterLab renders their stored outputs."""
    import nbformat  # noqa: PLC0415 - comes with the extra [lab]
    from nbformat.sign import NotebookNotary  # noqa: PLC0415

    notary = NotebookNotary()
    for notebook in notebooks:
        notary.sign(nbformat.read(notebook, as_version=nbformat.NO_CONVERT))


def start_lab(folder: Path, *, port: int | None, open_browser: bool) -> None:
    """Open the quickstart of a folder in JupyterLab, print its address, and return when it is stopped."""
    from jupyterlab.labapp import LabApp  # noqa: PLC0415 - comes with the extra [lab]

    # A kernel that the user installed for another Python would not have payerkit.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["JUPYTER_CONFIG_PATH"] = config_path(os.environ.get("JUPYTER_CONFIG_PATH", ""))
    token = secrets.token_hex(24)
    arguments = _arguments(folder, token, port=port, open_browser=open_browser)
    server = LabApp.initialize_server(argv=arguments)

    def announce() -> None:
        address = server.display_url.split()[0].partition("?")[0]
        print(f"JupyterLab is running at {address}?token={token}\nPress Ctrl+C to stop.", flush=True)

    # Runs after the server's own first callback, which chooses the port and starts to listen.
    server.io_loop.add_callback(announce)
    server.start()


def config_path(before: str) -> str:
    """Return Jupyter's configuration folders with ours: its defaults ask for no news. A user's settings win."""
    return os.pathsep.join(filter(None, [before, str(Path(__file__).with_name("lab_config"))]))


def _arguments(folder: Path, token: str, *, port: int | None, open_browser: bool) -> list[str]:
    """Return JupyterLab's options: the folder, the first page, and no access to the network."""
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
    """Return True if a browser window can open on this machine."""
    return sys.platform in {"win32", "darwin"} or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
