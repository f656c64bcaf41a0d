"""Whose CPU is an operation's: its sessions' and their helpers', and what older results tell.

The example step qr100 has 5,000 queries/s at 100 us of CPU each, beside inserts and deletes; 10,000
us of CPU a second are 2 us of a query.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.model import Comparison, StepRun
from dbdyno.store import Results
from doubted import doubted
from result_builder import build, plant
from result_planted import Planted
from run_builder import cell, concluded, lifted, plan_of, run, series
from test_analysis import change, change_lines, derived, step_folder

PRIMARY, SESSIONS, BACKGROUND = "cpu_per_op", "server_cpu_per_op", "background_cpu_per_op"
ALL_OWNERS = "CPU of the whole server changed otherwise"


def found(tmp_path: Path, **changes: Any) -> StepRun:
    """The example step with other numbers."""
    return derived(tmp_path, "qr100", plant("qr100", **changes))


def compared(tmp_path: Path, by_arm: Mapping[str, Mapping[str, Any]]) -> Comparison:
    """The example step of two arms with these numbers, in three blocks."""

    def planted(arm: str, step: str, block: int) -> Planted:
        return plant(step, **by_arm.get(f"{arm} {block}", by_arm.get(arm, {})))

    return compare.load(build(tmp_path, steps=("qr100",), planted=planted))


def verdict_of(comparison: Comparison) -> Mapping[str, float]:
    """The primary metrics of the only step, with their ratios."""
    judged = comparison.steps[0].cells[1].verdict
    assert judged is not None
    return {one.metric: pytest.approx(one.so_far.value) for one in judged.judgements}


# --- What is an operation's own --------------------------------------------------------------


def test_parallel_workers_count_with_the_role_that_led_them_and_once(tmp_path: Path) -> None:
    its = {"parallel_cpu_us_per_s": {"query": 10_000.0, "insert": 40_000.0}}
    stray = {"background_cpu_us_per_s": {"walwriter": 1_000.0, "parallel worker": 5_000.0}}
    metrics = found(tmp_path, **its, **stray).metrics
    assert metrics[PRIMARY] == pytest.approx(102.0)
    assert metrics[SESSIONS] == pytest.approx(100.0)
    assert metrics["parallel_cpu_per_op"] == pytest.approx(11.0), "those of all roles"
    assert metrics[BACKGROUND] == pytest.approx(1.2 + 0.1), "what nobody led, and what ended"


def test_parallel_workers_of_a_role_are_no_part_of_its_time(tmp_path: Path) -> None:
    metrics = found(tmp_path, parallel_cpu_us_per_s={"query": 10_000.0}).metrics
    assert metrics["connection_us_per_op"] == pytest.approx(400.0)
    assert metrics["unaccounted_us_per_op"] == pytest.approx(300.0)


def test_io_workers_count_with_the_operations_and_not_with_the_background(tmp_path: Path) -> None:
    kinds = {"walwriter": 1_000.0, "io worker": 50_000.0}
    metrics = found(tmp_path, background_cpu_us_per_s=kinds).metrics
    assert metrics[PRIMARY] == pytest.approx(110.0)
    assert metrics[BACKGROUND] == pytest.approx(0.2 + 0.1)
    assert metrics["whole_server_cpu_per_op"] == pytest.approx(100 + 1.2 + 0.02 + 10.2 + 0.1)


def test_io_workers_of_several_roles_are_counted_whole_and_it_is_said(tmp_path: Path) -> None:
    kinds = {"walwriter": 1_000.0, "io worker": 50_000.0}
    assert doubted(found(tmp_path, background_cpu_us_per_s=kinds)) == (
        "helpers of several roles: 9.1 % of the CPU per operation of `query` is of io worker, "
        "counted in full, although `insert` and `delete` may share it",
    )
    few = {**kinds, "io worker": 2_000.0}
    assert doubted(found(tmp_path / "few", background_cpu_us_per_s=few)) == ()
    alone = plant("qr100", background_cpu_us_per_s=kinds, insert_rows_per_s=0.0, deletes=False)
    folder = step_folder(tmp_path / "alone", "qr100", alone)
    change(folder.path / "step.json", lambda step: step.update(sla=None))
    assert doubted(assemble.step_run(folder)) == ()


def test_what_ended_unseen_is_named_from_one_percent_of_the_servers_cpu_on(tmp_path: Path) -> None:
    run = found(tmp_path, exited_cpu_us_per_s=10_000.0)
    assert doubted(run) == (
        "unidentified processes: 1.9 % of the server's CPU is of processes that ended before a "
        "reading identified their owner; CPU per operation excludes it",
    )
    assert run.metrics[PRIMARY] == pytest.approx(100.0)
    assert doubted(found(tmp_path / "less", exited_cpu_us_per_s=5_000.0)) == ()


def test_innodbs_helpers_are_those_that_read_and_build_and_no_others(tmp_path: Path) -> None:
    helpers = {"io read": 10_000.0, "parallel read": 20_000.0, "index build": 5_000.0}
    others = {"page cleaner": 4_000.0, "purge": 1_000.0, "log writer": 2_000.0, "io write": 3_000.0}
    folder = step_folder(
        tmp_path, "qr100", plant("qr100", background_cpu_us_per_s={**helpers, **others})
    )
    change(folder.path / "job.json", lambda job: job.update(engine="mysql"))
    run = assemble.step_run(folder)
    assert run.metrics[PRIMARY] == pytest.approx(100.0 + 7.0)
    assert run.metrics[BACKGROUND] == pytest.approx(2.0 + 0.1)
    assert run.metrics["io_thread_cpu_per_op"] == pytest.approx(2.6)
    (said,) = [line for line in doubted(run) if line.startswith("helpers of several roles")]
    assert "is of io read, parallel read and index build, counted in full" in said


# --- Older results ---------------------------------------------------------------------------


def test_work_that_moves_to_helpers_is_no_gain(tmp_path: Path) -> None:
    costs = {"role_cpu_us": {"insert": 20.0, "delete": 10.0, "query": 70.0}}
    moved = {**costs, "background_cpu_us_per_s": {"io worker": 155_000.0}}
    newer = compared(tmp_path, {"pg17": {"background_cpu_us_per_s": {}}, "pg18": moved})
    cell = newer.steps[0].cells[1]
    assert cell.estimates[SESSIONS].value == pytest.approx(-30.0)
    assert verdict_of(newer) == {"qps": 1.0, PRIMARY: 1.01}


def test_a_run_that_failed_does_not_make_the_others_older() -> None:
    new = {"metrics": {PRIMARY: 24.0, SESSIONS: 20.0}}
    runs = [*series("base", [1_000.0] * 3, **new), *series("x", lifted(0.0)[:2], **new)]
    runs.append(run("x", 3, None, status="failed", reason="planted"))
    said = cell(concluded(runs, plan_of(("base", "x"))), "x").verdict
    assert said is not None
    assert [one.metric for one in said.judgements] == ["qps", PRIMARY]


# --- All owners ------------------------------------------------------------------------------


@pytest.mark.long
def test_a_server_that_spends_more_in_all_is_said_beside_less_cpu_per_operation(tmp_path: Path):
    costs = {"role_cpu_us": {"insert": 20.0, "delete": 10.0, "query": 95.0}}
    kinds = {"checkpointer": 54_000.0, "walwriter": 1_000.0}
    one = compared(tmp_path, {"pg18": {**costs, "background_cpu_us_per_s": kinds}})
    (said,) = [line for line in doubted(one) if line.startswith(ALL_OWNERS)]
    assert said == (
        f"{ALL_OWNERS}: 5.0 % less CPU per operation; including the server's "
        "background, other roles and ended processes 4.9 % more"
    )
    same = compared(tmp_path / "same", {"pg18": costs})
    assert not any(ALL_OWNERS in line for line in doubted(same))
    near = {**kinds, "checkpointer": 16_000.0}  # +0.4 % beside −2 %: within the margin of 3 %
    costs = {"role_cpu_us": {"insert": 20.0, "delete": 10.0, "query": 98.0}}
    near_one = compared(tmp_path / "near", {"pg18": {**costs, "background_cpu_us_per_s": near}})
    assert not any(ALL_OWNERS in line for line in doubted(near_one))


def test_the_results_folder_says_by_its_readings_what_it_has(tmp_path: Path) -> None:
    """No guess by version: the key stands in every line of host.jsonl."""
    folder = build(tmp_path, steps=("qr100",), blocks=1)
    (one, *_) = Results.open(folder).blocks()[0].runs()
    assert all(reading.led for reading in one.steps()[0].host())


def test_readings_of_an_older_dyno_are_not_taken_and_a_doubt_says_so(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    change_lines(
        folder.path / "host.jsonl", lambda lines: [line | {"led": False} for line in lines]
    )
    run = assemble.step_run(folder)
    assert run.metrics[PRIMARY] is None and run.metrics["qps"]
    assert any("host.jsonl: an older dyno wrote it" in line for line in doubted(run)), doubted(run)
