"""What would become of a cell with normalise=True, in words."""

from __future__ import annotations

from payerkit.masking import mask


def reading_hint(column: str, reading: str | None) -> str:
    """Return what normalise=True would write, without the text of a secret or of a person."""
    if reading is None:
        return "normalise=True would leave it blank."
    _, after = shown_change(column, "", reading)
    return f"normalise=True would write {after}." if after == reading else "normalise=True would write it as asked."


def shown_change(column: str, before: str, after: str | None) -> tuple[str, str]:
    """Return the text of a cell before and after it was rewritten, as they may be shown."""
    name = column.removeprefix("bank_") if column != "bank_name" else column
    return str(mask(name, before)), "" if after is None else str(mask(name, after))
