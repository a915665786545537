"""`payerkit onboard`: a table sent from the terminal, with a journal and a report beside its file."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as AnyMapping
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.connection import connect
from payerkit.errors import InterruptedRun, InvalidInput
from payerkit.onboarding.options import RunOptions
from payerkit.onboarding.plan import Plan
from payerkit.onboarding.report import Report
from payerkit.onboarding.run import onboard
from payerkit.onboarding.tasks import Table
from payerkit.onboarding.verify import verify_onboarding
from payerkit.tables.mapping import Mapping
from payerkit.tables.read import propose_mapping, read_payers
from payerkit.tables.spreadsheets import template, write_rows
from payerkit.wording import count_of, in_words

_TRIED = 3
"""Rows to try before all are sent."""


def run(options: Namespace) -> int:
    """Print the template or the plan, or send the rows; return 0 if all are done, 3 if not, 130 if interrupted.

    Return 1 if a file of the results cannot be written; the summary is printed before.
    """
    if options.template is not None:
        return _write_template(options)
    if options.output is not None:
        raise InvalidInput("--output: only for --template. The results of the rows are written to --report.")
    file = options.file
    if file is None or not file.name:  # the folder .
        raise InvalidInput("give a file with payers. 'payerkit onboard --template' prints one to fill in.")
    journal = _journal(options)
    kind = "plan" if options.dry_run else "verify" if options.verify else "report"
    target = options.report or file.with_name(f"{file.stem}-{kind}.csv")
    written = {"--report": target, "--links": options.links}
    _require_usable({"FILE": file, "--journal": journal}, written)
    rows = _read(options)
    if options.dry_run:
        return _show_plan(rows, options, target)
    if options.verify:
        return _verify(rows, options, journal, target)
    report, is_whole = _send(rows, options, journal)
    print(report)
    is_written = _write_report(report.save, target)
    if corrections := _write_corrections(report.save_corrections, options):
        print(f"To correct: {corrections}. Then run:\n  {_command(options, file=corrections)}")
    if options.links is not None:
        is_written &= _write(report.save_links, options.links, "--links", "Links of payers, personal data")
    if not is_whole:
        return 130
    return 1 if not is_written else 0 if report.counts["done"] == len(report.frame) else 3


def _read(options: Namespace) -> pd.DataFrame:
    """Return the table, with its columns as --column and --accept say."""
    mapping: Mapping | dict[str, str | None] = {
        theirs: ours or None
        for theirs, ours in _pairs(options.column, "--column: expected THEIRS=OURS, such as --column zip=postcode.")
    }
    if options.accept:
        proposed = propose_mapping(options.file, sheet=options.sheet)
        proposed.update(mapping)
        mapping = proposed.accept()
    return read_payers(
        options.file,
        mapping=mapping,
        sheet=options.sheet,
        normalise=options.normalise,
        date_order=options.date_order and options.date_order.replace("-", "_"),
        defaults=dict(_pairs(options.set, "--set: expected OURS=VALUE, such as --set currency=USD.")),
    )


def _show_plan(rows: pd.DataFrame, options: Namespace, target: Path) -> int:
    """Print what would be sent, what to correct, and the next command; return 0 if all rows would be sent, else 3."""
    plan = Plan(Table(rows, hold=_run_options(options).hold, **_checks(options)), normalise="--normalise")
    print(plan.describe(), end="\n\n")
    is_written = _write_report(plan.save, target)
    corrections = _write_corrections(plan.save_corrections, options)
    print("", *_next_steps(plan, options, corrections), sep="\n")
    return 1 if not is_written else 0 if plan.counts["to_send"] == plan.counts["rows"] else 3


def _write_corrections(save: Callable[[Path], int], options: Namespace) -> Path | None:
    """Write the rows that need something to a new file, and return its path; None if there are none, or it fails."""
    suffix = ".csv" if options.file.suffix.lower() in {".csv", ".tsv", ".txt"} else ".xlsx"
    target = _unused(options.file.with_name(f"{options.file.stem.removesuffix('-corrections')}-corrections{suffix}"))
    try:
        return target if save(target) else None
    except OSError as error:
        print(f"{target} could not be written ({error.strerror or type(error).__name__}).", file=sys.stderr)
        return None


def _unused(path: Path) -> Path:
    """Return a path, with a number behind its name if there is such a file."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(name for name in chain([path], names) if not name.exists())


def _next_steps(plan: Plan, options: Namespace, corrections: Path | None) -> list[str]:
    """Return the commands that a person may type next, each with its purpose."""
    sent, wrong = plan.counts["to_send"], plan.counts["rows"] - plan.counts["to_send"]
    lines = []
    if plan.correctable and not options.normalise:
        cells = count_of(plan.correctable, "cell")
        lines += [f"  Let payerkit rewrite {cells} that can mean only one thing; it lists each change:"]
        lines += [f"    {_command(options, '--normalise', '--dry-run')}"]
    if wrong:
        lines += [f"  Correct {count_of(wrong, 'row')} in {(corrections or options.file).name}, then look again:"]
        lines += [f"    {_command(options, '--dry-run', file=corrections)}"]
    if sent:
        others, later = ("the other ", " The same command sends the rest later.") if wrong else ("", "")
        lines += [f"  Send {others}{count_of(sent, 'row')}, or first a few to try.{later}"]
        lines += [f"    {_command(options, '--limit', str(_TRIED))}"] * (options.limit is None)
        lines += [f"    {_command(options)}"]
    return ["Next", *lines]


def _command(options: Namespace, *more: str, file: Path | None = None) -> str:
    """Return the command that was typed, without --dry-run and with other options, to be typed again.

    file: a corrections file in place of the one that was typed, with the same journal. It has one sheet.
    """
    typed = [word for word in options.arguments if not (len(word) > 3 and "--dry-run".startswith(word))]
    if file is not None:
        typed = [str(file) if Path(word) == options.file else word for word in typed]
        before = ["", *typed]
        pairs = zip(before, typed, strict=False)
        typed = [word for other, word in pairs if not word.startswith("--sheet") and other != "--sheet"]
        more = (*more, *(() if options.journal else ("--journal", str(_journal(options)))))
    return shlex.join(["payerkit", *typed, *more])


def _journal(options: Namespace) -> Path:
    """Return the journal of a run: beside its file, if no other is named."""
    return Path(options.journal or options.file.with_name(f"{options.file.name}.journal"))


def _send(rows: pd.DataFrame, options: Namespace, journal: Path) -> tuple[Report, bool]:
    """Send the rows; return the report, and False if the run was interrupted."""
    with connect(options.profile, rate="default" if options.rate is None else options.rate) as client:
        try:
            report = onboard(
                client,
                rows,
                journal=journal,
                accounts=options.accounts.replace("-", "_"),
                existing=options.existing,
                options=_run_options(options),
                **_checks(options),
            )
        except InterruptedRun as error:
            return error.report, False
    return report, True


def _verify(rows: pd.DataFrame, options: Namespace, journal: Path, target: Path) -> int:
    """Print how many accounts of the file are there, and how often; return 0 if each is there once, else 3."""
    with connect(options.profile, rate="default" if options.rate is None else options.rate) as client:
        found = verify_onboarding(client, rows, journal if options.journal or journal.exists() else None)
    counts = found["state"].value_counts()
    states = ", ".join(f"{count:,} {in_words(str(state))}" for state, count in counts.items())
    print(f"{count_of(len(found), 'account')}: {states}." if states else "The file has no accounts.")
    is_written = _write_report(partial(write_rows, found.set_index("row")), target)
    return 1 if not is_written else 0 if set(found["state"]) <= {"stored"} else 3


def _run_options(options: Namespace) -> RunOptions:
    """Return the options that a run and its plan have in common."""
    names = ("limit", "hold", "retry", "stop_after", "workers")
    return RunOptions(**{name: getattr(options, name) for name in names})


def _checks(options: Namespace) -> dict[str, Any]:
    """Return how a run and its plan check the rows."""
    return {"holder_is_payer": options.holder_is_payer, "placeholders": options.placeholders}


def _write(save: Callable[[Path], object], target: Path, option: str, what: str) -> bool:
    """Write a file of results, and say where it is, or that it cannot be written; return if it is written."""
    try:
        save(target)
    except OSError as error:
        problem = f"{target}: {error.strerror or type(error).__name__}. It was not written. If it is open in another"
        advice = f"program, close it there, or choose another {option}. Then run the same command again: what is done"
        print(f"payerkit onboard: {problem} {advice} is not sent again.", file=sys.stderr)
        return False
    print(f"{what}: {target}")
    return True


def _write_report(save: Callable[[Path], None], target: Path) -> bool:
    return _write(save, target, "--report", "Report with one line per row")


def _require_usable(read: AnyMapping[str, Path], written: AnyMapping[str, Path | None]) -> None:
    """Raise InvalidInput, before anything is sent, if two options name one file, or a folder does not exist.

    The report or the links would replace what is in a file that another option names.
    """
    named: dict[Path, str] = {}
    for option, file in {**read, **written}.items():
        if file is not None and (other := named.setdefault(file.resolve(), option)) != option:
            raise InvalidInput(f"{option}: {file} is already the file of {other}. Choose another name.")
    for option, file in written.items():
        if file is not None and not file.parent.is_dir():
            raise InvalidInput(f"{option}: there is no folder {file.parent}. Make it first, or choose another.")


def _write_template(options: Namespace) -> int:
    """Print the template, or write it to the file of --output."""
    text = template(*options.template, path=options.output)
    if options.output is None:
        print(text, end="")
    else:
        print(f"Template with an example for each route: {options.output}")
    return 0


def _pairs(given: Sequence[str], problem: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each NAME=VALUE given for an option. Raises InvalidInput for anything else."""
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise InvalidInput(problem)
        yield name, value
