"""The checks of a table, partition by partition, in the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import payerkit
from published import PAYER

ROWS = [{**PAYER, "clientUserId": f"user-{place}", "country": "UK" if place % 3 == 0 else "US"} for place in range(20)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """Two workers, each a process, on this machine only."""
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        yield client


def test_partitions_have_the_findings_of_the_whole(cluster: Client) -> None:
    """Two workers find in four partitions what one process finds in the table."""
    frame = pd.DataFrame(ROWS)
    found = dd.from_pandas(frame, npartitions=4).map_partitions(payerkit.check_payers, clear_divisions=True).compute()

    assert 2 == len(cluster.scheduler_info()["workers"])
    pd.testing.assert_frame_equal(
        payerkit.check_payers(frame).astype("object"), found.reset_index(drop=True).astype("object")
    )
