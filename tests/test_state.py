"""The state of a database from planted snapshots, and autovacuum's thresholds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbdyno.analysis.step import assemble
from dbdyno.engine.postgres.probe.debt import run, thresholds
from dbdyno.findings.state.step import state
from dbdyno.model import Json
from dbdyno.model.metric.state import STATES, StateFacts
from dbdyno.model.snapshot import Autovacuum, Snapshot
from test_analysis import change, step_folder

MIB = 1 << 20


def a_table(**changes: Any) -> Json:
    """One of two like tables."""
    table = {
        "n_live_tup": 900_000,
        "n_dead_tup": 100_000,
        "n_ins_since_vacuum": 250_000,
        "index_bytes": 40 * MIB,
        "total_bytes": 140 * MIB,
    }
    return table | changes


def a_snapshot(**changes: Any) -> Snapshot:
    """A before.json with all parts, of two tables."""
    found: Json = {
        "wal": {"position_bytes": 900, "since_checkpoint_bytes": 300 * MIB},
        "tables": {"pi1": a_table(), "pi2": a_table(n_dead_tup=0, n_ins_since_vacuum=0)},
        "sizes": {"database_bytes": 300, "data_dir_bytes": 500, "wal_dir_bytes": 100},
        "buffers": {"dirty": 2, "used": 3, "unused": 5, "dirty_bytes": 2 * 8192},
        "visibility": {
            "pi1": {"pages": 100, "all_visible_pages": 90, "all_frozen_pages": 0},
            "pi2": {"pages": 300, "all_visible_pages": 290, "all_frozen_pages": 0},
        },
        "bloat": {
            "pi1": {"bytes": 1000, "free_bytes": 100},
            "pi2": {"bytes": 1000, "free_bytes": 0},
        },
        "vacuum": {
            "pi1": {"dead_rows_max": 60_000.0, "inserted_rows_max": 200_000.0},
            "pi2": {"dead_rows_max": 60_000.0, "inserted_rows_max": 200_000.0},
        },
    }
    return msgspec.convert(found | changes, Snapshot)


INNODB = {"binlog_bytes", "history"}
"""Values that PostgreSQL has none of."""


def test_every_value_is_of_all_tables() -> None:
    assert state(a_snapshot()) == {
        "database_bytes": 300.0,
        "data_dir_bytes": 500.0,
        "wal_dir_bytes": 100.0,
        "binlog_bytes": None,
        "table_bytes": 200.0 * MIB,
        "index_bytes": 80.0 * MIB,
        "live_rows": 1_800_000.0,
        "dead_rows": 100_000.0,
        "dead_share": pytest.approx(100 * 100 / 1_900),
        "free_share": 5.0,
        "dirty_bytes": 16_384.0,
        "dirty_share": 25.0,
        "wal_since_checkpoint_bytes": 300.0 * MIB,
        "history": None,
        "vacuum_due_tables": 1.0,
        "vacuum_backlog_rows": 40_000.0 + 50_000.0,
        "all_visible_share": 95.0,
    }


def test_the_names_are_those_of_the_table_in_its_order() -> None:
    assert list(state(a_snapshot())) == [row.name for row in STATES]


def test_without_a_snapshot_there_is_no_state() -> None:
    assert state(None) == {}


@pytest.mark.parametrize("part", ["tables", "sizes", "wal", "buffers", "visibility", "bloat"])
def test_a_part_that_is_missing_leaves_its_values_out(part: str) -> None:
    missing = a_snapshot(**{part: None})
    unknown = {name for name, value in state(missing).items() if value is None} - INNODB
    assert (
        unknown
        == {
            "tables": {
                *("table_bytes", "index_bytes", "live_rows", "dead_rows", "dead_share"),
                *("vacuum_due_tables", "vacuum_backlog_rows"),
            },
            "sizes": {"database_bytes", "data_dir_bytes", "wal_dir_bytes"},
            "wal": {"wal_since_checkpoint_bytes"},
            "buffers": {"dirty_bytes", "dirty_share"},
            "visibility": {"all_visible_share"},
            "bloat": {"free_share"},
        }[part]
    )


def test_the_sum_of_some_tables_is_not_that_of_all() -> None:
    partly = {"pi1": a_table(), "pi2": a_table(n_dead_tup=None)}
    found = state(a_snapshot(tables=partly))
    assert found["dead_rows"] is None
    assert found["dead_share"] is None
    assert found["live_rows"] == 1_800_000.0


def test_a_version_without_a_threshold_for_inserts_has_no_debt_of_them() -> None:
    older = {"pi1": {"dead_rows_max": 60_000.0, "inserted_rows_max": None}}
    found = state(a_snapshot(vacuum=older))
    assert (found["vacuum_due_tables"], found["vacuum_backlog_rows"]) == (1.0, 40_000.0)


def test_empty_tables_have_no_share_of_dead_rows() -> None:
    empty = {"pi1": a_table(n_live_tup=0, n_dead_tup=0)}
    found = state(a_snapshot(tables=empty))
    assert found["dead_rows"] == 0.0
    assert found["dead_share"] is None


def test_no_tables_yet_are_no_zeros() -> None:
    found = state(a_snapshot(tables={}, visibility={}, bloat={}, vacuum={}))
    assert found["table_bytes"] is None
    assert found["vacuum_due_tables"] is None
    assert found["free_share"] is None


def test_a_step_that_failed_tells_its_state_and_a_server_elsewhere_what_it_did_not_tell(
    tmp_path: Path,
) -> None:
    step = step_folder(tmp_path, "qr100")
    facts = assemble.step_run(step).of(StateFacts)
    assert facts.at("before")["database_bytes"] > 0
    assert facts.at("before").keys() == facts.at("after").keys() <= {row.name for row in STATES}
    assert facts.unread == {}
    change(step.path / "step.json", lambda step: step.update(remote=True))
    (step.path / "done.json").unlink()
    failed = assemble.step_run(step)
    assert failed.ending.status == "failed"
    assert failed.of(StateFacts) == replace(facts, unread={"io": "not planted"})


# --- Autovacuum's thresholds (autovacuum.c, relation_needs_vacanalyze) -----------------------

SETTINGS = {
    "autovacuum_vacuum_threshold": "50",
    "autovacuum_vacuum_scale_factor": "0.2",
    "autovacuum_vacuum_insert_threshold": "1000",
    "autovacuum_vacuum_insert_scale_factor": "0.1",
    "autovacuum_vacuum_max_threshold": "100000",
}


def threshold(*options: str, **changes: Any) -> tuple[float | None, float | None]:
    """Those for dead and inserted rows of a table of 10,000 rows with these options."""
    table: Json = {"rows": 10_000.0, "pages": 100, "frozen_pages": 0.0, "options": list(options)}
    found = thresholds(changes.pop("settings", SETTINGS), table | changes)
    return found["dead_rows_max"], found["inserted_rows_max"]


def test_a_threshold_is_a_number_and_a_share_of_the_rows() -> None:
    assert threshold() == (50 + 2_000, 1_000 + 1_000)
    assert threshold(rows=-1.0) == (50, 1_000), "never counted: as if it were empty"


def test_a_tables_own_options_go_before_the_servers() -> None:
    own = ("autovacuum_vacuum_scale_factor=0.01", "autovacuum_vacuum_insert_threshold=5")
    assert threshold(*own) == (50 + 100, 5 + 1_000)


def test_a_threshold_of_minus_one_for_inserts_is_off() -> None:
    assert threshold("autovacuum_vacuum_insert_threshold=-1") == (2_050, None)


def test_the_threshold_of_dead_rows_has_a_limit_from_18_on() -> None:
    assert threshold(rows=1e9)[0] == 100_000
    assert threshold("autovacuum_vacuum_max_threshold=-1", rows=1e9)[0] == 50 + 2e8


def test_frozen_pages_do_not_count_for_inserts_from_18_on() -> None:
    assert threshold(frozen_pages=75.0) == (2_050, 1_000 + 250)
    assert threshold(frozen_pages=None) == (2_050, 2_000), "before 18 nobody counts them"


def test_a_version_that_lacks_a_setting_has_no_such_threshold() -> None:
    older = {name: value for name, value in SETTINGS.items() if "insert" not in name}
    assert threshold(settings=older) == (2_050, None)


@pytest.mark.parametrize(
    ("query", "name", "table"),
    [
        ("autovacuum: VACUUM public.pi1", "automatic vacuum", "public.pi1"),
        ("autovacuum: VACUUM ANALYZE public.pi1", "automatic vacuum", "public.pi1"),
        ("autovacuum: ANALYZE public.pi1", "automatic analyze", "public.pi1"),
        ("autovacuum: VACUUM public.pi1 (to prevent wraparound)", "automatic vacuum", "public.pi1"),
    ],
)
def test_a_run_is_read_from_what_the_server_shows(query: str, name: str, table: str) -> None:
    assert run(query, 7) == Autovacuum(name=name, table=table, since_unix_ms=7)
