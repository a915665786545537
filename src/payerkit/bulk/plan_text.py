"""A plan as text: the file, how its columns were understood, what would be sent, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap

import numpy as np
import pandas as pd

from payerkit.bulk.naming import Naming
from payerkit.bulk.outcomes import Reason, ReasonKind, Reasons
from payerkit.bulk.rows import Rows
from payerkit.checks.schema import MASK
from payerkit.html import visible
from payerkit.tables.source_table import Origin
from payerkit.wording import count_of

_WIDTH = 100

_TITLES = {
    ("warning",): "Warnings: {}. Look at them: they are sent all the same, unless you hold them back by their code",
    ("info",): "Worth knowing: {}",
}
"""The groups of findings by kind, behind errors, with their titles for a number of rows."""


def describe_file(origin: Origin, labels: pd.Index) -> str:
    """Return what a table was read from, in a sentence; "" for a table that was not read from a file."""
    if not origin.file:
        return ""
    sheet = f', sheet "{visible(origin.sheet)}"' if origin.sheet else ""
    rows = f"{count_of(len(labels), 'row')} below the header in row {origin.header_row}"
    return f"{visible(origin.file)}{sheet}: {rows}."


def describe_plan(
    counts: Mapping[str, int], reasons: Reasons, naming: Naming, origin: Origin, changes: pd.DataFrame
) -> str:
    """Return all of a plan as text, section by section. reasons: with infos."""
    parts: list[Iterable[str]] = [
        filter(None, [describe_file(origin, naming.labels)]),
        _describe_columns(origin, naming),
        _describe_changes(changes, naming),
        describe_counts(counts),
        *_describe_errors(list(reasons.first(None, ("error", "not_sent"))), naming),
        *(_describe_reasons(title, list(reasons.first(None, kinds)), naming) for kinds, title in _TITLES.items()),
    ]
    return "\n\n".join(filter(None, ("\n".join(part) for part in parts)))


def describe_counts(counts: Mapping[str, int]) -> list[str]:
    """Return what would be sent and what not, one sentence a line."""
    held = counts["held"]
    blocked = counts["rows"] - counts["to_send"] - held
    sent = f"{count_of(counts['payers'], 'payer')} and {count_of(counts['accounts'], 'account')} would be sent"
    return [
        f"{count_of(counts['rows'], 'row')}: {sent}; rows with warnings: {counts['with_warnings']:,}.",
        *([f"{count_of(blocked, 'row')} would not be sent: errors in the row or in its payer."] if blocked else []),
        *([f"{count_of(held, 'row')} would be held back because of warnings."] if held else []),
    ]


def _describe_columns(origin: Origin, naming: Naming) -> Iterator[str]:
    """Yield which field each column of the file fills, and which columns are left out."""
    if not origin.columns:
        return
    read = origin.by_name
    named = {each.place: each for each in read.values() if each.header != each.column}
    own = len(read) - len(named)
    yield "How the columns were understood"
    names = [(each.letters, naming.header(str(each.column)), each.column) for _, each in sorted(named.items())]
    width = max((len(name) for _, name, _ in names), default=0)
    yield from (f"  {letters:>3}  {name:<{width}}  {column}" for letters, name, column in names)
    if own:
        noun, verb = "other column" if named else "column", "has" if own == 1 else "have"
        yield f"  {count_of(own, noun)} {verb} the name of a field."
    left_out = [f"{each.letters} ({each.shown_header or 'no name'})" for each in origin.columns if each.column is None]
    if left_out:
        yield from _wrapped(f"Left out: {', '.join(left_out)}", "  ")


def _describe_changes(changes: pd.DataFrame, naming: Naming) -> Iterator[str]:
    """Yield which cells were rewritten: of each column how many, and an example."""
    if changes.empty:
        return
    yield f"Rewritten with {naming.normalise}: {count_of(len(changes), 'cell')}"
    for column, own in changes.groupby("column", sort=False):
        before, after, cell = map(str, own[["from", "to", "cell"]].iloc[0])
        words = str(column)
        if MASK not in before + after:
            words += f", such as {before} -> {after or 'blank'}" + (f" ({cell})" if cell else "")
        elif cell:
            words += f" ({cell})" if len(own) == 1 else f" (such as {cell})"
        yield f"  {count_of(len(own), 'cell'):>10}  {words}"


def _describe_errors(reasons: Sequence[Reason], naming: Naming) -> Iterator[Iterable[str]]:
    """Yield the errors that a person corrects, and then those of cells that normalise=True would rewrite."""
    left, rewritable = list[Reason](), dict[tuple[str, str], Rows]()
    for reason in reasons:
        column, rows = reason.kind.column, reason.rows
        has_hint = np.array([(row, column) in naming.readings for row in rows.tolist()], bool)
        if not has_hint.all():
            left.append(reason._replace(rows=rows[~has_hint]))
        if has_hint.any():
            key = column, reason.kind.message
            rewritable[key] = np.union1d(rewritable.get(key, rows[:0]), rows[has_hint])
    left.sort(key=lambda reason: (-reason.times, reason.rows[0]))
    alike = [
        Reason(ReasonKind("error", message, column=column), rows) for (column, message), rows in rewritable.items()
    ]
    number = len(_rows_of(left))
    verb = "is" if number == 1 else "are"
    yield _describe_reasons(f"Errors: {{}} {verb} not sent until this is corrected", left, naming)
    alone = len(_rows_of(alike) - _rows_of(left))
    others = f", {alone:,} of them without any other error" if left else ""
    alike.sort(key=lambda reason: -reason.times)
    yield _describe_reasons(f"Errors that {naming.normalise} would correct: {{}}{others}", alike, naming)


def _describe_reasons(title: str, reasons: Sequence[Reason], naming: Naming) -> Iterator[str]:
    """Yield reasons of some kinds, each with its number of rows, what is wrong, where, and what to do."""
    if not reasons:
        return
    yield title.format(count_of(len(_rows_of(reasons)), "row"))
    for reason in reasons:
        kind, number = reason.kind, count_of(reason.times, "row")
        code = f" [{kind.code}]" if kind.code else ""
        yield from _wrapped(f"{visible(kind.message)}{code}", " " * 13, f"  {number:>9}  ")
        yield f"{' ' * 13}{naming.where(kind.column, reason.rows)}"
        yield from _wrapped(reason.hint(naming), " " * 16, f"{' ' * 13}-> ")


def _rows_of(reasons: Iterable[Reason]) -> set[int]:
    return {row for reason in reasons for row in reason.rows.tolist()}


def _wrapped(text: str, indent: str, first: str | None = None) -> list[str]:
    """Return a text in lines. first: the beginning of the first line, else as of the others."""
    start = indent if first is None else first
    return wrap(
        text, _WIDTH, initial_indent=start, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
