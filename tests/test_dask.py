"""Dask DataFrames: partitions are read and checked in a cluster's workers, with the result of one table."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster, get_task_stream

import payerkit
from far_end import FarEnd, Received, reply
from payerkit.client import Client as Service
from payerkit.errors import InvalidInput, PayerkitError
from published import ANSWERS, PAYER, TYPED_ACCOUNT, TYPED_PAYER, as_columns

ROWS = [{**PAYER, "clientUserId": f"user-{place}", "country": "UK" if place % 3 == 0 else "US"} for place in range(20)]
MAPPING = {"zip": "postcode", "worker": None}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    """Two workers, each a process, on this machine only."""
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.fixture
def table(tmp_path: Path) -> pd.DataFrame:
    """Write a file with other column names: payers, a second account of one, errors of one row and of two rows.

    Every other payer is the account holder; the column that says so is blank in the last partitions.
    """
    others = as_columns(TYPED_ACCOUNT) | {"bank_country": "NA"}
    own = {name: value for name, value in others.items() if name not in TYPED_PAYER and not name.startswith("bank_")}
    own |= {"bank_name": "Typed Bank", "holder_is_payer": "yes"}
    rows = [
        TYPED_PAYER | (own if place % 2 else others) | {"client_user_id": f"00{place}", "country": "NA"}
        for place in range(8)
    ]
    rows[3] |= {"email": " ", "city": " Albany"}
    rows[5] |= {"client_user_id": "007", "first_name": "Zoe"}  # another payer under an id of another partition
    rows.append({**others, "client_user_id": "001", "account_number": "11112222333"})  # its payer is elsewhere
    rows.append({**others, "client_user_id": "003"})  # its payer has an error
    rows.append(rows[0])
    frame = pd.DataFrame(rows).rename(columns={"postcode": "zip"}).assign(worker="nobody")
    frame.to_csv(tmp_path / "payers.csv", index=False)
    return frame


def in_partitions(folder: Path) -> Any:
    """Return the file as Dask reads it: in several partitions, each with labels from 0."""
    path = str(folder / "payers.csv")
    return dd.read_csv(path, blocksize=700, dtype=str, keep_default_na=False, na_values=[""])


@pytest.mark.slow
def test_partitions_have_the_findings_of_one_table(cluster: Client) -> None:
    """Two workers find in four partitions what one process finds in the whole table."""
    frame = pd.DataFrame(ROWS)
    found = dd.from_pandas(frame, npartitions=4).map_partitions(payerkit.check_payers, clear_divisions=True).compute()

    assert 2 == len(cluster.scheduler_info()["workers"])
    pd.testing.assert_frame_equal(
        payerkit.check_payers(frame).astype("object"), found.reset_index(drop=True).astype("object")
    )


@pytest.mark.slow
def test_partitions_are_read_lazily(cluster: Client, table: pd.DataFrame, tmp_path: Path) -> None:
    """`read_payers` names the columns of a Dask DataFrame without computing it; cells stay text."""
    parts = payerkit.read_payers(in_partitions(tmp_path), mapping=MAPPING)
    whole = payerkit.read_payers(tmp_path / "payers.csv", mapping=MAPPING)

    read = cluster.compute(parts, sync=True)

    assert (len(table), True) == (len(whole), bool(parts.npartitions > 2))
    pd.testing.assert_frame_equal(
        whole.reset_index(drop=True).astype("string"), read.reset_index(drop=True).astype("string")
    )


@pytest.mark.slow
@pytest.mark.usefixtures("table", "cluster")
def test_unknown_columns_of_partitions_are_reported(tmp_path: Path) -> None:
    """With the message for one table, before anything is computed."""
    with pytest.raises(InvalidInput, match=r"worker: not a field"):
        payerkit.read_payers(in_partitions(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("table", "cluster")
def test_the_plan_of_partitions_is_that_of_one_table(tmp_path: Path) -> None:
    """Also for errors across partitions: two payers with one id, an account whose payer is in another partition."""
    parts = payerkit.plan_onboarding(payerkit.read_payers(in_partitions(tmp_path), mapping=MAPPING))
    rows = payerkit.read_payers(tmp_path / "payers.csv", mapping=MAPPING)
    whole = payerkit.plan_onboarding(rows.reset_index(drop=True))

    assert {"rows": 11, "to_send": 7, "payers": 5, "accounts": 6} == {
        name: whole.counts[name] for name in ("rows", "to_send", "payers", "accounts")
    }
    assert whole.counts == parts.counts
    assert list(whole.frame["reason"]) == list(parts.frame["reason"])
    pd.testing.assert_frame_equal(
        whole.findings.drop(columns="row").astype("object"), parts.findings.drop(columns="row").astype("object")
    )


@pytest.mark.slow
@pytest.mark.usefixtures("table", "cluster")
def test_partitions_are_sent_as_one_table(shared: Service, tmp_path: Path) -> None:
    """The report has a row for each row; the journal is the same as for the whole table."""
    parts = payerkit.read_payers(in_partitions(tmp_path), mapping=MAPPING)
    whole = payerkit.read_payers(tmp_path / "payers.csv", mapping=MAPPING).reset_index(drop=True)
    sent, again = (
        payerkit.onboard(shared, rows, journal=tmp_path / "journal", progress=False) for rows in (parts, whole)
    )

    assert {"done": 7, "refused": 0, "unknown": 0, "not_sent": 4, "waiting": 0, "duplicate": 0} == sent.counts
    pd.testing.assert_frame_equal(sent.frame.reset_index(drop=True), again.frame.reset_index(drop=True))


@pytest.mark.slow
def test_partitions_are_checked_in_the_workers(cluster: Client) -> None:
    """Each partition is checked once, and both workers check some."""
    rows = pd.DataFrame([TYPED_PAYER | {"client_user_id": f"user-{place}", "email": "x"} for place in range(8)])
    with get_task_stream(cluster) as stream:
        found = payerkit.plan_onboarding(dd.from_pandas(rows, npartitions=4))
    done = [task["worker"] for task in stream.data if "check_rows" in str(task["key"])]

    assert 8 == (found.findings["code"] == "email_form").sum()
    assert (4, set(cluster.scheduler_info()["workers"])) == (len(done), set(done))


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_labels_that_repeat_are_replaced(tmp_path: Path, table: pd.DataFrame) -> None:
    """Each partition counts its rows from 0; the plan counts those of the whole table. Other labels stay."""
    repeated = payerkit.plan_onboarding(payerkit.read_payers(in_partitions(tmp_path), mapping=MAPPING))
    own = pd.DataFrame(ROWS).set_axis(pd.Index(range(100, 120), name="line"))
    kept = payerkit.plan_onboarding(dd.from_pandas(own, npartitions=3))

    assert pd.RangeIndex(len(table), name="row").equals(repeated.frame.index)
    assert (list(own.index), "line") == (list(kept.frame.index), kept.frame.index.name)


def posts(far_end: FarEnd) -> list[bytes]:
    """Return the bodies of the writes that arrived."""
    return [request.body for request in far_end.ledger if request.method == "POST"]


def count_of(stream: Any, function: str) -> int:
    """Return how many tasks of a cluster called a function."""
    return sum(function in str(task["key"]) for task in stream.data)


@pytest.mark.slow
def test_partitions_are_read_once_a_step(cluster: Client, shared: Service, tmp_path: Path) -> None:
    """Planning reads none again; a step reads the cells of a partition once, and so does the report."""
    rows = pd.DataFrame([TYPED_PAYER | {"client_user_id": f"dask-{place:03}"} for place in range(60)])
    with get_task_stream(cluster) as planning:
        payerkit.plan_onboarding(dd.from_pandas(rows, npartitions=4))
    with get_task_stream(cluster) as sending:
        report = payerkit.onboard(
            shared, dd.from_pandas(rows, npartitions=4), journal=tmp_path / "journal", workers=3, progress=False
        )

    assert 60 == report.counts["done"]
    assert (4, 0) == (count_of(planning, "check_rows"), count_of(planning, "read_partition"))
    assert (4, True) == (count_of(sending, "check_rows"), 4 <= count_of(sending, "read_partition") <= 8)


@pytest.mark.slow
def test_a_partition_that_changes_ends_the_run(connected: Callable[..., Service], tmp_path: Path) -> None:
    """A partition that is computed anew, with another result, is not sent: nobody checked those rows."""
    made = itertools.count()

    def make(place: int) -> pd.DataFrame:
        return pd.DataFrame([TYPED_PAYER | {"client_user_id": f"user-{place}", "city": f"City {next(made)}"}])

    with dask.config.set(scheduler="synchronous"), FarEnd([reply(200, "{}")]) as far_end:
        rows = dd.from_map(make, range(3), meta=make(0))
        with pytest.raises(PayerkitError, match="not those that the run began with"):
            payerkit.onboard(connected(far_end.url), rows, journal=tmp_path / "journal", workers=1, progress=False)

        assert [] == posts(far_end)


@pytest.mark.slow
def test_a_partition_that_cannot_be_read_again_ends_the_run(connected: Callable[..., Service], tmp_path: Path) -> None:
    """The error says what to do, and repeats nothing of the partition's own error, which may quote cells."""
    rows = pd.DataFrame([TYPED_PAYER])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    file = dd.read_csv(str(tmp_path / "*.csv"), dtype=str)

    def lose(connection: socket.socket, request: Received) -> bool | None:
        (tmp_path / "rows.csv").unlink(missing_ok=True)
        return reply(200, json.dumps(ANSWERS["create_payer"]))(connection, request)

    with dask.config.set(scheduler="synchronous"), FarEnd([lose]) as far_end:
        client = connected(far_end.url)
        with pytest.raises(PayerkitError, match=r"could not be computed again \(FileNotFoundError\)"):
            payerkit.onboard(client, file, journal=tmp_path / "journal", workers=1, progress=False)


@pytest.mark.slow
def test_a_lost_worker_costs_no_rows(connected: Callable[..., Service], tmp_path: Path) -> None:
    """A worker that goes away during a run: its partitions are computed by another one, and every row is sent once."""
    rows = pd.DataFrame([TYPED_PAYER | {"client_user_id": f"user-{place:03}"} for place in range(80)])
    options: dict[str, Any] = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as workers, Client(workers):
        lost: list[Any] = []

        def answer(connection: socket.socket, request: Received) -> bool | None:
            if not lost and b"user-030" in request.body:
                lost.append(workers.workers[0])
                workers.sync(workers.workers[0].close)
            return reply(200, json.dumps(ANSWERS["create_payer"]))(connection, request)

        with FarEnd([answer]) as far_end:
            report = payerkit.onboard(
                connected(far_end.url),
                dd.from_pandas(rows, npartitions=8).persist(),
                journal=tmp_path / "journal",
                workers=2,
                progress=False,
            )

    assert 1 == len(lost)
    assert 80 == report.counts["done"]
    assert sorted(rows["client_user_id"]) == sorted(json.loads(body)["clientUserId"] for body in posts(far_end))
