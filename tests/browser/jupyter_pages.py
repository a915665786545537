"""Notebooks in a real JupyterLab or Notebook 7: what a page shows, sends over its
channels and leaves on the disk.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import quote, urlsplit

import nbformat
import requests
from playwright.sync_api import Browser, Locator, Page

from browser.traces import Frames

Theme = Literal["light", "dark", "contrast"]
THEMES: dict[Theme, str] = {
    "light": "JupyterLab Light",
    "dark": "JupyterLab Dark",
    "contrast": "JupyterLab Dark High Contrast",
}
SHEETS = {
    name: f"@jupyterlab/theme-{words[11:].lower().replace(' ', '-')}-extension"
    for name, words in THEMES.items()
}
"""The packages of the themes, whose names follow theirs."""
SETTINGS: dict[str, dict[str, object]] = {
    # News and updates would be asked of the network.
    "jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "jupyterlab/docmanager-extension/plugin": {"autosave": False},
    "jupyterlab/notebook-extension/tracker": {
        "windowingMode": "none"
    },  # else a cell out of sight is not in the page
}
PAGE_CONFIG = {
    # Each asks something of the server that takes it a second or two, and no test looks
    # at it.
    "buildCheck": False,
    "disabledExtensions": {
        "@jupyterlab/notebook-extension:export": True,
        "@jupyterlab/notebook-extension:update-raw-mimetype": True,
    },
}
OUTPUTS = ".jp-OutputArea-output"
ITS_OWN = (
    ".jp-InputArea-editor",
    ".jp-collapseHeadingButton",
    ".jp-InputPrompt",
    ".dataframe thead",
)
"""What is JupyterLab's, and pandas', in a notebook."""
PROBE = Path(__file__).with_suffix(".js").read_text("utf-8")


def write_notebook(path: Path, *sources: str) -> None:
    """Write a notebook of code cells that have not run."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    # Without a kernelspec JupyterLab asks for one in a dialog.
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    metadata = {"kernelspec": kernel | {"language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)


class NotebookPage:
    """A notebook that is open in a page of its own."""

    def __init__(self, page: Page, path: Path, theme: Theme) -> None:
        self.page, self.path, self.shown_theme = page, path, theme
        self.hosts: set[str] = set()
        self.frames = Frames(page)
        page.set_default_timeout(20_000)
        page.add_init_script(PROBE)
        page.context.on("request", lambda request: self._ask(request.url))
        page.on("websocket", lambda opened: self._ask(opened.url))

    def _ask(self, url: str) -> None:
        if url.startswith(("http", "ws")):  # data: and blob: ask nobody
            self.hosts.add(str(urlsplit(url).hostname))

    def load(self, url: str) -> None:
        """Go to the notebook and wait until it and its kernel are there."""
        self.page.goto(url, wait_until="domcontentloaded")
        self._settle()

    def reload(self) -> None:
        """Reload the page, as F5 does: what was not saved is gone, the kernel is
        not.
        """
        self.page.reload(wait_until="domcontentloaded")
        self._settle()

    def _settle(self) -> None:
        self.page.wait_for_function("window.jupyterapp?.started")
        self.page.wait_for_function("probe.ready()")
        self.page.evaluate("jupyterapp.shell.collapseLeft?.()")
        self.wait_idle()

    def show(self, name: str) -> None:
        """Show another notebook of the folder in the page, and wait for its kernel."""
        self._command("docmanager:open", path=name, factory="Notebook")
        self.page.wait_for_function(
            "name => probe.panel()?.context.path === name && probe.ready()", arg=name
        )
        self.wait_idle()

    def wait_idle(self, limit: float = 60) -> None:
        """Wait until the kernel is idle, still is after 150 ms, and nothing went over
        its channels in between.
        """
        end = time.monotonic() + limit
        while time.monotonic() < end:
            self.page.wait_for_function("probe.idle()", timeout=limit * 1000)
            mark = self.frames.mark()
            self.page.wait_for_timeout(150)
            # A slow callback is silent for longer, and the kernel can still look idle
            # right after a click.
            if mark == self.frames.mark() and self.page.evaluate("probe.idle()"):
                return
        raise TimeoutError(f"the kernel was not idle within {limit} s")

    def _command(self, name: str, **options: str) -> None:
        self.page.evaluate("call => probe.command(call)", [name, options])

    def rewrite(self, *sources: str) -> None:
        """Write other code into the first cells; what they showed stays until they
        run.
        """
        self.page.evaluate("sources => probe.rewrite(sources)", list(sources))

    def draw(self, source: str, *, expect: int = 0) -> None:
        """Write this code into the first cell and run it; what an earlier test showed
        in the second goes.
        """
        self.rewrite(source, "1 + 1")
        if self.output(1) not in {"", "2"}:
            self.run_cell(1)
        self.run_cell(0, expect=expect)

    def run_all(self) -> None:
        """Run every cell and wait for the kernel."""
        self._command("notebook:run-all-cells")
        self.wait_idle()

    def run_cell(self, index: int, *, expect: int = 0, limit: float = 30) -> float:
        """Run one cell; return the milliseconds until so many new controls were visible
        in its output.
        """
        seen, ms = self.page.evaluate(
            "call => probe.show(call)", [index, expect, limit * 1000]
        )
        if seen < expect:
            raise TimeoutError(
                f"{seen} of {expect} controls were visible within {limit} s:"
                f" {self.output(index)}"
            )
        self.wait_idle()
        return float(ms)

    def execute(self, code: str) -> None:
        """Send code to the kernel without a cell, and do not wait for it."""
        self.page.evaluate(
            "code => { probe.kernel().requestExecute({code, store_history: false}); }",
            code,
        )

    def ask(self, code: str) -> str:
        """Run code without a cell; return what it printed and its value (which `frames`
        then holds, too).
        """
        status, told = self.page.evaluate("code => probe.ask(code)", code)
        if status != "ok":
            raise RuntimeError(told)
        return str(told)

    def cells(self) -> str:
        """Describe the cells: type, execution count, length, `>` at the active one;
        then mode, and a dialog.
        """
        return str(self.page.evaluate("probe.cells()"))

    def output(self, index: int) -> str:
        """Return the visible text of a cell's outputs."""
        return str(self.page.evaluate("i => probe.output(i)", index))

    def control(self, label: str) -> Locator:
        """Find the field or button with this label in the outputs."""
        outputs = self.page.locator(OUTPUTS)
        return outputs.get_by_label(label, exact=True).or_(
            outputs.get_by_role("button", name=label, exact=True)
        )

    def save(self) -> dict[str, Any]:
        """Save as Ctrl+S does, checkpoint included; return the file."""
        self._command("docmanager:save")
        self.page.wait_for_function("probe.panel().context.model.dirty === false")
        saved: dict[str, Any] = json.loads(self.path.read_text("utf-8"))
        return saved

    def theme(self, name: Theme) -> None:
        """Wear a theme's style sheet; the next page has the server's theme again."""
        if name != self.shown_theme:
            self.page.evaluate(
                "theme => probe.theme(theme)",
                [THEMES[name], SHEETS[name], name == "light"],
            )
            self.shown_theme = name

    def violations(self, place: str | None = None) -> list[str]:
        """Return what axe-core finds in the outputs, or in all of a place but what
        others draw, as `rule: element`.
        """
        if not self.page.evaluate("'axe' in window"):
            axe = (
                resources.files("axe_playwright_python")
                .joinpath("axe.min.js")
                .read_text("utf-8")
            )
            self.page.evaluate(f"{axe}\n;0")
        return self._axe(OUTPUTS) if place is None else self._axe(place, *ITS_OWN)

    def _axe(self, place: str, *without: str) -> list[str]:
        where = {"include": [[place]], "exclude": [[each] for each in without]}
        found = self.page.evaluate(
            "where => axe.run(where, {resultTypes: ['violations']})", where
        )["violations"]
        nodes = [
            (rule["id"], " ".join(map(str, node["target"])))
            for rule in found
            for node in rule["nodes"]
        ]
        return [
            f"{rule}: {target}"
            for rule, target in nodes
            if not target.startswith(".jp-WindowedPanel")
        ]

    def look_closely(self, *places: str) -> list[str]:
        """Return what axe-core finds in each theme, and which of these places scroll
        sideways in light.
        """
        found = []
        for theme in reversed(THEMES):  # light comes last
            self.theme(theme)
            found += self.violations()
        wide = (
            "place => [...document.querySelectorAll(place)].some(node =>"
            " node.scrollWidth > node.clientWidth)"
        )
        return [*found, *(place for place in places if self.page.evaluate(wide, place))]


App = Literal["lab", "notebook"]
# The end of its standard input ends a server, so that it outlives no test, not even a
# killed one. The module that is left out is one that the workers of tests/conftest.py
# leave out, too.
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
    """A JupyterLab or Notebook 7 on loopback; all it writes but notebooks and
    checkpoints is in `private`.
    """

    private: Path

    def __init__(self, folder: Path, app: App) -> None:
        self.folder, self.app, self.token = folder.resolve(), app, secrets.token_hex(16)
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{unused.getsockname()[1]}"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder = tempfile.TemporaryDirectory(
                prefix="jupyter-pages-", ignore_cleanup_errors=True
            )
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
        """Return the environment without proxies, which break loopback, and with
        folders of the server's own.
        """
        outside = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy")
            and not name.startswith(("JUPYTER", "JPY_"))
        }
        folders = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
        }
        own = {
            name: str(self.private / place)
            for name, place in {**folders, "IPYTHONDIR": "ipython"}.items()
        }
        return {**outside, **own, "JUPYTER_PREFER_ENV_PATH": "1"}

    def _arguments(self) -> list[str]:
        """Return the server's command line."""
        module, kind = {
            "lab": ("jupyterlab", "LabApp"),
            "notebook": ("notebook", "JupyterNotebookApp"),
        }[self.app]
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
        """Run the server, which ends its kernels and itself when its standard input
        does.
        """
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
                process.communicate(timeout=20)

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
        answer = self._requests.request(
            method, f"{self.url}/api/{path}", json=body, timeout=20
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None


class Jupyter(JupyterServer):
    """A JupyterLab or Notebook 7 whose notebooks are opened in pages."""

    def __init__(
        self,
        folder: Path,
        *,
        app: App = "lab",
        theme: Theme = "light",
        save_state: bool = True,
    ) -> None:
        super().__init__(folder, app)
        self.theme, self.save_state = theme, save_state

    def _write_settings(self, *, save_state: bool) -> None:
        """Write the settings anew for each page, since switching the theme live changes
        them.
        """
        settings: dict[str, dict[str, object]] = {
            **SETTINGS,
            "jupyterlab/apputils-extension/themes": {"theme": THEMES[self.theme]},
            "jupyter-widgets/jupyterlab-manager/plugin": {"saveState": save_state},
        }
        for name, values in settings.items():
            file = (
                self.private
                / "config"
                / "lab"
                / "user-settings"
                / f"@{name}.jupyterlab-settings"
            )
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values), "utf-8")
        page_config = self.private / "config" / "labconfig" / "page_config.json"
        page_config.parent.mkdir(parents=True, exist_ok=True)
        page_config.write_text(json.dumps(PAGE_CONFIG), "utf-8")

    @contextmanager
    def open(
        self,
        browser: Browser,
        notebook: str,
        *,
        viewport: tuple[int, int] = (1280, 1000),
        save_state: bool | None = None,
        keep: bool = False,
    ) -> Iterator[NotebookPage]:
        """Open a notebook in a window of its own; end its kernel with the page, unless
        a later page needs it.
        """
        self._write_settings(
            save_state=self.save_state if save_state is None else save_state
        )
        width, height = viewport
        context = browser.new_context(viewport={"width": width, "height": height})
        try:
            self._start_kernel(notebook)
            opened = NotebookPage(
                context.new_page(), self.folder / notebook, self.theme
            )
            opened.load(self._address(notebook))
            yield opened
        finally:
            context.close()
            if not keep:
                self._end_kernel(notebook)

    def turn_to(self, page: NotebookPage, notebook: str) -> None:
        """Open another notebook in a page, with the kernel of its first one, which has
        imported everything.
        """
        kernels = {
            session["path"]: session["kernel"]["id"]
            for session in self.call("GET", "sessions")
        }
        self._start_kernel(notebook, id=kernels[page.path.name])
        page.load(self._address(notebook))

    def _address(self, notebook: str) -> str:
        place = {"lab": "lab/tree", "notebook": "notebooks"}[self.app]
        # Without `reset` the page brings back what the page before it had open.
        return f"{self.url}/{place}/{quote(notebook)}?token={self.token}&reset"

    def _start_kernel(self, notebook: str, **kernel: str) -> None:
        """Start the kernel, if there is none yet, while the page loads: that saves a
        second. kernel: the id of one that runs.
        """
        session = {
            "kernel": kernel or {"name": "python3"},
            "type": "notebook",
            "name": notebook,
            "path": notebook,
        }
        self.call("POST", "sessions", session)

    def _end_kernel(self, notebook: str) -> None:
        for session in self.call("GET", "sessions"):
            if session["path"] == notebook:
                self.call("DELETE", f"sessions/{session['id']}")
