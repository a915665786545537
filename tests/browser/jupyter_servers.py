"""A Jupyter server of the tests' own."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import requests

App = Literal["lab", "notebook"]
# The end of its standard input ends a server, so that it outlives no test, not even a killed one. The module that is
# left out is one that the workers of tests/conftest.py leave out, too.
STARTER = """
import os, runpy, signal, sys, threading
sys.modules["rfc3987_syntax"] = None
def end_with_the_tests():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end_with_the_tests, daemon=True).start()
runpy.run_module(sys.argv.pop(1), run_name="__main__")
"""


class JupyterServer:
    """A JupyterLab or Notebook 7 on loopback; all it writes but notebooks and checkpoints is in `private`."""

    private: Path

    def __init__(self, folder: Path, app: App) -> None:
        self.folder, self.app, self.token = folder.resolve(), app, secrets.token_hex(16)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{unused.getsockname()[1]}"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder = tempfile.TemporaryDirectory(prefix="jupyter-pages-", ignore_cleanup_errors=True)
            self.private = Path(stack.enter_context(folder))
            self._requests = stack.enter_context(requests.Session())
            self._requests.trust_env = False
            self._requests.headers["Authorization"] = f"token {self.token}"
            self._wait_for(stack.enter_context(self._server()))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stack.close()

    def _environment(self) -> dict[str, str]:
        """Return the environment without proxies, which break loopback, and with folders of the server's own."""
        outside = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith(("JUPYTER", "JPY_"))
        }
        folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
        own = {name: str(self.private / place) for name, place in {**folders, "IPYTHONDIR": "ipython"}.items()}
        return {**outside, **own, "JUPYTER_PREFER_ENV_PATH": "1"}

    def _arguments(self) -> list[str]:
        """Return the server's command line."""
        module, kind = {"lab": ("jupyterlab", "LabApp"), "notebook": ("notebook", "JupyterNotebookApp")}[self.app]
        return [
            module,
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={urlsplit(self.url).port}",
            "--ServerApp.port_retries=0",
            f"--ServerApp.root_dir={self.folder}",
            f"--IdentityProvider.token={self.token}",
            f"--{kind}.expose_app_in_browser=True",
            *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        ]

    @contextmanager
    def _server(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the server, which ends its kernels and itself when its standard input does."""
        with (self.private / "server.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", STARTER, *self._arguments()],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process
        finally:
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    def _wait_for(self, process: subprocess.Popen[bytes], limit: float = 90) -> None:
        end = time.monotonic() + limit
        while process.poll() is None and time.monotonic() < end:
            with suppress(requests.RequestException):
                self.call("GET", "status")
                return
            time.sleep(0.1)
        log = (self.private / "server.log").read_text("utf-8", errors="replace")
        raise RuntimeError(f"the server did not come up:\n{log[-4000:]}")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the server's API and return what it answers, or None."""
        answer = self._requests.request(method, f"{self.url}/api/{path}", json=body, timeout=20)
        answer.raise_for_status()
        return answer.json() if answer.content else None
