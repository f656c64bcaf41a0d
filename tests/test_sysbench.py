"""The sysbench microbenchmarks: every statement, key, order and size is the published one."""

import functools
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Headline, Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of, role, sql

BUFFER_BYTES = 512 << 10
"""What an INSERT of sysbench's prepare is at most."""


def sysbench(
    fill: str | None = None, set: str | None = None, preset: str | None = None, **parameters: Any
) -> dict[str, Step]:
    loaded = workload.load("sysbench", fill=fill, set=set, preset=preset)
    return {step.name: step for step in workload.expand(loaded, parameters, "postgres")}


@functools.cache
def every() -> dict[str, Step]:
    """Each step that any set has; those of a sweep are left out."""
    sets = ("32", "nopre", "42", "27", "corrected")
    return {name: step for one in sets for name, step in sysbench(set=one).items()}


def value(step: Step, name: str) -> Any:
    (found,) = [one for one in job_of(step)["values"] if one["name"] == name]
    return {key: found[key] for key in found if key not in ("name", "per", "format")}


def sent(step: Step) -> list[str]:
    """The statements of a step's one operation, in their order."""
    (program,) = job_of(step)["programs"]
    names = [one["name"] for one in job_of(step)["statements"]]
    return [names[number] for what, number in program["code"] if what == "send"]


# --- Sets: membership and order ----------------------------------------------------------------

WRITES = (
    *("update-inlist", "update-index", "update-nonindex", "update-one", "update-zipf"),
    *("write-only", "read-write_range=10", "read-write_range=100"),
)
READ_ONLY = ("read-only_range=10", "read-only_range=100", "read-only_range=10000")
POINTS = (
    *("point-query", "random-points_range=10", "random-points_range=100"),
    *("random-points_range=1000", "hot-points"),
)
AFTER_POSTWRITE = (
    *("scan.warm", "scan", *READ_ONLY),
    *("read-only-simple", "read-only-sum", "read-only-order", "read-only-distinct"),
    *("read-only-count", *POINTS, "points-covered-pk", "points-notcovered-pk"),
    *("range-covered-pk", "range-notcovered-pk"),
    *("points-covered-si.warm", "points-covered-si", "points-notcovered-si"),
    *("range-covered-si", "range-notcovered-si", "delete", "insert"),
)
LOADED = ("fill", "point-query.warm", "postwrite.pre")
BEFORE_WRITES = ("scan.warmpre", "point-query.pre", "range-notcovered-si.pre")
REPORT = {
    "point queries": (
        *("hot-points", "point-query", "points-covered-pk", "points-covered-si"),
        *("points-notcovered-pk", "points-notcovered-si", "random-points_range=1000"),
        *("random-points_range=100", "random-points_range=10"),
    ),
    "range queries without aggregation": (
        *("range-covered-pk", "range-covered-si", "range-notcovered-pk", "range-notcovered-si"),
        "scan",
    ),
    "range queries with aggregation": (
        *("read-only-count", "read-only-distinct", "read-only-order", "read-only_range=10000"),
        *("read-only_range=100", "read-only_range=10", "read-only-simple", "read-only-sum"),
    ),
    "writes": (
        *("delete", "insert", "read-write_range=100", "read-write_range=10", "update-index"),
        *("update-inlist", "update-nonindex", "update-one", "update-zipf", "write-only"),
    ),
}


def test_the_current_chain_has_38_steps_in_the_published_order() -> None:
    steps = sysbench()
    assert list(steps) == [*LOADED, *BEFORE_WRITES, *WRITES, "postwrite", *AFTER_POSTWRITE]
    assert sum(name != "fill" and "postwrite" not in name for name in steps) == 38
    assert list(sysbench(set="32")) == list(steps)


def test_the_published_load_stands_before_the_same_chain() -> None:
    steps = list(sysbench("published"))
    assert steps[:2] == ["prepare", "vacuum"]
    assert steps[2:] == list(sysbench())[1:]
    measured = [name for name, step in sysbench("published").items() if step.measured]
    assert measured[0] == "prepare"


def test_the_32_are_measured_in_the_published_groups() -> None:
    groups: dict[str, list[str]] = {}
    for name, step in sysbench().items():
        if step.measured and ".pre" not in name:
            assert step.group is not None
            groups.setdefault(step.group, []).append(name)
    assert {title: sorted(names) for title, names in groups.items()} == {
        title: sorted(names) for title, names in REPORT.items()
    }
    assert [len(names) for names in REPORT.values()] == [9, 5, 8, 10]


def test_scale_up_has_each_measured_step_with_each_number_of_clients() -> None:
    steps = sysbench(set="scale-up", client_counts=[1, 3], tables=2)
    timed = [*WRITES, *(name for name in AFTER_POSTWRITE if name not in ("delete", "insert"))]
    wanted = [
        name if ".warm" in name else f"{name}@clients={count}"
        for name in timed
        for count in ((1,) if ".warm" in name else (1, 3))
    ]
    assert [name for name in steps if name not in (*LOADED, "postwrite")] == wanted
    assert job_of(steps["scan@clients=3"])["clients"] == 3
    assert steps["scan@clients=1"].group == "range queries without aggregation"


@pytest.mark.long
def test_hidden_steps_are_not_measured() -> None:
    hidden = [name for name, step in every().items() if not step.measured]
    assert hidden == [
        *("fill", "point-query.warm", "postwrite.pre", "scan.warmpre"),
        *("postwrite", "scan.warm", "points-covered-si.warm"),
    ]
    warm = sysbench(clients=5, tables=3)["point-query.warm"]
    assert (job_of(warm)["clients"], job_of(warm)["roles"][0]["connections"]) == (3, 1)


# --- Sizes -------------------------------------------------------------------------------------


def test_reads_and_writes_have_their_seconds() -> None:
    steps = sysbench(seconds=630, write_seconds=930, warmup_s=4)
    for name, step in steps.items():
        if step.group is not None:
            writes = step.group == "writes" and name != "write-only"
            assert job_of(step)["stop"]["seconds"] == (930 if writes else 630), name
            assert job_of(step)["stop"]["warmup_s"] == 4
            assert step.writes == (step.group == "writes"), name
    assert job_of(steps["scan.warm"])["stop"]["seconds"] == 60
    assert {job_of(sysbench()[name])["stop"]["seconds"] for name in ("scan", "delete")} == {
        300,
        600,
    }


@pytest.mark.long
def test_pauses_follow_the_published_formula() -> None:
    for tables, rows, seconds in ((8, 10_000_000, 140), (1, 50_000_000, 110), (8, 10**9, 1200)):
        steps = sysbench(tables=tables, rows=rows)
        assert {steps[name].pad_to_s for name in ("postwrite.pre", "postwrite")} == {seconds}
    assert sysbench(pause_s=5)["postwrite"].pad_to_s == 5


@pytest.mark.parametrize(
    ("preset", "clients", "tables", "rows", "seconds"),
    [
        ("8c32g-cached", 1, 1, 50_000_000, (630, 930)),
        ("8c32g-cached-4", 4, 1, 50_000_000, (300, 600)),
        ("32c128g-cached", 24, 8, 10_000_000, (630, 930)),
        ("48c128g-cached", 40, 8, 10_000_000, (630, 930)),
        ("48c128g-io-bound", 40, 8, 50_000_000, (600, 900)),
        ("8c32g-cached-2025-09", 1, 1, 50_000_000, (600, 900)),
        ("32c128g-cached-2025-09", 24, 8, 10_000_000, (600, 900)),
        ("48c128g-cached-2025-09", 40, 8, 10_000_000, (600, 900)),
        ("48c128g-cached-2024-09", 40, 8, 10_000_000, (180, 300)),
        ("8c32g-cached-2024-09", 1, 1, 50_000_000, (300, 600)),
        ("16c64g-cached-2024-09", 12, 8, 10_000_000, (300, 600)),
    ],
)
def test_presets_are_the_published_sizes(
    preset: str, clients: int, tables: int, rows: int, seconds: tuple[int, int]
) -> None:
    steps = sysbench(preset=preset)
    fill, update, query = steps["fill"], steps["update-index"], steps["point-query"]
    assert job_of(query)["clients"] == clients
    assert (len(query.tables), job_of(fill)["fills"][0]["rows"]) == (tables, rows)
    assert (job_of(query)["stop"]["seconds"], job_of(update)["stop"]["seconds"]) == seconds


@pytest.mark.long
def test_presets_for_the_scale_up_are_the_published_ones() -> None:
    for preset, counts, tables in (
        ("48c128g-scale-up-4", [1, 2, 4], 1),
        ("48c128g-scale-up", [8, 12, 16, 20, 24, 32, 40, 48], 8),
    ):
        steps = sysbench(set="scale-up", preset=preset)
        found = [name for name in steps if name.startswith("point-query@")]
        assert found == [f"point-query@clients={count}" for count in counts]
        assert len(steps["scan.warm"].tables) == tables


@pytest.mark.long
def test_sizes_for_a_host_follow_its_memory() -> None:
    for cores, memory_bytes, clients, tables in ((2, 16 << 30, 1, 1), (48, 128 << 30, 36, 8)):
        host: Any = workload.host(cores, memory_bytes)
        for preset, share in (("cached", 0.3), ("io-bound", 2)):
            steps = sysbench(preset=preset, **host)
            rows = job_of(steps["fill"])["fills"][0]["rows"]
            assert rows * tables * 290 == pytest.approx(share * memory_bytes, rel=0.01)
            assert len(steps["fill"].tables) == tables
            assert job_of(steps["point-query"])["clients"] == clients


# --- Statements --------------------------------------------------------------------------------

SELECTS = {
    "point-query": "SELECT c FROM <sbtest> WHERE id=<id>",
    "hot-points": "SELECT c FROM <sbtest> WHERE id IN ([100 ', '× <hot_id>])",
    "points-covered-pk": "SELECT id FROM <sbtest> WHERE id IN ([100 ', '× <id>])",
    "points-notcovered-pk": "SELECT id, c FROM <sbtest> WHERE id IN ([100 ', '× <id>])",
    "points-covered-si": "SELECT k FROM <sbtest> WHERE k IN ([100 ', '× <k>])",
    "points-notcovered-si": "SELECT k, c FROM <sbtest> WHERE k IN ([100 ', '× <k>])",
    "range-covered-pk": "SELECT id FROM <sbtest> WHERE id BETWEEN <from> AND <beyond>",
    "range-notcovered-pk": "SELECT id, c FROM <sbtest> WHERE id BETWEEN <from> AND <beyond>",
    "range-covered-si": "SELECT k FROM <sbtest> WHERE k BETWEEN <from> AND <beyond>",
    "range-notcovered-si": "SELECT k, c FROM <sbtest> WHERE k BETWEEN <from> AND <beyond>",
    "read-only-count": "SELECT count(c) FROM <sbtest> WHERE id BETWEEN <from> AND <to>",
}
RANGES = {
    "simple": "SELECT c FROM <sbtest> WHERE id BETWEEN <from> AND <to>",
    "sum": "SELECT SUM(k) FROM <sbtest> WHERE id BETWEEN <from> AND <to>",
    "order": "SELECT c FROM <sbtest> WHERE id BETWEEN <from> AND <to> ORDER BY c",
    "distinct": "SELECT DISTINCT c FROM <sbtest> WHERE id BETWEEN <from> AND <to> ORDER BY c",
}
CHANGES = {
    "update-index": "UPDATE <sbtest> SET k=k+1 WHERE id=<id>",
    "update-nonindex": "UPDATE <sbtest> SET c=<c> WHERE id=<id>",
    "delete": "DELETE FROM <sbtest> WHERE id=<row>",
    "put_back": "INSERT INTO <sbtest> (id, k, c, pad) VALUES (<row>, <k>, <c>, <pad>)",
}


@pytest.mark.parametrize("name", SELECTS)
def test_a_query_that_is_no_transaction(name: str) -> None:
    for step in (every()[name], every().get(f"{name}.pre")):
        if step is not None:
            assert sent(step) == [name]
            assert sql(step, name) == SELECTS[name]
            assert job_of(step)["statements"][0]["protocol"] == "prepared"
            assert step.headline == Headline(metric="qps", role="query", count="operations")
            assert step.roles == {"query": "query"}


def test_lists_of_random_points_have_their_number_of_keys() -> None:
    for count in (10, 100, 1000):
        for phase in ("", ".pre"):
            step = every()[f"random-points{phase}_range={count}"]
            text = f"SELECT c FROM <sbtest> WHERE id IN ([{count} ', '× <id>])"
            assert (sent(step), sql(step, "random-points")) == (["random-points"], text)


def test_keys_are_those_of_the_published_scripts() -> None:
    steps = {**sysbench(rows=5_001), **sysbench(set="corrected", rows=5_001, tables=4)}
    for name in ("point-query", "random-points_range=10", "points-covered-pk", "update-inlist"):
        assert value(steps[name], "id") == {"uniform": [1, 5001]}
    assert value(steps["points-covered-si"], "k") == {"uniform": [1, 5001]}
    assert value(steps["hot-points"], "hot_id") == {"item": {"first": 2501}}
    for name in ("range-covered-pk", "range-covered-si", "read-only-count"):
        assert value(steps[name], "from") == {"uniform": [1, 5001]}
    assert value(steps["range-covered-pk"], "beyond") == {"add": {"value": 0, "plus": 100}}
    assert value(steps["range-notcovered-si"], "beyond") == {"add": {"value": 0, "plus": 100}}
    for size in (10, 100, 10_000):
        assert value(steps[f"read-only_range={size}"], "to")["add"]["plus"] == size - 1
    for kind in ("simple", "sum", "order", "distinct", "count"):
        assert value(steps[f"read-only-{kind}"], "to")["add"]["plus"] == 999
    assert value(steps["update-one"], "id") == {"uniform": [1, 1]}
    zipf = {"range": [1, 5001], "exponent": 0.8, "scattered": False}
    assert value(steps["update-zipf"], "zipf_id") == {"zipf": zipf}
    assert value(steps["delete-bounded"], "deletion")["sequence"]["each"] == 4
    assert value(steps["delete-bounded"], "each_row")["permutation"]["range"] == [1, 5001]


def test_transactions_have_the_published_statements() -> None:
    steps = every()
    reads = [*["point-query"] * 10, *RANGES]
    for size in (10, 100, 10_000):
        for phase in (".pre", ""):
            only = steps[f"read-only{phase}_range={size}"]
            assert sent(only) == ["BEGIN", *reads, "COMMIT"]
            assert only.headline == Headline(metric="qps", role="query", count="statements")
    for kind in RANGES:
        one = steps[f"read-only-{kind}"]
        assert sent(one) == ["BEGIN", *["point-query"] * 10, kind, "COMMIT"]
    assert sent(steps["write-only"]) == ["BEGIN", *CHANGES, "COMMIT"]
    for size in (10, 100):
        both = steps[f"read-write_range={size}"]
        assert sent(both) == ["BEGIN", *reads, *CHANGES, "COMMIT"]
        assert value(both, "to")["add"]["plus"] == size - 1
        assert both.headline == Headline(metric="qps", role="write", count="statements")
        assert both.roles == {"write": "other"}
        for name, text in {**RANGES, **CHANGES}.items():
            assert sql(both, name) == text
        assert sql(both, "point-query") == SELECTS["point-query"]
        assert {one["protocol"] for one in job_of(both)["statements"]} == {"prepared"}


def test_what_is_deleted_in_a_transaction_comes_back_into_the_same_table() -> None:
    step = every()["write-only"]
    classes = {one["name"]: one.get("class") for one in job_of(step)["statements"]}
    assert classes["delete"] == classes["put_back"] == "delete_insert"
    assert {classes[name] for name in classes if name not in ("delete", "put_back")} == {None}
    (program,) = job_of(step)["programs"]
    names = [one["name"] for one in job_of(step)["values"]]
    drawn = [names[number] for what, number in program["code"] if what == "draw"]
    assert drawn == ["row"], "all else is drawn anew for each statement"
    assert role(step, "write")["on_error"]["retry"] == ["40001", "40P01", "23505"]


def test_writes_that_are_no_transaction() -> None:
    steps = every()
    for label, keys in (("update-inlist", 10), ("update-inlist-100", 100)):
        text = f"UPDATE <sbtest> SET c=<c> WHERE id IN ([{keys} ', '× <id>])"
        assert sql(steps[label], "update-inlist") == text
    for name in ("update-index", "update-nonindex", "delete"):
        assert sent(steps[name]) == [name]
        assert sql(steps[name], name) == CHANGES[name]
    assert sql(steps["update-one"], "update-nonindex") == CHANGES["update-nonindex"]
    zipf = "UPDATE <sbtest> SET c=<c> WHERE id=<zipf_id>"
    assert sql(steps["update-zipf"], "update-nonindex") == zipf
    bounded = "DELETE FROM <sbtest> WHERE id=<each_row>"
    assert sql(steps["delete-bounded"], "delete") == bounded
    insert = "INSERT INTO <sbtest> (k, c, pad) VALUES (<k>, <c>, <pad>)"
    assert sql(steps["insert"], "insert") == insert
    assert job_of(steps["insert"])["statements"][0]["protocol"] == "simple"
    for name in (*WRITES[:5], "update-inlist-100", "delete", "delete-bounded", "insert"):
        assert steps[name].headline == Headline(metric="qps", role="write", count="operations")
        assert steps[name].roles == {"write": "other"}


def test_the_texts_have_the_published_lengths() -> None:
    step = every()["write-only"]
    assert [len(value(step, name)["pattern"]) for name in ("c", "pad")] == [119, 59]
    assert set(value(step, "c")["pattern"]) == {"#", "-"}


def test_a_bounded_delete_ends_when_half_of_the_rows_are_gone() -> None:
    step = sysbench(set="corrected", clients=3, tables=2, rows=501)["delete-bounded"]
    write = role(step, "write")
    assert (write["per"], write["connections"]) == ("step", 3)
    assert write["table"] == {"of": "sbtest", "by": "in_turn"}
    assert write["stop"] == {"operations": 501}
    assert job_of(step)["stop"]["seconds"] is None


def test_each_statement_draws_its_table_but_the_scans() -> None:
    for name, step in every().items():
        for one in job_of(step)["roles"]:
            if name.startswith("scan"):
                assert one["table"]["by"] == "own"
            elif step.group and name != "delete-bounded":
                assert (one["table"]["by"], one["per"], one["connections"]) == (
                    "uniform",
                    "client",
                    1,
                )


def test_a_scan_counts_the_rows_of_its_table() -> None:
    step = sysbench(rows=7_000)["scan"]
    assert step.headline == Headline(metric="scan", role="scan", count="operations", each=7_000)
    assert sql(step, "scan") == "SELECT * FROM <sbtest> WHERE LENGTH(c) < 0"
    (statement,) = job_of(step)["statements"]
    assert (statement["protocol"], statement["rows"]) == ("simple", 0)


def test_postwrite_vacuums_all_tables_at_once_and_checkpoints() -> None:
    loaded = workload.load("sysbench")
    for version, options in (
        ((11,), ""),
        ((12,), ", INDEX_CLEANUP ON"),
        ((18,), ", INDEX_CLEANUP ON"),
    ):
        made = workload.expand(loaded, {"tables": 8}, "postgres", version=version)
        for step in (one for one in made if "postwrite" in one.name):
            vacuum, checkpoint = job_of(step)["roles"]
            assert sql(step, "vacuum") == f"VACUUM (VERBOSE, ANALYZE{options}) <sbtest>"
            assert (vacuum["connections"], vacuum["stop"]) == (8, {"operations": 8})
            assert (checkpoint["name"], checkpoint["after"]) == ("checkpoint", ["vacuum"])


def test_statements_are_sent_as_literals_where_a_plan_asks_for_it() -> None:
    step = sysbench(query_protocol="simple")["read-write_range=10"]
    assert {one["protocol"] for one in job_of(step)["statements"]} == {"simple"}
    with pytest.raises(WorkloadError, match="prepared, extended or simple"):
        sysbench(query_protocol="execute")


def test_an_unknown_benchmark_or_group_names_the_nearest() -> None:
    loaded = workload.load("sysbench")
    given: Any
    for given, line in (
        ({"steps": ["points-query"]}, "no step `points-query` .*did you mean `point-query`"),
        ({"steps": ["read-only_range=1000"]}, "did you mean `read-only_range=10"),
        ({"groups": ["writes"]}, "no group `writes`; did you mean `write`"),
    ):
        with pytest.raises(WorkloadError, match=line):
            workload.expand(loaded, {}, "postgres", **given)
    with pytest.raises(WorkloadError, match="no set `scaleup`; did you mean `scale-up`"):
        workload.load("sysbench", set="scaleup")
    kept = workload.expand(loaded, {}, "postgres", groups=["write"])
    groups = {step.group for step in kept}
    assert groups == {None, "writes"}
    assert "points-covered-si.warm" in {step.name for step in kept}


# --- The load ----------------------------------------------------------------------------------


def test_prepare_sends_what_sysbench_sends() -> None:
    prepare = sysbench("published", rows=10_000, tables=3, prepare_threads=2)["prepare"]
    assert " ".join(prepare.setup[1].split()) == (
        "CREATE TABLE sbtest1 ( id SERIAL, k INTEGER DEFAULT '0' NOT NULL, "
        "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id) )"
    )
    head = "INSERT INTO <sbtest>(k, c, pad) VALUES"
    assert sql(prepare, "load") == f"{head}[2680× (<k>, <c>, <pad>)]"
    assert sql(prepare, "load_rest") == f"{head}[1960× (<k>, <c>, <pad>)]"
    assert sql(prepare, "create_index") == "CREATE INDEX k_<number of sbtest> ON <sbtest>(k)"
    assert {one["protocol"] for one in job_of(prepare)["statements"]} == {"simple"}
    (program,) = job_of(prepare)["programs"]
    assert program["code"] == [["send", 0]] * 3 + [["send", 1], ["send", 2]]
    assert prepare.headline == Headline(metric="ips", role="insert", count="rows")
    insert = role(prepare, "insert")
    assert (insert["connections"], insert["stop"]) == (2, {"operations": 3})


def test_an_insert_of_prepare_fills_sysbenchs_buffer() -> None:
    for rows in (1_000_000, 10_000_000):
        prepare = sysbench("published", rows=rows)["prepare"]
        values = {one["name"]: one for one in job_of(prepare)["values"]}
        assert values["k"]["uniform"] == [1, rows]
        lengths = [len(values[name]["pattern"]) for name in ("c", "pad")]
        assert lengths == [119, 59]
        # Brackets, two commas with a space each, four quotes, and the comma before the next row.
        digits = len(str(rows)) - 1 - 1 / 9
        row_bytes = digits + sum(lengths) + 2 + 4 + 4 + 1
        insert = job_of(prepare)["statements"][0]
        # The buffer is never filled to the last byte, nor are all numbers equally long.
        assert insert["rows"] * row_bytes == pytest.approx(BUFFER_BYTES, rel=0.005)


# --- Storage engines ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sysbench", "insert-benchmark"])
@pytest.mark.long
def test_tables_are_of_the_storage_engine_that_is_wanted_and_cleanup_waits_for_it(name: str):
    cleanup = {"sysbench": "postwrite", "insert-benchmark": "cleanup"}[name]
    for engine, wait in (("mariadb", "ROCKSDB_CFSTATS"), ("mysql", "DO SLEEP(30)")):
        steps = steps_of(name, engine, storage_engine="rocksdb")
        created = next(sql for step in steps for sql in step.setup if "CREATE TABLE" in sql)
        assert created.replace(" = ", "=").endswith("ENGINE=rocksdb")
        (requirement,) = steps[0].requires
        assert "'rocksdb' IN ('default', ENGINE)" in requirement.query
        (step,) = [step for step in steps if step.name == cleanup]
        texts = [statement.beginning for statement in step.job.statements]
        assert any("rocksdb_force_flush_memtable_now" in text for text in texts)
        assert any(wait in text for text in texts)
        assert any("SET GLOBAL rocksdb_compact_lzero_now = 1" in text for text in texts)
        assert not any("innodb_max_dirty" in text for text in texts)
    assert steps_of(name, "postgres")[0].requires == ()
    oriole = steps_of(name, "postgres", storage_engine="orioledb")
    assert any(sql.endswith(") USING orioledb") for step in oriole for sql in step.setup)
    assert "'orioledb'" in oriole[0].requires[0].query
    for engine, compacts in (("mariadb", True), ("mysql", False)):
        steps = steps_of(name, engine, storage_engine="default")
        assert not any("ENGINE" in sql for step in steps for sql in step.setup)
        (step,) = [step for step in steps if step.name == cleanup]
        texts = [statement.beginning for statement in step.job.statements]
        assert any("innodb_max_dirty" in text for text in texts)
        assert any("rocksdb_force_flush" in text for text in texts) == compacts
    with pytest.raises(WorkloadError, match="`storage_engine` has to be innodb, rocksdb"):
        steps_of(name, "mariadb", storage_engine="rockdb")


def steps_of(name: str, engine: str, **parameters: str) -> tuple[Step, ...]:
    """The steps of a shipped workload on an engine."""
    return workload.expand(workload.load(name), parameters, engine)
