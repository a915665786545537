"""The response of a form as an ordinary output of the notebook, masked, which stays when the notebook is saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from IPython.core.getipython import get_ipython
from IPython.display import display

from payerkit import html
from payerkit.findings import Findings
from payerkit.masking import mask
from payerkit.widgets.page_widget import PageWidget


@dataclass(frozen=True, slots=True, repr=False)
class KeptResult:
    """A response to keep in a notebook, masked. Notebooks show it as a picture, `print` as text.

    picture: HTML. text: the same for terminals, and for readers that show no pictures.
    """

    picture: str
    text: str

    @classmethod
    def of(cls, title: str, *, environment: str, address: str, picture: str, text: str) -> KeptResult:
        """Return a response with its title, and when and from where it was kept."""
        when = f"Kept at {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, from {address}."
        head = html.title(title, beside=html.badge(environment))
        return cls(html.picture(head, picture, html.small(when)), f"{title} ({environment})\n{text}\n{when}")

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.picture


def picture_of_payer(client_user_id: str | None, picture: str, sent: Findings) -> str:
    """Return the picture of a payer's record, with the payer's id, masked, and the findings before it was sent."""
    payer = html.table([("Payer", html.escape(mask("clientUserId", client_user_id)))], caption="")
    return payer + picture + (sent._repr_html_() if sent else html.small("Checked before it was sent: no findings."))


def text_of_payer(client_user_id: str | None, lines: Iterable[str], sent: Findings) -> str:
    """Return the same record as text."""
    payer = f"payer: {mask('clientUserId', client_user_id)}"
    return "\n".join([payer, *lines, f"Checked before it was sent: {sent}"])


class ReservedOutput:
    """A place among the outputs of a cell, empty and without a height until it is filled.

    JupyterLab shows what a message handler displays in no cell; it only updates what a cell displayed before.
    """

    def __init__(self) -> None:
        self._display_id = uuid4().hex
        self._count = 0

    def reserve(self) -> None:
        """Add the place to the outputs of the cell that runs."""
        display({}, raw=True, display_id=self._display_id)

    def fill(self, result: KeptResult) -> str:
        """Show a response there. Return a CSS class, by which a page finds out whether it shows the response."""
        self._count += 1
        mark = f"payerkit-kept-{self._display_id}-{self._count}"
        picture = f'<div class="{mark}">{result.picture}</div>'
        bundle = {"text/html": picture, "text/plain": result.text}
        if get_ipython() is not None:
            display(bundle, raw=True, display_id=self._display_id, update=True)
        return mark


def display_widget(widget: PageWidget) -> None:
    """Display a widget as IPython would, so that other outputs can follow it."""
    data, metadata = widget._repr_mimebundle_() or ({}, {})
    display(data, metadata=metadata, raw=True)


def notebook_name(widget: PageWidget, new_name: str) -> str:
    """Return the name of a widget in the notebook, such as `walk.payer`; a widget without one gets the new name."""
    shell = get_ipython()
    if shell is None:
        return "form"
    for name, value in list(shell.user_ns.items()):
        if name.startswith("_"):
            continue
        if value is widget:
            return str(name)
        if isinstance(value, PageWidget):
            parts = (part for part, each in vars(value).items() if each is widget and not part.startswith("_"))
            if part := next(parts, ""):
                return f"{name}.{part}"
    # Never the name of something else, such as another form.
    while new_name in shell.user_ns:
        new_name += "_"
    shell.push({new_name: widget})
    return new_name
