"""The base class of small widgets that reply to each message of a page, and say in it what went wrong."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from payerkit.errors import PayerkitError
from payerkit.widgets.page_widget import PageWidget


class ReplyingWidget(PageWidget):
    """Replies to messages. Its state holds no values: they travel in custom messages.

    A message has `type`, `page` (the sender), the number of the `request`, and the parameters of the type; a reply
    repeats the first three, so that of each type a page takes only the reply to its latest request.
    """

    def __init__(self, **options: Any) -> None:
        self._lock = threading.Lock()  # a kernel with subshells handles messages in other threads
        super().__init__(**options)

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
        except OSError as error:
            reply = {"error": f"The file cannot be written: {error.strerror or type(error).__name__}."}
        except Exception as error:  # noqa: BLE001 - shown
            reply = {"error": f"Unexpected error: {type(error).__name__}. Report it."}
        request = message if isinstance(message, Mapping) else {}
        self.send({**reply, **{name: request.get(name) for name in ("type", "page", "request")}})
