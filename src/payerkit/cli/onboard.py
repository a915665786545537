"""`payerkit onboard`: a table sent from the terminal, with a journal and a report beside its file."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from payerkit.bulk.plan import plan_onboarding
from payerkit.bulk.run import onboard
from payerkit.connection import connect
from payerkit.errors import InterruptedRun, InvalidInput
from payerkit.tables.read import read_payers
from payerkit.tables.template import template
from payerkit.wording import count_of


def run(options: Namespace) -> int:
    """Print the template or the plan, or send the rows; return 0 if all are done, 3 if not, 130 if interrupted."""
    if options.template is not None:
        return _write_template(options)
    if options.output is not None:
        raise InvalidInput("--output: only for --template. The results of the rows are written to --report.")
    file = options.file
    if file is None:
        raise InvalidInput("give a file with payers. 'payerkit onboard --template' prints one to fill in.")
    journal = options.journal or file.with_name(f"{file.name}.journal")
    target = options.report or file.with_name(f"{file.stem}-report.csv")
    _require_own_files({"FILE": file, "--journal": journal, "--report": target, "--links": options.links})
    rows = read_payers(file, mapping=_mapping(options.column))
    if options.dry_run:
        plan = plan_onboarding(rows, holder_is_payer=options.holder_is_payer, hold=options.hold)
        print(plan)
        return 0 if plan.counts["to_send"] == plan.counts["rows"] else 3
    interrupted = False
    with connect(options.profile, rate="default" if options.rate is None else options.rate) as client:
        try:
            report = onboard(
                client,
                rows,
                journal=journal,
                workers=options.workers,
                durable=options.durable,
                accounts=options.accounts.replace("-", "_"),
                holder_is_payer=options.holder_is_payer,
                existing=options.existing,
                retry=options.retry,
                stop_after=options.stop_after,
                hold=options.hold,
            )
        except InterruptedRun as error:
            report, interrupted = error.report, True
    report.save(target)
    print(report, f"Report with one line per row: {target}", sep="\n")
    if options.links is not None:
        saved = report.save_links(options.links, rows)
        missing = saved["without_links"]
        lack = f"; {count_of(missing, 'payer')} without links" if missing else ""
        print(f"Links of {count_of(saved['written'], 'payer')}: {options.links}, personal data{lack}")
    if interrupted:
        return 130
    return 0 if report.counts["done"] == len(report.frame) else 3


def _require_own_files(files: Mapping[str, Path | None]) -> None:
    """Raise InvalidInput if two options name one file: the report or the links would replace what is in it."""
    named: dict[Path, str] = {}
    for option, file in files.items():
        if file is not None and (other := named.setdefault(file.resolve(), option)) != option:
            raise InvalidInput(f"{option}: {file} is already the file of {other}. Choose another name.")


def _write_template(options: Namespace) -> int:
    """Print the template, or write it to the file of --output."""
    text = template(*options.template, path=options.output)
    if options.output is None:
        print(text, end="")
    else:
        print(f"Template with an example for each route: {options.output}")
    return 0


def _mapping(columns: Sequence[str]) -> dict[str, str | None]:
    """Return the `mapping` of `read_payers` for the values of --column."""
    if not all("=" in column for column in columns):
        raise InvalidInput("--column: expected THEIRS=OURS, such as --column zip=postcode.")
    pairs = (column.partition("=") for column in columns)
    return {theirs: ours or None for theirs, _, ours in pairs}
