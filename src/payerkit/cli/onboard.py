"""`payerkit onboard`: a table sent from the terminal, with a journal and a report
beside its file.
"""

from __future__ import annotations

import re
import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from payerkit.client.client import Client
from payerkit.connection import connect
from payerkit.disk import require_savable
from payerkit.errors import InterruptedRun, InvalidInput, located
from payerkit.runs.locate import journal_of_file, planned_journal
from payerkit.runs.options import Options, RunOptions
from payerkit.runs.plan import Plan, make_plan
from payerkit.runs.report import Report
from payerkit.runs.run import onboard
from payerkit.runs.tasks import Table
from payerkit.runs.verify import verify_onboarding
from payerkit.tables.read import read_payers
from payerkit.tables.spreadsheets import require_openpyxl, save_rows, template
from payerkit.wording import count_of, in_words, visible

_TRIED = 3
"""Rows to try before all are sent."""


def run(options: Namespace) -> int:
    """Print the template or the plan, or send the rows; return 0 if all are done, 3 if
    not, 130 if interrupted.

    Return 1 if a file of the results cannot be written; the summary is printed before.
    """
    if options.template is not None:
        return _write_template(options)
    if options.output is not None:
        raise InvalidInput(
            "--output: only for --template. The results of the rows are written to"
            " --report."
        )
    file = options.file
    if file is None or not file.name:  # the folder .
        raise InvalidInput(
            "give a file with payers. 'payerkit onboard --template' prints one to"
            " fill in."
        )
    kind = "report"
    if options.dry_run:
        kind = "plan"
    elif options.verify:
        kind = "verify"
    target = options.report or file.with_name(f"{file.stem}-{kind}.csv")
    written = {"--report": target, "--links": options.links}
    journal = options.journal or file.with_name(f"{file.name}.journal")
    _require_usable({"FILE": file, "--journal": Path(journal)}, written)
    rows = _read(options)
    if options.dry_run:
        return _show_plan(rows, options, target)
    if options.verify:
        return _verify(rows, options, target)
    report, is_whole = _send(rows, options)
    print(in_command(str(report)))
    is_written = _write_report(partial(_save_report, report), target)
    corrections = _write_corrections(report.save_corrections, options)
    if corrections is not None:
        command = _command(options, file=corrections, journal=report.journal)
        print(f"To correct: {visible(str(corrections))}. Then run:\n  {command}")
    print(*_next_commands(report, options, is_whole=is_whole), sep="\n", end="")
    if options.links is not None:
        is_written &= _write(
            report.save_links,
            options.links,
            "--links",
            "Links of payers, personal data",
        )
    if not is_whole:
        return 130
    return _exit_code(is_written, report.counts["done"] == len(report.frame))


def _exit_code(is_written: bool, is_done: bool) -> int:  # noqa: FBT001
    """Return 1 if a file of the results could not be written, 0 if all is done, else
    3.
    """
    if not is_written:
        return 1
    if is_done:
        return 0
    return 3


_OPTION = re.compile(r"\S+ \((--[a-z][a-z-]*(?: [\w.=-]+)?)\)")
"""An option as Python writes it, and behind it in brackets as the command line does."""


def in_command(text: str) -> str:
    """Return a text with each option as the command line writes it, and not as Python
    does.
    """
    return _OPTION.sub(r"\1", text)


def _save_report(report: Report, path: Path) -> None:
    """Write the rows of a report, with reasons for the command line."""
    reasons = report.frame["reason"].map(in_command)
    save_rows(report.frame.assign(reason=reasons), path)


def _next_commands(
    report: Report, options: Namespace, *, is_whole: bool
) -> Iterator[str]:
    """Yield the commands that follow from a report, each with its purpose."""
    states = set(report.frame["state"])
    codes = set(report.frame["reason_code"].dropna())
    if not is_whole or report.frame["retryable"].any():
        yield f"To go on:\n  {_command(options)}\n"
    if "unknown" in states or codes & {"account_conflict", "perhaps_there"}:
        yield f"To look at what is there:\n  {_command(options, '--verify')}\n"


def _read(options: Namespace) -> pd.DataFrame:
    """Return the table, with its columns as --column says."""
    mapping = {
        theirs: ours or None
        for theirs, ours in _pairs(
            options.column,
            "--column: expected THEIRS=OURS, such as --column zip=postcode.",
        )
    }
    return read_payers(
        options.file,
        mapping=mapping,
        sheet=options.sheet,
        header_row=options.header_row,
        encoding=options.encoding,
        normalise=options.normalise,
        date_order=options.date_order and options.date_order.replace("-", "_"),
        defaults=dict(
            _pairs(
                options.set, "--set: expected OURS=VALUE, such as --set currency=USD."
            )
        ),
    )


def _show_plan(rows: pd.DataFrame, options: Namespace, target: Path) -> int:
    """Print what would be sent, what to correct, and the next command; return 0 if all
    rows would be sent, else 3.
    """
    chosen = Options.of(
        _run_options(options), options.accounts.replace("-", "_"), options.existing
    )
    table = Table(rows, hold=chosen.hold, **_checks(options))
    plan = make_plan(table, options.journal, chosen)
    print(in_command(str(plan)), end="\n\n")
    is_written = _write_report(plan.save, target)
    corrections = _write_corrections(plan.save_corrections, options)
    print("", *_next_steps(plan, options, corrections), sep="\n")
    counts = plan.counts
    return _exit_code(is_written, counts["to_send"] + counts["done"] == counts["rows"])


def _write_corrections(save: Callable[[Path], int], options: Namespace) -> Path | None:
    """Write the rows in which there is something to correct to a file, and return its
    path; None if there are none, or it fails.

    A file has one corrections file at most: it holds personal data, and somebody may
    have corrected it already. One of a corrections file has a number.
    """
    target = _corrections_file(options.file)
    if target.exists():
        print(
            f"{visible(str(target))} is there already, and was not written again."
            " Correct that one, or delete it."
        )
        return None
    try:
        rows = save(target)
    except OSError as error:
        print(
            f"{visible(str(target))} could not be written"
            f" ({error.strerror or type(error).__name__}).",
            file=sys.stderr,
        )
        return None
    if not rows:
        return None
    return target


def _corrections_file(file: Path) -> Path:
    """Return the corrections file of a file: payers-corrections.csv of payers.csv,
    payers-corrections-2.csv of that, and so on.
    """
    suffix = ".xlsx"
    if file.suffix.lower() in {".csv", ".tsv", ".txt"}:
        suffix = ".csv"
    stem, mark, number = file.stem.rpartition("-corrections")
    if not mark:
        return file.with_name(f"{file.stem}-corrections{suffix}")
    following = 2
    digits = number.removeprefix("-")
    if digits.isdecimal():
        following = int(digits) + 1
    return file.with_name(f"{stem}-corrections-{following}{suffix}")


def _next_steps(plan: Plan, options: Namespace, corrections: Path | None) -> list[str]:
    """Return the commands that a person may type next, each with its purpose."""
    sent = plan.counts["to_send"]
    wrong = plan.counts["rows"] - sent - plan.counts["done"] - plan.counts["left"]
    lines = ["Next"]
    if plan.correctable and not options.normalise:
        cells = count_of(plan.correctable, "cell")
        why = "that can mean only one thing; it lists each change"
        lines += [
            f"  Let payerkit rewrite {cells} {why}:",
            f"    {_command(options, '--normalise', '--dry-run')}",
        ]
    if wrong:
        rows = count_of(wrong, "row")
        name = visible((corrections or options.file).name)
        lines += [
            f"  Correct {rows} in {name}, then look again:",
            f"    {_command(options, '--dry-run', file=corrections)}",
        ]
    if sent:
        rows = count_of(sent, "row")
        line = f"  Send {rows}, or first a few to try."
        if wrong:
            line = f"  Send the other {rows}, or first a few to try."
            line += " The same command sends the rest later."
        lines.append(line)
        if options.limit is None:
            lines.append(f"    {_command(options, '--limit', str(_TRIED))}")
        lines.append(f"    {_command(options)}")
    return lines


def _command(
    options: Namespace,
    *more: str,
    file: Path | None = None,
    journal: Path | None = None,
) -> str:
    """Return the command that was typed, without --dry-run and with other options, to
    be typed again.

    file: a corrections file in place of the one that was typed, with the same journal.
    It has one sheet. journal: that of the run, by default the one beside the file.
    """
    typed = [
        word
        for word in options.arguments
        if not (len(word) > 3 and "--dry-run".startswith(word))
    ]
    if file is not None:
        typed = [str(file) if Path(word) == options.file else word for word in typed]
        before = ["", *typed]
        pairs = zip(before, typed, strict=False)
        typed = [
            word
            for other, word in pairs
            if not word.startswith("--sheet") and other != "--sheet"
        ]
        if not options.journal:
            known = journal or planned_journal(options.file, None)
            name = known or options.file.with_name(f"{options.file.name}.journal")
            more = (*more, "--journal", str(name))
    return visible(shlex.join(["payerkit", *typed, *more]))


def _connect(options: Namespace) -> Client:
    """Return a client of the service that the options name."""
    if options.rate is None:
        return connect(options.profile)
    return connect(options.profile, rate=options.rate)


def _send(rows: pd.DataFrame, options: Namespace) -> tuple[Report, bool]:
    """Send the rows; return the report, and False if the run was interrupted."""
    with _connect(options) as client, _ended_by_signals():
        try:
            report = onboard(
                client,
                rows,
                journal=options.journal,
                accounts=options.accounts.replace("-", "_"),
                existing=options.existing,
                options=_run_options(options),
                **_checks(options),
            )
        except InterruptedRun as error:
            return error.report, False
    return report, True


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let the signals that end a process interrupt a run as Ctrl+C does, so that it
    says how it goes on.
    """
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    for name in names:
        number = getattr(signal, name)
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores it
            before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _verify(rows: pd.DataFrame, options: Namespace, target: Path) -> int:
    """Print how many accounts of the file are there, and how often; return 0 if each is
    there once, else 3.
    """
    with _connect(options) as client:
        journal = options.journal
        if journal is None:
            beside = journal_of_file(options.file, client)
            if beside.is_file():
                journal = beside
        accounts = verify_onboarding(client, rows, journal)
    counts = accounts["state"].value_counts()
    states = ", ".join(
        f"{number:,} {in_words(str(state))}" for state, number in counts.items()
    )
    if states:
        print(f"{count_of(len(accounts), 'account')}: {states}.")
    else:
        print("The file has no accounts.")
    # As they are: without a number, pandas makes floats of row numbers.
    labels = pd.Index(accounts.pop("row"), dtype=object, name="row")
    is_written = _write_report(partial(save_rows, accounts.set_axis(labels)), target)
    return _exit_code(is_written, set(accounts["state"]) <= {"stored"})


def _run_options(options: Namespace) -> RunOptions:
    """Return the options that a run and its plan have in common."""
    names = ("limit", "hold", "retry", "stop_after", "workers")
    return RunOptions(**{name: getattr(options, name) for name in names})


def _checks(options: Namespace) -> dict[str, Any]:
    """Return how a run and its plan check the rows."""
    return {
        "holder_is_payer": options.holder_is_payer,
        "placeholders": options.placeholders,
    }


def _write(
    save: Callable[[Path], object], target: Path, option: str, what: str
) -> bool:
    """Write a file of results, and say where it is, or that it cannot be written;
    return if it is written.
    """
    try:
        save(target)
    except OSError as error:
        why = error.strerror or type(error).__name__
        print(
            f"payerkit onboard: {visible(str(target))}: {why}. It was not written. If"
            " it is open in another program, close it there, or choose another"
            f" {option}. Then run the same command again: what is done is not sent"
            " again.",
            file=sys.stderr,
        )
        return False
    print(f"{what}: {visible(str(target))}")
    return True


def _write_report(save: Callable[[Path], None], target: Path) -> bool:
    return _write(save, target, "--report", "Report with one line per row")


def _require_usable(
    read: Mapping[str, Path], written: Mapping[str, Path | None]
) -> None:
    """Raise InvalidInput, before anything is sent, if two options name one file, or a
    folder does not exist; and ImportError if a workbook could not be written.

    The report or the links would replace what is in a file that another option names.
    """
    named: dict[Path, str] = {}
    for option, file in {**read, **written}.items():
        if file is None:
            continue
        other = named.setdefault(file.resolve(), option)
        if other != option:
            raise InvalidInput(
                f"{option}: {file} is already the file of {other}. Choose another name."
            )
    for option, file in written.items():
        if file is not None and not file.parent.is_dir():
            raise InvalidInput(
                f"{option}: there is no folder {file.parent}. Make it first, or choose"
                " another."
            )
        if file is not None:
            with located(option):
                require_savable(file)
    results = [*written.values(), _corrections_file(read["FILE"])]
    if any(file is not None and file.suffix.lower() == ".xlsx" for file in results):
        require_openpyxl()


def _write_template(options: Namespace) -> int:
    """Print the template, or write it to the file of --output."""
    text = template(*options.template, path=options.output)
    if options.output is None:
        print(text, end="")
    else:
        written = visible(str(options.output))
        print(f"Template with an example for each route: {written}")
    return 0


def _pairs(given: Sequence[str], problem: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each NAME=VALUE given for an option. Raises
    InvalidInput for anything else.
    """
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise InvalidInput(problem)
        yield name, value
