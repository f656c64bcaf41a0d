"""What is derived of a MySQL arm: its own counters by operation, and no zeros of PostgreSQL's."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from dbdyno import store
from dbdyno.analysis.step import assemble
from dbdyno.evidence import query_plans
from dbdyno.findings.server_counters.metrics import binlog_bytes
from dbdyno.findings.state.step import state
from dbdyno.judge import differences, validity
from dbdyno.model import Cell, Json, StepRun, engine
from dbdyno.model.metric import METRICS
from dbdyno.model.plan_record import ArmRecord
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.snapshot import Binlog, Snapshot
from dbdyno.store import Results
from doubted import doubted
from result_builder import build
from result_planted import plant
from run_builder import changed
from test_imbalance import said

OPERATIONS = 5_000 * 20
"""Of the step qr100: queries a second, and seconds."""
PAGE = 16_384
NAMED = {"page cleaner": 4_000.0, "purge": 1_000.0}
"""CPU of a background whose threads have names, in microseconds a second."""


def a_snapshot(after: bool, **changes: Any) -> Snapshot:
    """A before.json or after.json as the probe of MySQL takes it."""
    done = OPERATIONS if after else 0
    found: Json = {
        "mono_ns": 1,
        "unix_ns": 1,
        "engine": "mysql",
        "version_num": 80406,
        "status": {
            "innodb_buffer_pool_read_requests": 100 + 5 * done,
            "innodb_buffer_pool_reads": 10 + done // 100,
            "innodb_rows_read": 7 + 2 * done,
            "innodb_pages_written": done // 10,
            "innodb_dblwr_pages_written": done // 20,
            "innodb_data_fsyncs": done // 40,
            "innodb_os_log_fsyncs": done // 50,
            "innodb_row_lock_time": done // 1000,
        },
        "wal": {"position_bytes": 1_000 + 300 * done, "since_checkpoint_bytes": 700},
        "purge": {"history": 12 + done // 10},
        "buffers": {"used": 60, "unused": 40, "dirty": 25, "total": 100, "dirty_bytes": 25 * PAGE},
        "binlog": {
            "enabled": True,
            "file": "binlog.000001",
            "position_bytes": 158 + 200 * done,
            "files": {"binlog.000001": 158 + 200 * done},
        },
        "tables": {
            "pi1": {"live_rows": 900, "heap_bytes": 300, "index_bytes": 100, "total_bytes": 400}
        },
        "sizes": {"database_bytes": 500, "data_dir_bytes": 900, "wal_dir_bytes": 100},
        "checkpoints": None,
        "autovacuum_runs": None,
        "explain": {
            "query": {
                "custom": "range on pi1 by pi1_market: Using where  (rows=9)",
                "generic": None,
                "tree": "-> Index range scan on pi1  (cost=1 rows=9)",
            }
        },
        "unavailable": {},
    }
    return msgspec.convert(found | changes, Snapshot)


def a_run(
    tmp_path: Path, engine: str = "mysql", background: Mapping[str, float] = NAMED, **changes: Any
) -> StepRun:
    """A step of an arm of MySQL, derived; `changes`: of both snapshots."""
    numbers = plant("qr100", background_cpu_us_per_s=background)
    folder = build(
        tmp_path, arms=("my84",), blocks=1, steps=("qr100",), planted=lambda *_: numbers, name="one"
    )
    (run,) = Results.open(folder).blocks()[0].runs()
    step = run.steps()[0]
    job = store.read_struct(step.path / "job.json", Json)
    store.write_json(step.path / "job.json", job | {"engine": engine})
    for name, after in (("before.json", False), ("after.json", True)):
        store.write_json(step.path / name, a_snapshot(after, **changes))
    return assemble.step_run(step)


def test_counters_of_innodb_are_taken_by_operation(tmp_path: Path) -> None:
    expected = {
        "pool_hit_per_op": 4.99,
        "pool_read_per_op": 0.01,
        "blocks_hit_ps": 4.99 * OPERATIONS / 20,
        "blocks_read_ps": 0.01 * OPERATIONS / 20,
        "rows_read_per_op": 2.0,
        "pages_written_per_op": 0.1,
        "doublewrite_pages_per_op": 0.05,
        "fsyncs_per_op": 0.025,
        "log_fsyncs_per_op": 0.02,
        "row_lock_us_per_op": 1.0,
        "wal_bytes_per_op": 300.0,
        "binlog_bytes_per_op": 200.0,
        "history_after": 12 + OPERATIONS / 10,
        "page_cleaner_cpu_per_op": 0.8,
        "purge_cpu_per_op": 0.2,
        "log_cpu_per_op": 0.0,
        "background_cpu_per_op": 1.1,
    }
    run = a_run(tmp_path)
    assert {name: run.metrics[name] for name in expected} == pytest.approx(expected)
    assert doubted(run) == ()


def test_what_only_postgresql_has_is_missing_and_no_zero(tmp_path: Path) -> None:
    run = a_run(tmp_path, "mariadb")
    others = [row.name for row in METRICS if row.servers == "PostgreSQL"]
    assert "checkpointer_cpu_per_op" in others
    assert {name: run.metrics[name] for name in others} == dict.fromkeys(others)


def test_each_engine_has_the_metrics_of_its_servers() -> None:
    families = {name: engine.of(name).statistics for name in ("postgres", "mysql", "mariadb")}
    assert families == {"postgres": "PostgreSQL", "mysql": "InnoDB", "mariadb": "InnoDB"}


def test_threads_without_names_are_no_background_of_a_kind(tmp_path: Path) -> None:
    run = a_run(tmp_path, "mariadb", background={"other": 5_000.0})
    kinds = ("page_cleaner", "log", "purge", "io_thread")
    assert [run.metrics[f"{kind}_cpu_per_op"] for kind in kinds] == [None] * 4
    assert run.metrics["background_cpu_per_op"] == pytest.approx(1.1)


def test_a_counter_that_the_server_lacks_is_missing(tmp_path: Path) -> None:
    run = a_run(tmp_path, status={"rows_read": 5, "innodb_buffer_pool_reads": 1})
    assert run.metrics["log_fsyncs_per_op"] is None
    assert run.metrics["pool_hit_per_op"] is None
    assert run.metrics["rows_read_per_op"] == 0.0


def test_the_state_of_innodb_is_told_in_the_same_rows() -> None:
    found = state(a_snapshot(after=False))
    known = {
        "database_bytes": 500.0,
        "table_bytes": 300.0,
        "index_bytes": 100.0,
        "live_rows": 900.0,
        "dirty_bytes": 25.0 * PAGE,
        "dirty_share": 25.0,
        "wal_since_checkpoint_bytes": 700.0,
        "history": 12.0,
        "binlog_bytes": 158.0,
    }
    assert {name: found[name] for name in known} == known
    assert found["dead_rows"] is None
    assert found["vacuum_due_tables"] is None


# --- The binary log --------------------------------------------------------------------------


def log(files: dict[str, int]) -> Binlog:
    """These binary logs, the last of which is written to, to its end."""
    last = max(files)
    return Binlog(enabled=True, file=last, position_bytes=files[last], files=files)


OFF = Binlog(enabled=False, file=None, position_bytes=None, files={})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (log({"b.01": 100}), log({"b.01": 160}), 60),
        (log({"b.01": 100}), log({"b.01": 500, "b.02": 70}), 470),
        (log({"b.01": 100}), log({"b.01": 500, "b.02": 600, "b.03": 70}), 1_070),
        (log({"b.01": 900, "b.02": 50}), log({"b.02": 80}), 30),
        (OFF, OFF, 0),
    ],
)
def test_what_the_binary_logs_took_up_is_counted_over_their_files(
    before: Binlog, after: Binlog, expected: int
) -> None:
    assert binlog_bytes(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (log({"b.02": 50}), log({"b.04": 80})),  # purged in between
        (log({"b.02": 50}), log({"b.01": 80})),  # began anew
        (log({"b.01": 500}), log({"b.01": 80})),  # the same, and by chance the same name
        (OFF, log({"b.01": 80})),
        (None, log({"b.01": 80})),
        (None, None),
    ],
)
def test_what_was_purged_is_not_guessed(before: Binlog | None, after: Binlog | None) -> None:
    assert binlog_bytes(before, after) is None


# --- Side by side ----------------------------------------------------------------------------


def test_plans_of_mysql_are_compared_without_their_rows(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    assert run.server.plans == {"query": "range on pi1 by pi1_market: Using where"}
    other = changed(run, plans={"query": "ALL on pi1: Using where"})
    (change,) = query_plans.changes([run], [other])
    said = "`range on pi1 by pi1_market: Using where` became".replace("`", "")
    assert said in query_plans.words(change)


def test_plans_of_other_servers_are_never_said_to_have_changed(tmp_path: Path) -> None:
    mine = a_run(tmp_path)
    theirs = changed(mine, servers="PostgreSQL", plans={"query": "Index Scan using pi1_market"})
    assert list(query_plans.changes([theirs], [mine])) == []


def cell(run: StepRun) -> Cell:
    """The run as the only one of its arm."""
    return Cell(
        arm=run.arm,
        runs=(run,),
        value=None,
        value_bound="exact",
        ratio=None,
        ratio_bound="exact",
        sla_met=None,
        metrics={},
        estimates={},
    )


def test_sizes_are_set_beside_those_of_the_same_servers_only(tmp_path: Path) -> None:
    small = {"live_rows": 1e6, "table_bytes": 100e6, "index_bytes": 100e6, "history": 0.0}
    large = {"live_rows": 1e6, "table_bytes": 300e6, "index_bytes": 300e6, "history": 90_000.0}
    run = a_run(tmp_path)
    one = changed(run, arm="my84", state_before=small)
    other = changed(run, arm="my97", state_before=large)
    found = said([cell(one), cell(other)])
    begin = "block 1: state at the start differs: "
    assert len(found) == 2
    assert found[0].startswith(f"{begin}tables and indexes 191 MiB (my84) and 572 MiB (my97)")
    assert found[1].startswith(f"{begin}transactions to purge 0 (my84) and 90,000 (my97)")
    assert said([cell(one), cell(changed(other, servers="PostgreSQL"))]) == found[1:]


def a_server(engine: str, **settings: str) -> ServerFacts:
    """The facts of a server, as far as differences read them."""
    return ServerFacts(
        engine=engine,
        version="1",
        version_text=engine,
        compiler=engine,
        settings=settings,
        nondefault={},
    )


def test_settings_are_compared_among_the_arms_of_one_engine() -> None:
    servers = {
        "pg": a_server("postgres", max_connections="100", work_mem="4MB"),
        "my": a_server(
            "mysql", max_connections="151", innodb_flush_method="fsync", server_uuid="1"
        ),
        "my2": a_server(
            "mysql", max_connections="151", innodb_flush_method="O_DIRECT", server_uuid="2"
        ),
    }
    arms = [ArmRecord(name=name) for name in servers]
    found = differences.differences(list(servers), servers, arms)
    settings = [one for one in found if one.what.startswith("setting")]
    assert [one.what for one in settings] == ["setting innodb_flush_method (default)"]
    assert settings[0].values == {"my": "fsync", "my2": "O_DIRECT"}


def test_an_option_that_switches_a_setting_off_names_it() -> None:
    servers = {"on": a_server("mysql", log_bin="ON"), "off": a_server("mysql", log_bin="OFF")}
    arms = [ArmRecord(name="on"), ArmRecord(name="off", settings={"skip-log-bin": "ON"})]
    (found,) = differences.differences(["on", "off"], servers, arms)
    assert (found.what, found.planned) == ("setting log_bin", True)


def test_what_comes_with_another_engine_is_named_by_it() -> None:
    servers = {
        name: structs.replace(a_server(engine), block_size=size)
        for name, engine, size in (("pg", "postgres", 8192), ("my", "mysql", 16384))
    }
    found = differences.differences(["pg", "my"], servers, [])
    assert {one.what for one in found if one.planned} == {"engine", "compiler", "block size"}
    assert len(found) == 3
    servers["my4"] = structs.replace(a_server("mysql"), block_size=4096)
    found = differences.differences(["pg", "my", "my4"], servers, [])
    assert [one.what for one in found if not one.planned] == ["block size"]


def test_compilers_of_two_engines_are_not_set_against_each_other() -> None:
    newer = structs.replace(a_server("mysql"), version="2")
    servers = {"pg": [a_server("postgres")], "my": [newer]}
    assert validity.doubts(list(servers), [], servers, {}) == ()
