"""Lists of the service, page by page: their records, and whether a list is whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from payerkit.client.call import Call
from payerkit.client.client import Client
from payerkit.errors import InvalidInput
from payerkit.wording import count_of

_LISTS = {"payments": ("/v2/payments", 1000), "requests": ("/v2/request", 100)}
"""The routes of lists and their largest pages. For payments, the documentation has no limit; a service may have one."""

_MOST_PAGES = 2000
"""Pages of a list at most: a service may have no end of them."""

_NOT_OFFERED = "The service does not offer this call, which is beyond the specification."


class Page:
    """One page of a list, from parsed JSON; null counts as an empty one. Raises ValueError for another.

    total: how many records the service counts; has_more: whether others follow. Each is None if it does not say.
    """

    def __init__(self, name: str, content: Any) -> None:
        found: Any = content.get(name, "missing") if isinstance(content, dict) else "missing"
        self.records: list[dict[str, Any]] = [] if found is None else found
        if not isinstance(self.records, list) or not all(isinstance(each, dict) for each in self.records):
            raise ValueError(f"expected a list of {name}")
        said = pagination if isinstance(pagination := content.get("pagination"), dict) else {}
        self.total = total if type(total := said.get("total")) is int else None
        self.has_more = has_more if isinstance(has_more := said.get("hasMore"), bool) else None


def read_all_pages(
    client: Client, name: Literal["payments", "requests"], query: Mapping[str, str], page_size: int
) -> tuple[list[dict[str, Any]], str]:
    """Return the records of all pages of a list, and why one may be missing, or "".

    The reading ends where the service says so, else at a page that brings nothing new, and after many pages.
    """
    route, most = _LISTS[name]
    if type(page_size) is not int or not 1 <= page_size <= most:
        raise InvalidInput(f"page_size: expected a number from 1 to {most}. Nothing was sent.")
    noun = name.removesuffix("s")
    records: list[dict[str, Any]] = []
    seen: set[str] = set()
    totals: dict[int, None] = {}
    is_changed = False
    for _ in range(_MOST_PAGES):
        call = Call(
            operation=f"list_{name}",
            method="GET",
            route=route,
            query={**query, "limit": str(page_size), "offset": str(len(records))},
            read=partial(Page, name),
            hints=dict.fromkeys((404, 405), _NOT_OFFERED),
        )
        page = client.send(call)
        totals |= dict.fromkeys([] if page.total is None else [page.total])
        marks = {json.dumps(each, sort_keys=True) for each in page.records}
        is_new = not seen.issuperset(marks)
        is_followed = page.total is None or len(records) + len(page.records) < page.total
        is_followed = is_followed if page.has_more is None else page.has_more
        if is_new or not is_followed:
            is_changed |= not seen.isdisjoint(marks)
            records += page.records
            seen |= marks
        if not is_followed or not is_new:
            is_end = not is_followed or (page.total is None and page.has_more is None and not marks)
            return records, _problem(noun, list(totals), len(records), is_changed=is_changed, is_end=is_end)
    return records, (
        f"After {_MOST_PAGES:,} pages with {count_of(len(records), noun)} the service says that more follow: some "
        "may be missing. Call again with a larger page_size, or a narrower filter."
    )


def _problem(noun: str, totals: list[int], read: int, *, is_changed: bool, is_end: bool) -> str:
    """Return why a record may be missing from a list, or ""."""
    some = "some may be missing. Call again with a narrower filter."
    one = "may be missing, or be there twice. Call again."
    if len(totals) > 1:
        counts = f"{totals[0]:,} to {count_of(totals[-1], noun)}"
        return f"While the list was read, its length changed from {counts}: one {one}"
    if is_changed:
        return f"While the list was read, it changed: a {noun} {one}"
    if totals and totals[0] != read:
        return f"The service counts {count_of(totals[0], noun)}, and its pages have {read:,}: {some}"
    if not is_end:
        return f"The service does not say that the list ends, and its next page has nothing new: {some}"
    return ""


def cell_text(value: object) -> str | None:
    """Return text or a number as text; None for anything else, and for empty text."""
    return str(value) or None if isinstance(value, str | int) and not isinstance(value, bool) else None


def id_key(value: str) -> str:
    """Return an id or a reference without what tells nothing apart: the case of letters, and blanks around words."""
    return " ".join(value.split()).casefold()
