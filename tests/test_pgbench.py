"""The workload pgbench: its tables, options and scripts, on each engine."""

from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Headline, Json, Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of, role, sql

SCRIPTS = ["tpcb-like", "simple-update", "select-only"]
TABLES = ["pgbench_history", "pgbench_tellers", "pgbench_accounts", "pgbench_branches"]
TEXTS = {
    "begin": "BEGIN",
    "update_accounts": (
        "UPDATE pgbench_accounts SET abalance = abalance + <delta> WHERE aid = <aid>"
    ),
    "select_balance": "SELECT abalance FROM pgbench_accounts WHERE aid = <aid>",
    "update_tellers": "UPDATE pgbench_tellers SET tbalance = tbalance + <delta> WHERE tid = <tid>",
    "update_branches": (
        "UPDATE pgbench_branches SET bbalance = bbalance + <delta> WHERE bid = <bid>"
    ),
    "insert_history": (
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
        "VALUES (<tid>, <bid>, <aid>, <delta>, CURRENT_TIMESTAMP)"
    ),
    "end": "END",
}
SENT = {
    "tpcb-like": list(TEXTS),
    "simple-update": [*("begin", "update_accounts", "select_balance", "insert_history", "end")],
    "select-only": ["select_balance"],
}


def steps(engine: str = "postgres", **given: Any) -> dict[str, Step]:
    loaded = workload.load("pgbench", fill=given.pop("fill", None), set=given.pop("chosen", None))
    wanted = given.pop("wanted", None)
    return {step.name: step for step in workload.expand(loaded, given, engine, steps=wanted)}


def sent(step: Step) -> list[str]:
    """The statements of the step's one program, by names."""
    (program,) = job_of(step)["programs"]
    return [job_of(step)["statements"][n]["name"] for what, n in program["code"] if what == "send"]


def texts(step: Step) -> list[str]:
    """What the step's program sends, in order."""
    return [sql(step, name) for name in sent(step)]


def fills(step: Step) -> dict[str, Json]:
    return {fill["table"]: fill for fill in job_of(step)["fills"]}


def complaint(engine: str = "postgres", **given: Any) -> str:
    with pytest.raises(WorkloadError) as raised:
        steps(engine, **given)
    return str(raised.value).removeprefix("pgbench.toml: key `checks`: ")


# --- The steps -----------------------------------------------------------------------------------


def test_a_plan_that_says_nothing_fills_the_tables_and_runs_the_three_scripts() -> None:
    assert list(steps()) == ["fill", *SCRIPTS]


def test_a_script_brings_its_tables_although_it_names_them_itself() -> None:
    assert list(steps(wanted=["select-only"])) == ["fill", "select-only"]
    published = steps(fill="published", wanted=["select-only"])
    assert list(published)[-2:] == ["primary-keys", "select-only"]
    assert list(steps(fill="keep", wanted=["select-only"])) == ["select-only"]


def test_the_published_load_has_the_phases_of_pgbench_as_steps_that_are_measured() -> None:
    phases = ["create-tables", "generate", "vacuum", "primary-keys"]
    found = steps(fill="published")
    assert list(found) == [*phases, *SCRIPTS]
    assert all(found[name].measured and found[name].headline for name in phases)
    assert list(steps(fill="published", foreign_keys=1))[:5] == [*phases, "foreign-keys"]
    assert list(steps(fill="published", vacuum=0, primary_keys=0))[:2] == phases[:2]
    # InnoDB's rows lie in their primary key, and nothing but its step makes it.
    mysql = steps("mysql", fill="published")
    assert list(mysql)[:4] == phases
    assert not any("PRIMARY" in one for one in texts(mysql["create-tables"]))
    assert sum("PRIMARY" in one for one in created("mysql")) == 3


def test_a_set_has_each_script_with_one_number_of_clients_after_another() -> None:
    found = steps(chosen="scale-up", client_counts=[1, 16])
    assert list(found)[1:3] == ["tpcb-like@clients=1", "tpcb-like@clients=16"]
    assert role(found["tpcb-like@clients=16"], "write")["connections"] == 16


# --- What is sent --------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_sends_what_pgbench_sends(script: str, protocol: str) -> None:
    step = steps(protocol=protocol)[script]
    assert sent(step) == SENT[script]
    for one in job_of(step)["statements"]:
        assert sql(step, one["name"]) == TEXTS[one["name"]]
        assert one["protocol"] == protocol


def test_values_have_pgbenchs_ranges_and_are_drawn_once_for_a_transaction() -> None:
    values = {one["name"]: one for one in job_of(steps(scale=7)["tpcb-like"])["values"]}
    assert {name: one["uniform"] for name, one in values.items()} == {
        "aid": [1, 700_000],
        "bid": [1, 7],
        "tid": [1, 70],
        "delta": [-5000, 5000],
    }
    assert {one["per"] for one in values.values()} == {"transaction"}
    assert [one["name"] for one in job_of(steps()["select-only"])["values"]] == ["aid"]


def test_mysql_begins_with_a_text_that_it_cannot_prepare_and_mariadb_prepares_it() -> None:
    for engine, first in (("mysql", "simple"), ("mariadb", "prepared")):
        step = steps(engine, protocol="prepared")["tpcb-like"]
        assert [texts(step)[0], texts(step)[-1]] == ["START TRANSACTION", "COMMIT"]
        assert texts(step)[1:-1] == list(TEXTS.values())[1:-1]
        protocols = {one["name"]: one["protocol"] for one in job_of(step)["statements"]}
        assert protocols.pop("begin") == first
        assert set(protocols.values()) == {"prepared"}


def test_a_script_runs_for_seconds_or_for_transactions_of_each_client() -> None:
    timed = steps(clients=3, seconds=20, warmup_s=2, rate=50)["tpcb-like"]
    write = role(timed, "write")
    assert (job_of(timed)["stop"]["seconds"], job_of(timed)["stop"]["warmup_s"]) == (20, 2)
    assert (write["connections"], write["stop"]) == (3, None)
    assert write["pace"] == {"kind": "rate", "arrivals": "poisson", "per_s": 50.0}
    assert timed.headline == Headline(metric="qps", role="write", count="operations")
    counted = steps(clients=3, transactions=10, warmup_s=2)["simple-update"]
    assert (job_of(counted)["stop"]["seconds"], job_of(counted)["stop"]["roles"]) == (
        None,
        ["write"],
    )
    assert role(counted, "write")["stop"] == {"operations": 30}


def test_before_a_script_pgbenchs_housekeeping_is_done_as_it_is_there() -> None:
    first = ["VACUUM pgbench_branches", "VACUUM pgbench_tellers", "TRUNCATE pgbench_history"]
    for script in SCRIPTS:
        assert list(steps()[script].setup) == first
        assert list(steps(vacuum_all=1)[script].setup) == [
            *first,
            "VACUUM ANALYZE pgbench_accounts",
        ]
        assert steps(vacuum_before=0)[script].setup == ()
        assert list(steps("mysql")[script].setup) == first[2:]


def test_balances_are_held_against_the_history_of_a_script_that_writes() -> None:
    found = steps()
    assert [one.count("sum(delta)") for one in found["tpcb-like"].invariants] == [1, 1, 1]
    assert [one.count("sum(delta)") for one in found["simple-update"].invariants] == [1, 0, 0]
    assert found["select-only"].invariants == ()
    assert steps(check_balance=0)["tpcb-like"].invariants == ()


def test_scripts_are_prewarmed_the_key_of_accounts_last() -> None:
    assert steps()["select-only"].warm == "none"
    names = ("branches", "tellers", "accounts", "accounts_pkey")
    for script in ("tpcb-like", "simple-update", "select-only"):
        assert steps(prewarm=1)[script].warm == tuple(f"pgbench_{name}" for name in names)


# --- Tables --------------------------------------------------------------------------------------


def created(engine: str = "postgres", **given: Any) -> list[str]:
    """How the fill creates the tables, without what drops them."""
    setup = steps(engine, **given)["fill"].setup
    assert [one for one in setup if one.startswith("DROP")] == [
        f"DROP TABLE IF EXISTS {table}" for table in TABLES
    ]
    return [one for one in setup if not one.startswith("DROP")]


def test_tables_are_pgbenchs_own() -> None:
    assert created() == [
        "CREATE TABLE pgbench_history "
        "(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22))",
        "CREATE TABLE pgbench_tellers "
        "(tid int not null, bid int, tbalance int, filler char(84)) WITH (fillfactor=100)",
        "CREATE TABLE pgbench_accounts "
        "(aid int not null, bid int, abalance int, filler char(84)) WITH (fillfactor=100)",
        "CREATE TABLE pgbench_branches "
        "(bid int not null, bbalance int, filler char(88)) WITH (fillfactor=100)",
    ]
    unlogged = created(unlogged=1, fillfactor=80)
    assert all(one.startswith("CREATE UNLOGGED TABLE") for one in unlogged)
    assert [one.endswith("WITH (fillfactor=80)") for one in unlogged] == [False, True, True, True]


def test_accounts_are_cut_into_ranges_or_by_hash_as_pgbench_cuts_them() -> None:
    parent, *parts = created(partitions=3, fillfactor=70, unlogged=1)[2:6]
    assert parent.startswith("CREATE TABLE pgbench_accounts (aid int not null, ")
    assert parent.endswith(" PARTITION BY range (aid)")
    bounds = ["FROM (MINVALUE) TO (33335)", "FROM (33335) TO (66669)", "FROM (66669) TO (MAXVALUE)"]
    assert parts == [
        f"CREATE UNLOGGED TABLE pgbench_accounts_{number} PARTITION OF pgbench_accounts "
        f"FOR VALUES {bound} WITH (fillfactor=70)"
        for number, bound in enumerate(bounds, start=1)
    ]
    hashed = created(partitions=2, partition_method="hash")[2:5]
    assert hashed[0].endswith("PARTITION BY hash (aid)")
    assert [one.split(" VALUES ")[1] for one in hashed[1:]] == [
        f"WITH (modulus 2, remainder {n}) WITH (fillfactor=100)" for n in (0, 1)
    ]
    assert created("mysql", partitions=3)[3:6] == [
        "ALTER TABLE pgbench_accounts PARTITION BY RANGE (aid) "
        "(PARTITION p1 VALUES LESS THAN (33335))",
        "ALTER TABLE pgbench_accounts ADD PARTITION (PARTITION p2 VALUES LESS THAN (66669))",
        "ALTER TABLE pgbench_accounts ADD PARTITION (PARTITION p3 VALUES LESS THAN (MAXVALUE))",
    ]
    assert created("mysql", partitions=3, partition_method="hash")[3] == (
        "ALTER TABLE pgbench_accounts PARTITION BY HASH (aid) PARTITIONS 3"
    )


def test_the_fill_has_the_rows_of_its_scale() -> None:
    job = job_of(steps(scale=3)["fill"])
    assert job["tables"] == dict.fromkeys(TABLES, 0)
    loaded = fills(steps(scale=3)["fill"])
    assert {table: fill["rows"] for table, fill in loaded.items()} == {
        "pgbench_tellers": 30,
        "pgbench_accounts": 300_000,
        "pgbench_branches": 3,
    }
    accounts = loaded["pgbench_accounts"]
    assert [(one["name"], one["type"]) for one in accounts["columns"]] == [
        *(("aid", "int4"), ("bid", "int4"), ("abalance", "int4"), ("filler", "text"))
    ]
    assert [one.get("each") for one in accounts["columns"]] == [None, 100_000, None, None]
    assert accounts["frozen"]
    cut = fills(steps(scale=3, partitions=2)["fill"])["pgbench_accounts"]
    assert "frozen" not in cut, "PostgreSQL refuses that"


def test_numbers_of_accounts_are_large_from_scale_20000_on() -> None:
    assert "aid bigint not null" in created(scale=20_000)[2]
    assert "aid bigint, delta" in created(scale=20_000)[0]
    column = fills(steps(scale=20_000)["fill"])["pgbench_accounts"]["columns"][0]
    assert (column["name"], column["type"]) == ("aid", "int8")
    assert "bigint" not in " ".join(created(scale=19_999))


def test_a_filler_may_be_one_that_nothing_makes_small() -> None:
    for filler, maker in (
        ("blank", {"pattern": ""}),
        ("random", {"text": {"fill": " ", "length": [84, 84], "random": 1}}),
    ):
        step = steps(filler=filler)["fill"]
        number = fills(step)["pgbench_accounts"]["columns"][3]["value"]
        assert maker.items() <= job_of(step)["values"][number].items()


def test_what_follows_the_rows_is_vacuum_primary_keys_and_foreign_keys() -> None:
    after = fills(steps(foreign_keys=1)["fill"])["pgbench_branches"]["after"]
    vacuum = [f"VACUUM ANALYZE pgbench_{one}" for one in ("branches", "tellers", "accounts")]
    assert after[:5] == ["SET synchronous_commit = on", *vacuum, "VACUUM ANALYZE pgbench_history"]
    assert [one.split(" ADD ")[1] for one in after[5:8]] == [
        f"PRIMARY KEY ({column})" for column in ("bid", "tid", "aid")
    ]
    assert [one.split(" CONSTRAINT ")[1].split(" REFERENCES ") for one in after[8:]] == [
        ["pgbench_tellers_bid_fkey FOREIGN KEY (bid)", "pgbench_branches (bid)"],
        ["pgbench_accounts_bid_fkey FOREIGN KEY (bid)", "pgbench_branches (bid)"],
        ["pgbench_history_bid_fkey FOREIGN KEY (bid)", "pgbench_branches (bid)"],
        ["pgbench_history_tid_fkey FOREIGN KEY (tid)", "pgbench_tellers (tid)"],
        ["pgbench_history_aid_fkey FOREIGN KEY (aid)", "pgbench_accounts (aid)"],
    ]
    bare = fills(steps(vacuum=0, primary_keys=0)["fill"])["pgbench_branches"]["after"]
    assert bare == ["SET synchronous_commit = on"]


# --- The published load --------------------------------------------------------------------------


def test_the_published_load_sends_what_the_fast_one_sends_before_and_after_its_rows() -> None:
    given: dict[str, Any] = {"foreign_keys": 1, "partitions": 2, "scale": 2}
    found = steps(fill="published", **given)
    assert all(one.startswith("DROP") for one in found["create-tables"].setup)
    tables = texts(found["create-tables"])
    assert sorted(tables) == sorted(created(**given))
    assert [one.split()[2] for one in tables] == [
        *TABLES,
        "pgbench_accounts_1",
        "pgbench_accounts_2",
    ]
    after = fills(steps(**given)["fill"])["pgbench_branches"]["after"]
    sent_after = [
        one for name in ("vacuum", "primary-keys", "foreign-keys") for one in texts(found[name])
    ]
    assert sent_after == after[1:]


def test_the_client_generates_one_table_after_another_over_a_connection_each() -> None:
    loaded = steps(fill="published", scale=2)["generate"]
    assert list(fills(loaded)) == ["pgbench_branches", "pgbench_tellers", "pgbench_accounts"]
    assert all(one["after"] == [] for one in job_of(loaded)["fills"])
    assert job_of(loaded)["fills"][2]["streams"] == 1
    assert loaded.headline == Headline(metric="ips", role="fill", count="rows")
    assert loaded.setup == ()


def test_the_server_generates_in_one_transaction() -> None:
    loaded = steps(fill="published", generate="server", scale=2)["generate"]
    assert texts(loaded) == [
        "BEGIN",
        "TRUNCATE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers",
        "INSERT INTO pgbench_branches(bid,bbalance) SELECT bid, 0 FROM generate_series(1, 2) "
        "AS bid",
        "INSERT INTO pgbench_tellers(tid,bid,tbalance) SELECT tid, (tid - 1) / 10 + 1, 0 "
        "FROM generate_series(1, 20) AS tid",
        "INSERT INTO pgbench_accounts(aid,bid,abalance,filler) SELECT aid, "
        "(aid - 1) / 100000 + 1, 0, '' FROM generate_series(1, 200000) AS aid",
        "COMMIT",
    ]
    assert sum(one["rows"] for one in job_of(loaded)["statements"]) == 200_022


# --- What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "given", "line"),
    [
        ("postgres", {"protocol": "fast"}, "protocol has to be simple, extended or prepared"),
        ("postgres", {"partition_method": "list"}, "partition_method has to be range or hash"),
        ("postgres", {"generate": "nobody"}, "generate has to be client or server"),
        ("postgres", {"filler": "full"}, "filler has to be blank or random"),
        (
            "postgres",
            {"filler": "random", "generate": "server"},
            "the server generates blank fillers only",
        ),
        ("postgres", {"fillfactor": 9}, "fillfactor has to be from 10 to 100"),
        ("postgres", {"foreign_keys": 1, "primary_keys": 0}, "foreign keys need primary keys"),
        ("mysql", {"fillfactor": 90}, "only PostgreSQL has a fillfactor"),
        ("mysql", {"prewarm": 1}, "only PostgreSQL can be prewarmed"),
        (
            "postgres",
            {"prewarm": 1, "primary_keys": 0},
            "a primary key has to be there to be prewarmed",
        ),
        ("postgres", {"prewarm": 1, "partitions": 2}, "partitions are not prewarmed"),
        ("mariadb", {"unlogged": 1}, "only PostgreSQL has unlogged tables"),
        (
            "mysql",
            {"partitions": 2, "foreign_keys": 1},
            "InnoDB has no foreign keys of partitioned tables",
        ),
    ],
)
def test_what_is_not_made_for_is_refused(engine: str, given: Json, line: str) -> None:
    assert complaint(engine, **given).startswith(f"{line}, but ")
