"""Idle work: what a waiting server does is charged to its arm, named, and warned of."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import report_parts
from comparison_builder import comparison
from dbdyno.analysis.step import assemble
from dbdyno.evidence import evidence, raw_files
from dbdyno.findings.owners.facts import OwnerFacts
from dbdyno.model import Cell, Json, OwnerCost, StepRun
from dbdyno.model.host_reading import HostReading
from dbdyno.model.step_run import IDLE
from dbdyno.report import page
from doubted import doubted
from run_builder import changed, owners
from test_analysis import change_lines, step_folder

S = 1_000_000_000
IDLE_METRICS = ("idle_cpu_per_op", "idle_write_kib_per_op", "idle_cpu_share")
Spent = Mapping[str, tuple[float, float]]
"""By owner: CPU in ms, and KiB written."""
PURGES = {
    "background:purge": (160, 0),
    "background:page cleaner": (40, 4_000),
    "exited": (20, 0),
    "standby:startup": (30, 96),
    "generator": (500, 0),
    "lab": (700, 0),
}
QUIET = {"background:page cleaner": (40, 0), "generator": (500, 0)}


SETTLING: Spent = {"role:query": (1_000, 8)}
"""What the arm's own load spends after each wait, before it counts."""


def with_waits(tmp_path: Path, spent: Spent, *, resumes: bool = True) -> StepRun:
    """A step of 20 s with 100,000 operations whose arm waited twice, 5 s each, and then spent this.

    Half of it in each wait.
    """
    each = {owner: (ms / 2, kib / 2) for owner, (ms, kib) in spent.items()}

    def later(reading: Json, kind: str, waits: int, settlings: int) -> Json:
        owners = added(added(reading["owners"], each, waits), SETTLING, settlings)
        mono_ns = reading["mono_ns"] + round((5 * waits + 0.2 * settlings) * S)
        return {**reading, "kind": kind, "mono_ns": mono_ns, "owners": owners}

    def paused(lines: list[Json]) -> list[Json]:
        start, opened, *seconds, close, end = lines
        made = [opened]
        for number, second in enumerate((seconds[4], seconds[9])):
            made.append(later(second, "pause", number, number))
            if resumes:
                made.append(later(second, "resume", number + 1, number))
            made.append(later(second, "settled", number + 1, number + 1))
        return [start, *made, later(close, "close", 2, 2), end]

    folder = step_folder(tmp_path, "qr100")
    change_lines(folder.path / "host.jsonl", paused)
    return assemble.step_run(folder)


def added(owners: Json, spent: Spent, times: int) -> Json:
    """The counters of owners that spent this so many times on top."""
    found = {owner: dict(counters) for owner, counters in owners.items()}
    for owner, (cpu_ms, kib) in spent.items():
        counters = found.setdefault(owner, {})
        counters["cpu_ns"] = counters.get("cpu_ns", 0) + times * cpu_ms * 1_000_000
        if owner != "exited":
            counters["write_bytes"] = (counters.get("write_bytes") or 0) + times * kib * 1024
    return found


def test_work_between_turns_is_charged_to_the_arm_by_operation(tmp_path: Path) -> None:
    """250 ms of CPU of its servers in 10 s of waiting, 4,096 KiB; settling counts for nobody."""
    found = with_waits(tmp_path, PURGES)
    assert {name: found.metrics[name] for name in IDLE_METRICS} == pytest.approx(
        {"idle_cpu_per_op": 2.5, "idle_write_kib_per_op": 4_096 / 100_000, "idle_cpu_share": 2.5}
    )


def test_idle_work_has_owners_and_is_no_part_of_the_windows_costs(tmp_path: Path) -> None:
    busy, quiet = (with_waits(tmp_path / name, spent) for name, spent in
                   (("busy", PURGES), ("quiet", {})))  # fmt: skip
    idle = {owner: cost for owner, cost in owners(busy).items() if owner.startswith(IDLE)}
    cpu_ms = {owner: cost.cpu_us / 1000 for owner, cost in idle.items() if cost.cpu_us}
    assert cpu_ms == pytest.approx(
        {
            "idle:background:purge": 160,
            "idle:background:page cleaner": 40,
            "idle:exited": 20,
            "idle:standby:startup": 30,
        }
    )
    assert idle["idle:background:page cleaner"].write_bytes == 4_000 * 1024
    for name in ("cpu_per_op", "background_cpu_per_op", "whole_server_cpu_per_op", "cpupq"):
        assert busy.metrics[name] == pytest.approx(quiet.metrics[name])


def test_more_than_2_percent_of_a_core_is_warned_of_by_share_and_kind(tmp_path: Path) -> None:
    (warning,) = [one for one in doubted(with_waits(tmp_path, PURGES)) if "idle work" in one]
    assert warning.startswith(
        "idle work: between its turns the server used 2.5 % of a core in other arms' time (purge"
        " 1.6 %, page cleaner 0.4 % and standby:startup 0.3 %), which slows them"
    )


def test_a_quiet_arm_has_no_charge_worth_a_warning(tmp_path: Path) -> None:
    found = with_waits(tmp_path, QUIET)
    assert found.metrics["idle_cpu_share"] == pytest.approx(0.4)
    assert [one for one in doubted(found) if "idle work" in one] == []


@pytest.mark.parametrize("turns", [False, True])
def test_without_turns_and_in_older_results_idle_work_is_not_known(tmp_path: Path, turns: bool):
    found = (
        with_waits(tmp_path, PURGES, resumes=False)
        if turns
        else assemble.step_run(step_folder(tmp_path, "qr100"))
    )
    assert {found.metrics[name] for name in IDLE_METRICS} == {None}
    assert not [owner for owner in owners(found) if owner.startswith(IDLE)]


def test_a_wait_that_never_ends_counts_for_nothing() -> None:
    moments = ("open", "pause", "resume", "settled", "pause")
    readings = [HostReading(moment=moment, mono_ns=at * S) for at, moment in enumerate(moments)]
    host = raw_files.host(readings)
    assert [reading.moment for reading in host.waited] == ["pause", "resume"]
    assert evidence.owners(host) == {}


def test_the_table_of_costs_has_the_waiting_server_apart_from_the_machines_sum() -> None:
    made = comparison(blocks=2)
    step = made.steps[0]
    idle = tuple(
        OwnerCost(owner=f"idle:background:{kind}", cpu_us=cpu_us, write_bytes=0.0)
        for kind, cpu_us in (("purge", 6e6), ("monitor", 0.0))
    )
    cells = tuple(
        replace(
            cell,
            runs=tuple(changed(run, costs=(*run.of(OwnerFacts).costs, *idle)) for run in cell.runs),
        )
        for cell in step.cells
    )

    def rows(cells: tuple[Cell, ...]) -> list[list[str]]:
        shown = page.make(replace(made, steps=(replace(step, cells=cells),)))
        (costs,) = report_parts.tables(report_parts.steps(shown)[0], "cost")
        return [[row.group, *(cell.text for cell in row.cells)] for row in costs.rows]

    without, with_idle = rows(step.cells), rows(cells)
    assert with_idle[: len(without)] == without, "the machine's sum is as before"
    waiting = with_idle[len(without) :]
    assert [row[1] for row in waiting] == ["purge", "the waiting server's sum"]
    assert {row[0] for row in waiting} == {"The waiting server, between its turns"}
