"""What the browser gets: the code and the style that draw a form, and the words for what was found."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from payerkit.findings import Findings
from payerkit.forms.entries import Entries
from payerkit.forms.fields import in_words
from payerkit.html import visible


def asset(name: str) -> str:
    """Return a file beside this module, without indentation and comments: each form sends it to the browser."""
    lines = map(str.strip, files(__package__).joinpath(name).read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def notes(entries: Entries[Any], findings: Findings) -> dict[str, list[tuple[str, str, str]]]:
    """Return what stands beside each field that was left: severity, words, and on whose word a warning is."""
    said: dict[str, list[tuple[str, str, str]]] = {}
    for found in findings:
        if found.field in entries.left:
            basis = f"({found.basis})" if found.severity == "warning" and found.basis else ""
            said.setdefault(found.field, []).append((found.severity, visible(in_words(found, entries.fields)), basis))
    return said


def counted(findings: Findings) -> str:
    """Return how many fields have findings: "1 field needs attention", "3 fields need attention"."""
    count = len({found.field for found in findings})
    return "1 field needs attention" if count == 1 else f"{count} fields need attention"
