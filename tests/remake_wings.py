"""Draw how payerkit is built, from its imports: `python tests/remake_wings.py`.

Each row of the picture imports from the rows below it alone. Wings that import each
other share a box, as do the single modules of a row.
"""

from __future__ import annotations

import ast
import re
import textwrap
from base64 import b64decode
from collections import defaultdict

from drawings import WIDTH, box, image
from payerkit.html import ChipKind
from remake_reference import NOTEBOOKS
from test_architecture import (
    LOADED_ON_CALL,
    PACKAGE,
    SANDBOX,
    imported,
    imports,
    parsed,
)

PICTURE = NOTEBOOKS / "pictures" / "wings.svg"
SERVICE = SANDBOX.name
ENTRANCES = {"__init__", "__main__"}
"""They only list names, or start the command line."""

GAP = 8
LINE = 16
CHARACTER = 7
"""How wide one is, about, in the letters of the picture."""


def folder_of(part: str) -> str:
    """Return the path of a wing in the package, or of the sandbox beside it."""
    return f"../{part}" if part == SERVICE else part.replace(".", "/")


def is_wing(part: str) -> bool:
    """Return whether a part is a folder, not a single module."""
    return PACKAGE.joinpath(folder_of(part)).is_dir()


def graph() -> dict[str, set[str]]:
    """Return what each part imports when it is imported itself."""
    uses = defaultdict(set)
    for part, other in imports():
        if (part, other) not in LOADED_ON_CALL and not {part, other} & ENTRANCES:
            uses[part].add(other)
    for file in SANDBOX.glob("*.py"):
        if any(name.startswith("payerkit.payments") for name in imported(file)):
            uses[SERVICE].add("payments.onchain")
    for name in ("connection.py", "cli/sandbox.py"):
        if any(each.startswith(SERVICE) for each in imported(PACKAGE / name)):
            uses[name.partition("/")[0].removesuffix(".py")].add(SERVICE)
    return uses


def reached(uses: dict[str, set[str]], part: str) -> set[str]:
    """Return all that a part imports, and what that imports, and so on."""
    found: set[str] = set()
    ahead = {part}
    while ahead:
        ahead = {other for each in ahead for other in uses.get(each, ())} - found
        found |= ahead
    return found


def rows() -> list[list[str]]:
    """Return the parts by rows, from the ground up."""
    uses = graph()
    parts = {*uses, *(other for others in uses.values() for other in others)}
    below = {
        part: {
            other for other in reached(uses, part) if part not in reached(uses, other)
        }
        for part in parts
    }
    # Modules that import no wing are the ground, whatever they import of each other.
    ground = {part for part in parts if not any(map(is_wing, {part, *below[part]}))}
    level = dict.fromkeys(ground, 0)
    while len(level) < len(parts):
        for part in parts - level.keys():
            if below[part] <= level.keys():
                level[part] = 1 + max(level[other] for other in below[part])
    return [
        sorted(part for part in parts if level[part] == number)
        for number in range(1 + max(level.values()))
    ]


def about(wing: str) -> str:
    """Return what a wing says of itself in the first words of its docstring."""
    tree = parsed(PACKAGE / folder_of(wing) / "__init__.py")
    text = " ".join((ast.get_docstring(tree) or "").split())
    return re.split(r"[.;]", text.replace("`", ""))[0]


def wings() -> bytes:
    """Return the picture, as SVG."""
    shapes = []
    top = GAP
    for row in reversed(rows()):
        contents = {part: about(part) for part in row if is_wing(part)}
        modules = [part for part in row if not is_wing(part)]
        if modules:
            contents["Modules"] = ", ".join(modules)
        width = (WIDTH - GAP * (len(contents) + 1)) / len(contents)
        letters = int(width / CHARACTER)
        boxes = [
            [name, *textwrap.wrap(text, letters)] for name, text in contents.items()
        ]
        height = LINE * (1 + max(map(len, boxes)))
        for number, lines in enumerate(boxes):
            left = GAP + number * (width + GAP)
            kind: ChipKind = "info"
            if lines[0] == "Modules":
                kind = "neutral"
            shapes.append(box((left, top, width, height), kind, "plain", lines))
        top += height + GAP
    picture = image(shapes, top, alt="")
    return b64decode(picture.partition("base64,")[2].partition('"')[0])


def main() -> None:
    """Write the picture."""
    PICTURE.write_bytes(wings())


if __name__ == "__main__":
    main()
