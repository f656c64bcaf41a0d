"""Where the time of an operation goes, against sums made by hand.

The example step qr100 has two connections that query, 20 s, 5,000 queries/s in all at 100 us of CPU
each: 400 us of connection time a query, 300 of them off the core.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno.evidence import evidence
from dbdyno.evidence.evidence import Evidence
from dbdyno.findings.owners import metrics as owners
from dbdyno.findings.server_counters import metrics as server_counters
from dbdyno.findings.waits import metrics
from dbdyno.findings.waits.facts import Sampling, SessionLoad, WaitFacts
from dbdyno.model import Json
from result_planted import plant
from test_analysis import change, change_lines, step_folder

PER_SESSION_US = 200.0
"""A session throughout the window is 20 s by 100,000 queries."""


def load(kind: str, event: str, sessions: float, owner: str = "role:query") -> SessionLoad:
    """What sessions of an owner were seen to do."""
    return SessionLoad(owner=owner, kind=kind, event=event, statement="query", sessions=sessions)


def waits(*loads: SessionLoad, idle: float = 0.0) -> WaitFacts:
    """Samples of a window."""
    return WaitFacts(
        waits=(
            Sampling(
                samples=400,
                asked_s=0.05,
                interval_s=0.05,
                interval_s_max=0.06,
                sample_us=300.0,
                lab_cpu_us=1.0,
                loads=(*loads, SessionLoad(owner="role:query", kind="idle", sessions=idle)),
            ),
        )
    )


def found(tmp_path: Path, run_delay_ns: int | None = None) -> Evidence:
    """The example step; `run_delay_ns` passes in each second for the processes that query."""
    folder = step_folder(tmp_path, "qr100")

    def delayed(lines: list[Json]) -> list[Json]:
        for line in lines:
            if run_delay_ns is not None:
                seconds = line["mono_ns"] / 1e9
                line["owners"]["role:query"]["run_delay_ns"] = round(run_delay_ns * seconds)
        return lines

    change_lines(folder.path / "host.jsonl", delayed)
    return evidence.read(folder)


def test_what_is_known_and_the_rest_add_up_to_the_time_of_a_connection(tmp_path: Path) -> None:
    seen = waits(
        load("CPU", "", 0.45),
        load("IO", "DataFileRead", 0.25),
        load("LWLock", "WALWrite", 0.05),
        load("Lock", "tuple", 0.02),
        load("IPC", "ProcArrayGroupUpdate", 0.01),
        load("BufferPin", "BufferPin", 0.005),
        load("Client", "ClientWrite", 0.1),
        load("idle in transaction", "", 0.2),
        load("IO", "DataFileRead", 9.0, owner="role:insert"),
        idle=0.6,
    )
    # 100,000 us of run delay a second by 5,000 queries are 20 us
    parts = metrics.ledger(found(tmp_path, run_delay_ns=100_000_000), seen)
    expected = {
        "connection_us_per_op": 400.0,
        "runnable_us_per_op": 20.0,
        "wait_io_us_per_op": 0.25 * PER_SESSION_US,
        "wait_lwlock_us_per_op": 0.05 * PER_SESSION_US,
        "wait_lock_us_per_op": 0.02 * PER_SESSION_US,
        "wait_ipc_us_per_op": 0.01 * PER_SESSION_US,
        "wait_other_us_per_op": 0.005 * PER_SESSION_US,
        "client_us_per_op": 0.9 * PER_SESSION_US,
    }
    asleep = 400 - 100 - 20
    assert dict(parts) == pytest.approx(
        expected | {"unaccounted_us_per_op": asleep - 1.235 * PER_SESSION_US}
    )


def test_waits_that_were_seen_for_longer_than_sessions_slept_share_the_time_asleep(tmp_path: Path):
    """Of two sessions, 1.4 slept by the counters and 2 by the samples: 280 us are 400 us seen."""
    seen = waits(load("IO", "DataFileRead", 0.5), idle=1.5)
    parts = metrics.ledger(found(tmp_path, run_delay_ns=100_000_000), seen)
    assert parts["wait_io_us_per_op"] == pytest.approx(70.0)
    assert parts["client_us_per_op"] == pytest.approx(210.0)
    assert parts["unaccounted_us_per_op"] == 0.0


def test_without_samples_what_is_off_the_core_is_not_accounted_for(tmp_path: Path) -> None:
    parts = metrics.ledger(found(tmp_path, run_delay_ns=100_000_000), WaitFacts())
    assert parts["wait_io_us_per_op"] is None
    assert parts["client_us_per_op"] is None
    assert parts["unaccounted_us_per_op"] == pytest.approx(280.0)


def test_older_results_have_no_run_delay(tmp_path: Path) -> None:
    parts = metrics.ledger(found(tmp_path), WaitFacts())
    assert parts["runnable_us_per_op"] is None
    assert parts["unaccounted_us_per_op"] == pytest.approx(300.0)


def test_a_step_without_a_headline_has_no_ledger(tmp_path: Path) -> None:
    evidence = found(tmp_path)
    evidence = replace(evidence, step=structs.replace(evidence.step, headline=None))
    parts = metrics.ledger(evidence, waits(idle=1.0))
    assert set(parts.values()) == {None}


def test_both_classes_of_lwlocks_of_9_6_are_lwlocks() -> None:
    for kind in ("LWLock", "LWLockNamed", "LWLockTranche"):
        assert metrics.part_of(kind) == "wait_lwlock"


def test_pages_are_those_of_the_steps_tables_and_of_their_indexes(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100", plant("qr100"))

    def counted(times: int) -> Json:
        grown = {"heap_blks_hit": 200_000, "idx_blks_hit": 300_000, "heap_blks_read": 5_000}
        return {key: value * times for key, value in grown.items()} | {"idx_blks_read": None}

    change(folder.path / "before.json", lambda one: one.update(tables={"pi1": counted(3)}))
    change(
        folder.path / "after.json",
        lambda one: one.update(tables={"pi1": counted(4), "pi2": counted(1)}),
    )
    parts = server_counters.metrics(evidence.read(folder))
    assert parts["buffers_hit_per_op"] == pytest.approx(2 * 5.0), "a new table began at 0"
    assert parts["buffers_read_per_op"] == pytest.approx(2 * 0.05)


def test_counters_that_were_set_back_say_nothing(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    for name, value in (("before.json", 10), ("after.json", 5)):
        tables = {"pi1": {"heap_blks_hit": value}}
        change(folder.path / name, lambda one, its=tables: one.update(tables=its))
    assert server_counters.metrics(evidence.read(folder))["buffers_hit_per_op"] is None


def test_bytes_are_those_of_the_roles_own_processes(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def moved(lines: list[Json]) -> list[Json]:
        for line in lines:
            seconds = round(line["mono_ns"] / 1e9)
            line["owners"]["role:query"] |= {"read_bytes": seconds * 5_000 * 2_048}
            line["owners"]["role:insert"] |= {"write_bytes": seconds << 30}
        return lines

    change_lines(folder.path / "host.jsonl", moved)
    parts = owners.metrics(evidence.read(folder))
    assert parts["role_read_kib_per_op"] == pytest.approx(2.0)
    assert parts["role_write_kib_per_op"] == 0.0
