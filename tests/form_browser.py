"""A fake browser for tests: the page of a form, without a page."""

from __future__ import annotations

import re
from typing import Any, cast

from payerkit.forms.form import Form


def answers_of(view: dict[str, Any]) -> dict[str, str]:
    """Return the answers that a form shows before it is sent, by their labels."""
    cells = re.findall(r'<th scope="row">(.*?)</th><td>(?:<button.*?</button>)?(.*?)(<div.*?)?</td>', view["panel"])
    return {label: value for label, value, _ in cells}


class Browser:
    """A fake browser: keeps the messages of a form, and sends those of a page."""

    comm_id = "browser"

    def __init__(self, form: Form) -> None:
        self.form = form
        self.messages: list[dict[str, Any]] = []
        form.comm = self

    def send(self, data: dict[str, Any], **_: Any) -> None:
        """Keep a message of the form."""
        self.messages.append(data)

    def on_msg(self, _: Any) -> None:
        """Do nothing: `post` calls the form's handler directly."""

    def close(self, **_: Any) -> None:
        """Do nothing: no connection is open."""

    def post(self, message: str, touched: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Send a message as the page does, and return the reply."""
        content = {"action_count": self.form._action_count, **more}
        content |= {"type": message, "touched": touched or {}, "page": "page"}
        self.form._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
        return cast("dict[str, Any]", self.messages[-1]["content"])

    def press(self, action: str, touched: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Press a button, and return what the form shows when it is done with that."""
        return self.post("action", touched, action=action, **more)

    def submit(self, touched: dict[str, Any] | None = None) -> dict[str, Any]:
        """Press the button below the fields, and, where the answers are shown once more, the one that sends them."""
        shown = self.press("submit", touched)
        return self.press("send") if shown["phase"] == "review" else shown
