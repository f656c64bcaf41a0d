"""The workload sysbench-oltp: the stock scripts, their options and defaults as parameters."""

from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Headline, Json, Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of, role, sql

READS = ["oltp_point_select", "oltp_read_only"]
OF_ONE_TABLE = ["select_random_points", "select_random_ranges"]
WRITES = [
    *("oltp_update_index", "oltp_update_non_index", "oltp_write_only", "oltp_read_write"),
    *("oltp_delete", "oltp_insert", "bulk_insert"),
]


def scripts(chosen: str | None = None, preset: str | None = None, **given: Any) -> dict[str, Step]:
    loaded = workload.load("sysbench-oltp", set=chosen, preset=preset)
    return {step.name: step for step in workload.expand(loaded, given, "postgres")}


def sent(step: Step) -> list[str]:
    """What the step's one program does, by names."""
    (program,) = job_of(step)["programs"]
    lists = {"send": job_of(step)["statements"], "draw": job_of(step)["values"]}
    prefix = {"send": "", "draw": "draw "}
    return [prefix[what] + lists[what][number]["name"] for what, number in program["code"]]


def value(step: Step, name: str) -> Json:
    (found,) = [one for one in job_of(step)["values"] if one["name"] == name]
    return dict(found)


def complaint(**given: Any) -> str:
    with pytest.raises(WorkloadError) as raised:
        scripts(**given)
    return str(raised.value).removeprefix("sysbench-oltp.toml: ")


# --- Sets --------------------------------------------------------------------------------------


@pytest.mark.long
def test_all_scripts_are_there_and_those_that_take_rows_away_come_last() -> None:
    assert list(scripts()) == ["fill", *READS, *OF_ONE_TABLE, *WRITES]
    assert list(scripts(tables=2)) == ["fill", *READS, *WRITES]


@pytest.mark.parametrize("script", [*READS, *OF_ONE_TABLE, *WRITES])
def test_each_script_is_a_set_with_the_load(script: str) -> None:
    assert list(scripts(script)) == ["fill", script]


# --- What is sent ------------------------------------------------------------------------------


@pytest.mark.long
def test_transactions_are_tried_again_after_the_errors_that_sysbench_ignores() -> None:
    steps = scripts()
    for script in WRITES[:-1]:
        on_error = role(steps[script], "write")["on_error"]
        assert set(on_error["retry"]) == {"40P01", "23505", "40001"}


# --- Keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "maker"),
    [
        ("uniform", {"uniform": [1, 700]}),
        ("gaussian", {"bates": {"range": [1, 700], "iterations": 9}}),
        (
            "special",
            {"special": {"range": [1, 700], "iterations": 9, "percent": 2.0, "share": 60.0}},
        ),
        ("pareto", {"pareto": {"range": [1, 700], "h": 0.3}}),
        ("zipfian", {"zipf": {"range": [1, 700], "exponent": 0.9, "scattered": False}}),
    ],
)
@pytest.mark.long
def test_rand_type_chooses_the_distribution_of_all_keys(kind: str, maker: Json) -> None:
    steps = scripts(
        table_size=700, rand_type=kind, rand_spec_iter=9, rand_spec_pct=2, rand_spec_res=60,
        rand_pareto_h=0.3, rand_zipfian_exp=0.9,
    )  # fmt: skip
    own = {"name", "per", "format"}
    for step, name in (
        *((steps["fill"], "k"), (steps["oltp_point_select"], "id")),
        *((steps["oltp_read_write"], name) for name in ("id", "k", "replaced_id")),
    ):
        assert {k: v for k, v in value(step, name).items() if k not in own} == maker


@pytest.mark.long
def test_the_presets_are_the_defaults_of_both_versions() -> None:
    assert "special" in value(scripts(preset="1.0")["oltp_delete"], "id")
    assert "uniform" in value(scripts(preset="1.1")["oltp_delete"], "id")
    assert "uniform" in value(scripts()["oltp_delete"], "id")


@pytest.mark.long
def test_defaults_are_those_of_sysbench() -> None:
    step = scripts()["oltp_read_only"]
    assert (job_of(step)["tables"], job_of(step)["clients"]) == ({"sbtest": 1}, 1)
    assert value(step, "id")["uniform"] == [1, 10_000]
    assert value(step, "id_end")["add"]["plus"] == 99
    assert (job_of(step)["stop"]["seconds"], job_of(step)["stop"]["warmup_s"]) == (10, 0)
    assert role(step, "query")["pace"] == {"kind": "closed"}
    special = value(scripts(rand_type="special")["oltp_delete"], "id")["special"]
    assert (special["iterations"], special["percent"], special["share"]) == (12, 1.0, 75.0)
    assert value(scripts(rand_type="pareto")["oltp_delete"], "id")["pareto"]["h"] == 0.2
    assert value(scripts(rand_type="zipfian")["oltp_delete"], "id")["zipf"]["exponent"] == 0.8


@pytest.mark.long
def test_without_auto_inc_keys_are_drawn_once_each_into_empty_tables() -> None:
    step = scripts(auto_inc=0)["oltp_insert"]
    assert sql(step, "oltp_insert") == (
        "INSERT INTO <sbtest> (id, k, c, pad) VALUES (<unique_id>, <k>, <c>, <pad>)"
    )
    span = [-(2**31), 2**31 - 1]
    assert value(step, "unique_id")["permutation"]["range"] == span
    assert value(step, "count")["sequence"]["first"] == span[0]
    assert step.setup == ("TRUNCATE sbtest1",)
    assert scripts()["oltp_insert"].setup == ()


def test_the_connections_of_bulk_insert_count_in_tables_of_their_own() -> None:
    step = scripts(clients=3, rows_per_insert=100)["bulk_insert"]
    assert job_of(step)["tables"] == {"sbtest": 3}
    assert [sql for sql in step.setup if sql.startswith("DROP")] == [
        f"DROP TABLE IF EXISTS sbtest{number}" for number in (1, 2, 3)
    ]
    assert role(step, "insert")["table"] == {"of": "sbtest", "by": "by_connection"}
    assert value(step, "block")["sequence"] == {"first": 1, "each": 3, "step": 100}
    assert value(step, "row_of_block")["item"] == {"first": 0}
    assert step.headline == Headline(metric="ips", role="insert", count="rows")


# --- How much and how fast ---------------------------------------------------------------------


@pytest.mark.long
def test_events_take_the_place_of_time() -> None:
    step = scripts(events=500, clients=8)["oltp_read_only"]
    assert job_of(step)["stop"] == {
        "roles": ["query"], "seconds": None, "warmup_s": 0, "seconds_max": None,
    }  # fmt: skip
    assert role(step, "query")["stop"] == {"operations": 500}
    assert role(scripts(events=100_000)["bulk_insert"], "insert")["stop"] == {"operations": 4}


@pytest.mark.long
def test_a_rate_is_of_all_connections_and_at_random() -> None:
    for name, step in scripts(rate=250, clients=8).items():
        for one in job_of(step)["roles"]:
            per_s = 250 / 32_768 if name == "bulk_insert" else 250.0
            assert one["pace"] == {"kind": "rate", "arrivals": "poisson", "per_s": per_s}
            assert one["per"] == "step"


@pytest.mark.long
def test_throughput_counts_all_statements() -> None:
    steps = scripts()
    for script in (*READS, *OF_ONE_TABLE, *WRITES[:-1]):
        headline = steps[script].headline
        assert headline is not None
        assert (headline.metric, headline.count) == ("qps", "statements")


# --- The tables --------------------------------------------------------------------------------


def fill_sql(**given: Any) -> list[str]:
    fill = scripts(**given)["fill"]
    return [" ".join(one.split()) for one in (*fill.setup, *job_of(fill)["fills"][0]["after"])]


@pytest.mark.long
def test_the_tables_are_sysbenchs() -> None:
    columns = (
        "k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, "
        "pad CHAR(60) DEFAULT '' NOT NULL"
    )
    assert fill_sql(table_size=5) == [
        "DROP TABLE IF EXISTS sbtest1",
        f"CREATE TABLE sbtest1 ( id SERIAL, {columns}, PRIMARY KEY (id) )",
        "ALTER TABLE sbtest1 DROP CONSTRAINT sbtest1_pkey",
        "SET synchronous_commit = on",
        "ALTER TABLE {t} ADD PRIMARY KEY (id)",
        "CREATE INDEX k_{number} ON {t}(k)",
        "SELECT setval('{t}_id_seq', 5)",
        "VACUUM (ANALYZE) {t}",
    ]
    assert fill_sql(auto_inc=0, secondary=1, create_secondary=0) == [
        "DROP TABLE IF EXISTS sbtest1",
        f"CREATE TABLE sbtest1 ( id INTEGER NOT NULL, {columns} )",
        "SET synchronous_commit = on",
        "CREATE INDEX xid{number} ON {t}(id)",
        "VACUUM (ANALYZE) {t}",
    ]


# --- What is refused ---------------------------------------------------------------------------


def test_what_cannot_be_had_gets_one_line() -> None:
    assert complaint(rand_type="zipf") == (
        "key `checks`: rand_type has to be uniform, gaussian, special, pareto or zipfian, but "
        "`rand_type` is 'zipf'"
    )
    assert complaint(db_ps_mode="off") == (
        "key `checks`: db_ps_mode has to be auto or disable, but `db_ps_mode` is 'off'"
    )
    assert complaint(reconnect=100) == (
        "key `checks`: connections stay open here, so reconnect has to be 0, but `reconnect` is 100"
    )
    assert complaint(skip_trx=True).endswith("must be a number, not True")
    assert complaint(threads=8).startswith("key `parameters.threads`: no such parameter; ")
    assert (
        complaint(chosen="oltp_readonly")
        == "no set `oltp_readonly`; did you mean `oltp_read_only`?"
    )
