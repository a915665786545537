"""A browser of many rows: filters by state and reason, search, sort, copy, save. The rows stay in the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import traitlets

from payerkit.widgets.page_widget import PageCode
from payerkit.widgets.replying_widget import ReplyingWidget
from payerkit.wording import count_of, in_words


class BrowsedRows(Protocol):
    """The rows that a row browser shows. wanted: the filters and the order, as the page sends them."""

    @property
    def columns(self) -> list[str]:
        """The columns of a page, by which it can be sorted."""

    def __len__(self) -> int: ...

    def page(self, wanted: Mapping[str, Any], start: int) -> dict[str, Any]:
        """Return a page of rows, from a place on, and the filters with their counts."""

    def copy(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return rows as `text` for a spreadsheet, and a `notice` about it."""

    def save(self, wanted: Mapping[str, Any], path: str, *, replace: bool) -> dict[str, Any]:
        """Write rows to a file, and return a `notice` about it; or, if the file `exists`, its name."""


class RowBrowser(ReplyingWidget):
    """Shows rows by the page; `report.browse()` and `plan.browse()` make it.

    A page sends messages of the types "page", "copy" and "save", each with `wanted`, and the parameters of the type.
    """

    spec = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, rows: BrowsedRows, *, title: str, file: str) -> None:
        self._rows = rows
        super().__init__()
        self.set_trait("label", title)
        columns = [(name, in_words(name)) for name in rows.columns]
        self.set_trait("spec", {"title": title, "columns": columns, "file": file})

    @classmethod
    def _code(cls) -> PageCode:
        return PageCode.of("payerkit", ("widgets/row_browser.js",), "widgets/row_browser.css")

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any]:
        wanted = message["wanted"]
        match message["type"]:
            case "page":
                return self._rows.page(wanted, int(message["start"]))
            case "copy":
                return self._rows.copy(wanted)
            case "save":
                path = message["path"]
                return self._rows.save(
                    wanted, path if isinstance(path, str) else "", replace=message.get("replace") is True
                )
        raise ValueError("unknown type of message")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {count_of(len(self._rows), 'row')}>"
