"""Words for counts, lists and names, as messages and cards have them, and texts of others made visible."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Self

_CHOICE = re.compile(r"<([^<>]*)>")


class Wording(str):
    """A text in the words of Python, with other words for people who use a form or keep a file.

    In its template, `<a|b|c>` is a for Python, b in a form and c for a file (a, if there is no c), and `<name>` is a
    field, which a form calls by its label.
    """

    __slots__ = ("template", "to_write")

    template: str
    to_write: str
    """Of advice to write something into a cell, that alone."""

    def __new__(cls, template: str, *, to_write: str = "") -> Self:
        """Return the text of a template."""
        text = super().__new__(cls, _CHOICE.sub(lambda choice: choice[1].split("|")[0], template))
        text.template, text.to_write = template, to_write
        return text

    def format(self, *_: object, **values: object) -> Wording:
        """Return the text with its values; a value is no template, so what would make it one is left out there."""
        text = super().__new__(type(self), super().format(**values))
        used = [(name, value) for name, value in values.items() if f"{{{name}" in self.template]
        plain = {name: re.sub("[<>|]", "", str(value)) for name, value in used}
        text.template, text.to_write = self.template.format(**plain), self.to_write
        return text

    @classmethod
    def write(cls, words: object) -> Self:
        """Return the advice to write something."""
        return cls(f"Write {words}.", to_write=str(words))

    @classmethod
    def joined(cls, texts: Iterable[str]) -> Self:
        """Return texts as one, with a blank between two; empty ones are left out."""
        return cls(" ".join(text.template if isinstance(text, Wording) else text for text in texts if text))

    def for_form(self, labels: Mapping[str, str]) -> str:
        """Return the words of a form. labels: of fields, by name; a name without a label stays."""

        def choose(choice: re.Match[str]) -> str:
            first, *others = choice[1].split("|")
            return others[0] if others else labels.get(first, first)

        return _CHOICE.sub(choose, self.template)

    def for_file(self) -> str:
        """Return the words for a file."""
        return _CHOICE.sub(lambda choice: choice[1].split("|")[2 if choice[1].count("|") > 1 else 0], self.template)


def in_form(text: str, labels: Mapping[str, str] | None = None) -> str:
    """Return a text in the words of a form, whose users call no functions. labels: of fields, by name."""
    return text.for_form(labels or {}) if isinstance(text, Wording) else text


def in_file(text: str) -> str:
    """Return a text in words for whoever keeps a file in a spreadsheet."""
    return text.for_file() if isinstance(text, Wording) and not text.to_write else text


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def in_words(name: str) -> str:
    """Return a name of the code or of the service as words, such as "not sent" for "not_sent"."""
    return name.replace("_", " ")


def listed(words: Iterable[object], conjunction: str = "and") -> str:
    """Return words as people list them, such as "1, 2 and 3"; there must be one at least."""
    *first, last = map(str, words)
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence that proposes the known name that is most like one, with a blank before it; "" if none is."""
    close = difflib.get_close_matches(name, [*known], n=1)
    return f" Did you mean {close[0]}?" if close else ""


_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories of characters that are invisible or change the direction of the text around them."""


def visible(text: str) -> str:
    """Return a text with its control, format and surrogate characters as Unicode escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(ascii(char)[1:-1] if unicodedata.category(char) in _HIDDEN else char for char in text)


def shown(text: str, most: int = 80) -> str:
    """Return a text of others, such that it cannot steer a terminal or fill a screen."""
    return visible(text)[:most]
