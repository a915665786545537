"""Widgets for notebooks: each is an anywidget that sends its code to a page once, however many of them it shows."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

import anywidget
import ipywidgets
import traitlets

from payerkit.errors import PayerkitError
from payerkit.html import palette


def source(name: str) -> str:
    """Return a source file without indentation and comments, which a page does not need."""
    text = files("payerkit").joinpath(name).read_text("utf-8")
    lines = (re.sub(r"^//.*| // [^'`]*$", "", line.strip()) for line in text.splitlines())
    return "\n".join(filter(None, lines))


@cache
def page_code(*names: str) -> tuple[str, bytes]:
    """Join the named scripts and styles into a module that exports `begin`; return its id, and it packed with gzip.

    The id differs for each version of the code. The scripts share one scope; one defines `draw`. The palette, and what
    all widgets share, come first.
    """
    texts = {name: source(name) for name in ("picture.css", "widgets/shared.css", "widgets/shared.js", *names)}
    styles = " ".join([palette(), *(text for name, text in texts.items() if name.endswith(".css"))])
    css = json.dumps(re.sub(r"\s*([{};])\s*|(?<=:) ", r"\1", styles))
    scripts = [text for name, text in texts.items() if name.endswith(".js")]
    code = "\n".join([*scripts, f"const css = {css};", "export { begin };"])
    return hashlib.sha256(code.encode()).hexdigest()[:16], _pack(code)


def _pack(text: str) -> bytes:
    """Return a text for a page, packed with gzip: it takes a third of the room."""
    return gzip.compress(text.encode(), mtime=0)


def _names_set(widget: ipywidgets.Widget) -> list[str]:
    """Return the names of a widget's state that are set: of the others, pages have the same defaults."""
    return [name for name in widget.keys if getattr(widget, name) is not None]


class _SparseLayout(ipywidgets.Layout):  # type: ignore[misc]  # ipywidgets has no types
    """A layout that is sent without what is not set.

    It is made with its widget: anywidget takes no other one for a widget that is shown.
    """

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - inherited
        """Return the parts of the state that are asked for, by default what is set."""
        return dict(super().get_state(_names_set(self) if key is None else key, drop_defaults))


class PageWidget(anywidget.AnyWidget):
    """Base class of the widgets. Its state, which a notebook may save, holds no values.

    Its page asks for what it shows at first, and for the code if it has none: one message, one reply.

    The comm opens when the widget is first shown: a widget that is only shown as a part of another one has no comm.
    """

    _esm = source("widgets/unpack.js")
    _files: ClassVar[tuple[str, ...]]
    """The scripts and styles of this kind of widget."""
    _lock: AbstractContextManager[Any]
    """Held while a page is sent something: a kernel with subshells handles messages in other threads."""

    loader = traitlets.Bytes(_pack(source("widgets/loader.js")), read_only=True).tag(sync=True)
    code_id = traitlets.Unicode(read_only=True).tag(sync=True)
    spec = traitlets.Dict(read_only=True).tag(sync=True, to_json=lambda value, _: _pack(json.dumps(value)))
    label = traitlets.Unicode(read_only=True, help="The title, also without a kernel.").tag(sync=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.set_trait("code_id", page_code(*self._files)[0])
        self.on_msg(self._on_page_message)

    @traitlets.default("layout")
    def _sparse_layout(self) -> _SparseLayout:
        return _SparseLayout()

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - inherited
        """Return the parts of the state that are asked for, by default what is set."""
        return dict(super().get_state(_names_set(self) if key is None else key, drop_defaults))

    def _first(self) -> Any:
        """Return what a page shows at first."""
        raise NotImplementedError

    def _on_start(self) -> None:
        """Do what is to be done once a page has drawn the widget."""

    def _on_message(self, message: Any) -> None:
        """Take a message that the code of the widget sends from a page."""
        raise NotImplementedError

    def _on_page_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if message.get("type") != "start":
            self._on_message(message)
            return
        code = [page_code(*self._files)[1]] if message["needs_code"] else []
        with self._lock:  # what changes from now on is sent later
            self.send({"type": "start", "page": message["page"]}, [_pack(json.dumps(self._first())), *code])
        self._on_start()

    def _picture(self) -> str:
        """Return what pages show that run no widgets, as HTML without values; "" for nothing."""
        return ""

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget for a notebook, with its picture for pages such as GitHub's."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle and (picture := self._picture()):
            bundle[0]["text/html"] = picture
        return bundle

    def open(self) -> None:
        """Do nothing yet: `model_id`, which every display needs, opens the comm."""

    @property
    def model_id(self) -> str:
        """The id of the model in the page."""
        super().open()
        return str(super().model_id)


class ReplyingWidget(PageWidget):
    """Replies to messages. Its state holds no values: they travel in custom messages.

    A message has `type`, `page` (the sender), the number of the `request`, and the parameters of the type; a reply
    repeats the first three, so that of each type a page takes only the reply to its latest request.
    """

    _lock = threading.Lock()

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a message of a page."""
        raise NotImplementedError

    def _on_message(self, message: Any) -> None:
        """Reply to a message of a page. Raises nothing: ipywidgets would only log it, and the user see nothing."""
        try:
            with self._lock:
                reply = self._reply(message)
        except PayerkitError as error:
            reply = {"error": error.message}
        except Exception as error:  # noqa: BLE001 - shown
            reply = {"error": f"Unexpected error: {type(error).__name__}. Report it."}
        self.send({**reply, **{name: message.get(name) for name in ("type", "page", "request")}})
