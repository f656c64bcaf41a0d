"""The Insert Benchmark's file: every statement, size, rate and order is the published one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Headline, Json, Sla, Step
from dbdyno.model.job import ClientStagger
from workload_reader import job_of, role, sql

ROOT = Path(__file__).parent.parent


def insert_benchmark(parameters: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Step]:
    loaded = workload.load("insert-benchmark")
    return {
        step.name: step
        for step in workload.expand(
            loaded, parameters or {}, more.pop("engine", "postgres"), **more
        )
    }


WITHOUT = {"seed", "server", "fake", "autostart", "threads", "trace", "capture"}
"""What the runner adds, and what the contract's examples choose otherwise to show it."""


@pytest.mark.parametrize(
    "name", ["l.i0", "l.x", "l.i1", "cleanup", "qr100", "qp100"], ids=lambda name: name
)
def test_the_jobs_have_the_form_of_the_contracts_examples(name: str) -> None:
    """The example of each step and the job made for it differ in names and sizes at most."""
    theirs = json.loads((ROOT / "contract" / f"job-{name}.json").read_text())
    together = {"clients": theirs["clients"], "start_each_s": 0}
    ours = job_of(insert_benchmark(together)[name])
    assert set(theirs) - set(ours) == {"seed", "server", "fake", "autostart"}
    assert without_names(ours) == without_names(theirs)


@pytest.mark.parametrize(
    ("seconds", "first_s", "each_s"), [(1800, 10.0, 1.0), (3600, 10.0, 1.0), (18, 0.1, 0.01)]
)
def test_clients_start_one_after_the_other_as_the_script_starts_them(
    seconds: int, first_s: float, each_s: float
) -> None:
    """A second apart, ten behind the one that creates tables; in proportion in shorter steps."""
    made = insert_benchmark({"clients": 20, "seconds": seconds})
    apart = {name: step.job.apart for name, step in made.items()}
    assert apart["l.i0"] == ClientStagger(first_s=first_s, each_s=each_s)
    assert apart["l.x"] == apart["qr100"] == ClientStagger(first_s=each_s, each_s=each_s)
    assert apart["cleanup"] is None
    assert made["qr100"].nominal_s == seconds + 19 * each_s
    alone = insert_benchmark({"clients": 1, "seconds": seconds})
    assert {step.job.apart for step in alone.values()} == {None}


def without_names(job: Json) -> Json:
    """A job without what the examples may choose: names of values, and how much is done."""
    plain: Json = json.loads(json.dumps({k: v for k, v in job.items() if k not in WITHOUT}))
    for one in (*plain["values"], *plain["statements"], *plain["programs"]):
        del one["name"]
    for one in plain["roles"]:
        if one["stop"]:
            one["stop"]["operations"] = "some"
    return plain


def test_the_steps_come_in_the_published_order_with_the_published_headlines() -> None:
    made = insert_benchmark({"clients": 2, "rows": 1000})
    assert list(made) == [
        *("l.i0", "l.x", "l.i1", "l.i2", "cleanup"),
        *("qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"),
    ]
    assert [step.ordinal for step in made.values()] == list(range(1, 12))
    ips = Headline(metric="ips", role="insert", count="rows")
    qps = Headline(metric="qps", role="query", count="operations")
    assert [made[name].headline for name in ("l.i0", "l.i1", "l.i2")] == [ips] * 3
    assert all(step.headline == qps for name, step in made.items() if name[0] == "q")
    assert made["l.x"].headline == Headline(metric="ips", role="index", count="rows", work=2200)
    assert made["cleanup"].headline is None
    assert [name for name, step in made.items() if not step.measured] == ["cleanup"]
    assert made["qr500"].sla == Sla(role="insert", rows_per_s=1000)
    assert made["l.i1"].sla is None


def test_the_tables_are_the_published_ones() -> None:
    made = insert_benchmark({"clients": 2})
    setup = made["l.i0"].setup
    assert [one.split()[0] for one in setup] == ["DROP", "CREATE", "ALTER"] * 2
    assert setup[2] == "ALTER SEQUENCE pi1_transactionid_seq CACHE 1000"
    assert " ".join(setup[4].split()) == (
        "CREATE TABLE pi2 ( transactionid bigserial PRIMARY KEY, "
        "dateandtime timestamp without time zone, cashregisterid int NOT NULL, "
        "customerid int NOT NULL, productid int NOT NULL, price int NOT NULL, data varchar(4000) )"
    )
    assert all(step.setup == () for name, step in made.items() if name != "l.i0")
    assert made["qp1000"].tables == ("pi1", "pi2")


def test_l_x_inserts_one_statement_and_creates_three_indexes() -> None:
    for clients in (1, 2, 7, 300):
        step = insert_benchmark({"clients": clients})["l.x"]
        assert role(step, "index")["stop"] == {"operations": 1}
        assert step.headline is not None
        assert step.headline.work == clients * (1_000_000 + 100)
    (program,) = job_of(step)["programs"]
    names = [job_of(step)["statements"][number]["name"] for _, number in program["code"]]
    assert names == ["insert", "create_market", "create_register", "create_pdc"]
    assert sql(step, "create_market") == (
        "CREATE INDEX <pi>_marketsegment ON <pi> (productid,customerid,price)"
    )
    assert step.roles == {"index": "other"}


def test_sizes_follow_the_published_proportion_or_are_given() -> None:
    made = insert_benchmark({"rows": 30_000_000})
    assert role(made["l.i0"], "insert")["stop"]["operations"] * 100 == 30_000_000
    assert role(made["l.i1"], "insert")["stop"]["operations"] * 50 == 40_000_000
    assert role(made["l.i2"], "insert")["stop"]["operations"] * 5 == 10_000_000
    made = insert_benchmark({"rows_i1": 1001, "rows_i2": 6})
    assert role(made["l.i1"], "insert")["stop"] == {"operations": 21}
    assert role(made["l.i2"], "insert")["stop"] == {"operations": 2}


def test_a_rate_below_the_rows_per_commit_makes_smaller_statements() -> None:
    """The published client reduces rows per commit to the rate: one statement a second."""
    step = insert_benchmark({"rates": [10], "seconds": 60})["qp10"]
    assert sql(step, "insert").startswith("INSERT INTO <pi>")
    assert {one["rows"] for one in job_of(step)["statements"]} == {10}
    assert role(step, "insert")["pace"]["per_s"] == 1.0
    assert role(step, "insert")["stop"] == {"operations": 60}
    assert job_of(step)["cursors"][0]["advance"] == 10


@pytest.mark.parametrize(
    ("clients", "rows", "wait_s"), [(1, 50_000_000, 110), (4, 200_000_000, 860), (12, 10**8, 1200)]
)
def test_the_wait_is_the_published_one(clients: int, rows: int, wait_s: float) -> None:
    step = insert_benchmark({"clients": clients, "rows": rows})["cleanup"]
    assert (step.pad_to_s, step.expected_s) == (wait_s, wait_s)
    assert insert_benchmark({"wait_s": 2})["cleanup"].pad_to_s == 2


def test_index_cleanup_is_named_only_where_the_version_knows_it() -> None:
    forms = {
        (11,): "VACUUM (VERBOSE, ANALYZE) <pi>",
        (12,): "VACUUM (VERBOSE, ANALYZE, INDEX_CLEANUP ON) <pi>",
    }
    for version, wanted in forms.items():
        assert sql(insert_benchmark(version=version)["cleanup"], "vacuum") == wanted


def test_selected_steps_keep_their_ordinals() -> None:
    made = insert_benchmark(steps=["qr100", "l.i0", "l.x"])
    assert [(step.ordinal, name) for name, step in made.items()] == [
        (1, "l.i0"),
        (2, "l.x"),
        (6, "qr100"),
    ]


def test_a_fast_fill_takes_the_place_of_the_load_and_is_not_shown_as_it() -> None:
    loaded = workload.load("insert-benchmark", fill="fast")
    fill, *others = workload.expand(loaded, {"clients": 2, "rows": 1050}, "postgres")
    assert (fill.name, fill.measured, fill.headline) == ("fill", False, None)
    assert [step.name for step in others][:2] == ["l.x", "l.i1"]
    assert fill.setup[-1] == "ALTER TABLE pi2 DROP CONSTRAINT pi2_pkey"
    (made,) = job_of(fill)["fills"]
    assert made["rows"] == 1100, "whole statements, as in l.i0"
    assert "SELECT setval('{t}_transactionid_seq', 2000)" in made["after"]
    types = {column["name"]: column["type"] for column in made["columns"]}
    assert (types["transactionid"], types["dateandtime"], types["data"]) == (
        "int8",
        "timestamp",
        "text",
    )


def test_the_fake_engine_takes_the_sql_of_postgres() -> None:
    real, fake = (job_of(insert_benchmark(engine=e)["qr100"]) for e in ("postgres", "fake"))
    assert (real["engine"], fake["engine"]) == ("postgres", "fake")
    assert real["statements"] == fake["statements"]


def test_room_on_disk_is_known_before_the_fill() -> None:
    loaded = workload.load("insert-benchmark")
    parameters = {"clients": 2, "rows": 1_000_000}
    for names, per_row in {
        ("l.i0",): 103,
        ("l.i0", "l.x"): 206,
        ("l.i0", "l.x", "l.i1", "l.i2"): 300,
    }.items():
        made = workload.expand(loaded, parameters, "postgres", steps=names)
        guess = workload.estimate(loaded, parameters, made)
        assert (guess.rows, guess.disk_bytes) == (2_000_000, 2_000_000 * per_row)
        assert guess.seconds is not None
        assert guess.seconds == sum(step.expected_s or 0 for step in made)
