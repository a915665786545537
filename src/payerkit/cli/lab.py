"""`payerkit lab`: a working copy of the notebooks, opened in JupyterLab."""

from __future__ import annotations

import os
import secrets
from argparse import Namespace
from pathlib import Path
from shutil import copyfile
from typing import Any

import payerkit
from payerkit.wording import visible

FIRST = "index.ipynb"
FOLDER = "payerkit-notebooks"


def run(options: Namespace, first: str = FIRST) -> int:
    """Copy the notebooks, open the first one in JupyterLab, and return when it is
    stopped.
    """
    folder = options.folder or Path(FOLDER)
    copies = copy_notebooks(shipped_notebooks(), folder)
    print(f"Copied {len(copies)} files to {visible(str(folder))}.")
    for copy in copies:
        if copy.suffix == ".ipynb":
            prepare(copy)
    start_lab(folder, first, port=options.port, open_browser=not options.no_browser)
    return 0


def shipped_notebooks() -> Path:
    """Return the folder of the notebooks: in the package, or in the checkout of an
    editable install.
    """
    package = Path(payerkit.__file__).parent
    inside = package / "notebooks"
    if inside.is_dir():
        return inside
    return package.parent.parent / "notebooks"


def copy_notebooks(source: Path, folder: Path) -> list[Path]:
    """Copy the notebooks and pictures that a folder lacks, and return the copies; no
    existing file is overwritten.
    """
    copies = []
    for file in sorted([*source.glob("*.ipynb"), *source.glob("pictures/*")]):
        copy = folder / file.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copyfile(file, copy)
            copies.append(copy)
    return copies


def prepare(path: Path) -> None:
    """Tell a notebook which Python runs it, so that JupyterLab opens it unmodified, and
    mark it as trusted, so that its stored outputs are rendered.
    """
    import nbformat  # noqa: PLC0415 - comes with the extra [lab]
    from ipykernel.ipkernel import IPythonKernel  # noqa: PLC0415
    from nbformat.sign import NotebookNotary  # noqa: PLC0415

    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    notebook.metadata.language_info = IPythonKernel.language_info
    nbformat.write(notebook, path)
    NotebookNotary().sign(notebook)


def start_lab(
    folder: Path, first: str, *, port: int | None, open_browser: bool
) -> None:
    """Open the first notebook of a folder in JupyterLab, print its address, and return
    when it is stopped.
    """
    from jupyterlab.labapp import LabApp  # noqa: PLC0415 - comes with the extra [lab]

    # A kernel that the user installed for another Python would not have payerkit.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["JUPYTER_CONFIG_PATH"] = config_path(
        os.environ.get("JUPYTER_CONFIG_PATH", "")
    )
    token = secrets.token_hex(24)
    arguments = _arguments(folder, first, token, port=port, open_browser=open_browser)
    server = LabApp.initialize_server(argv=arguments)

    def announce() -> None:
        address = server.display_url.split()[0].partition("?")[0]
        print(
            f"JupyterLab is running at {address}?token={token}\nPress Ctrl+C to stop.",
            flush=True,
        )

    # Runs after the server's own first callback, which chooses the port and starts to
    # listen.
    server.io_loop.add_callback(announce)
    server.start()


def config_path(before: str) -> str:
    """Return Jupyter's configuration folders with ours: its defaults ask for no news. A
    user's settings win.
    """
    ours = str(Path(__file__).with_name("lab_config"))
    if not before:
        return ours
    return os.pathsep.join([before, ours])


def _arguments(
    folder: Path, first: str, token: str, *, port: int | None, open_browser: bool
) -> list[str]:
    """Return JupyterLab's options: the folder, the first page, and no access to the
    network.
    """
    options: dict[str, Any] = {
        "ServerApp.root_dir": str(folder.resolve()),
        "ServerApp.open_browser": open_browser,
        "Application.log_level": "ERROR",
        "IdentityProvider.token": token,
        "ServerApp.answer_yes": True,
        "LabApp.default_url": f"/lab/tree/{first}",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.news_url": None,
        "LabApp.extension_manager": "readonly",
    }
    if port is not None:
        options |= {"ServerApp.port": port, "ServerApp.port_retries": 0}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options["ServerApp.allow_root"] = True
    return [f"--{name}={value}" for name, value in options.items()]
