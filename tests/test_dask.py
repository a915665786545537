"""Tables that are larger than this machine: the checks of a table map over the
partitions of a Dask DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from payerkit import check_all_bank_details, check_payers, check_payments, samples
from published import BANK_DETAILS, PAYER

if TYPE_CHECKING:
    from distributed import Client

# dask is imported by those who run these tests: it takes a second, and each worker
# collects every file.
# ruff: noqa: PLC0415
pytestmark = pytest.mark.slow

PAYERS = [
    {
        **PAYER,
        "clientUserId": f"user-{place}",
        "country": "UK" if place % 3 == 0 else "US",
    }
    for place in range(8)
]
ACCOUNTS = [
    {**BANK_DETAILS, "routingNumber": "026013355" if place % 3 == 0 else "026013356"}
    for place in range(8)
]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[Client]:
    """Two workers, each a process, on this machine only."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("check", "rows"), [(check_payers, PAYERS), (check_all_bank_details, ACCOUNTS)]
)
def test_partitions_have_the_findings_of_one_table(
    check: Callable[[pd.DataFrame], pd.DataFrame], rows: list[dict[str, str]]
) -> None:
    """Two workers find in four partitions what one process finds in the whole table."""
    import dask.dataframe as dd

    frame = pd.DataFrame(rows)
    found = (
        dd.from_pandas(frame, npartitions=4)
        .map_partitions(check, clear_divisions=True)
        .compute()
    )

    assert len(found)
    pd.testing.assert_frame_equal(
        check(frame).astype("object"), found.reset_index(drop=True).astype("object")
    )


def test_partitions_have_the_verdicts_of_one_list(tmp_path: Path) -> None:
    """Files of payments are checked where they are read; only those of one partition
    are compared with each other.
    """
    import dask.dataframe as dd

    files = pd.Series(
        [
            str(tmp_path / f"{name}.json")
            for name in ("honest", "high_fee", "other_payee", "burned")
        ]
    )
    for name in files:
        samples[Path(name).stem].save(name)
    each_alone = [check_payments([name])["verdict"].iloc[0] for name in files]
    found = (
        dd.from_pandas(files, npartitions=4)
        .map_partitions(check_payments, meta=check_payments([]))
        .compute()
    )

    assert each_alone == found["verdict"].tolist()
    assert "ok" == each_alone[0]
