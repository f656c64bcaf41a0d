"""An application on two servers: its queries weighed by their calls, and those that fail."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec import structs

from dbdyno.findings.application import plan as application
from dbdyno.judge import arms_and_blocks, step_cells
from dbdyno.judge.step_cells import StepRow
from dbdyno.model import StepRun
from dbdyno.model.application import ApplicationResult
from dbdyno.model.plan_record import ApplicationRecord, PlanRecord, QueryRecord, WorkloadRecord
from run_builder import failed, plan_of, series

ARMS = ("base", "arm")
BLOCKS = 3


def plan(calls: Mapping[str, float], *, time_s: float | None = None) -> PlanRecord:
    """The plan of an application whose queries take a second each; `time_s`: of its source."""
    queries = tuple(
        QueryRecord(name=name, text=f"SELECT {name}", calls=count, time_s=1.0)
        for name, count in calls.items()
    )
    record = ApplicationRecord(queries=queries, time_s=time_s)
    return structs.replace(plan_of(ARMS), workloads=(WorkloadRecord(name="w", application=record),))


def query(name: str, ordinal: int, base: float, arm: float) -> list[StepRun]:
    """The runs of a query by the microseconds that a call takes, of time and of CPU."""
    return [
        run
        for of, cost in zip(ARMS, (base, arm), strict=True)
        for run in series(of, [1e6 / cost] * BLOCKS, cpu=cost, step=name, ordinal=ordinal)
    ]


def rows(runs: Sequence[StepRun], record: PlanRecord) -> tuple[StepRow, ...]:
    """The steps of the runs."""
    in_order = sorted(runs, key=lambda run: run.block)
    return step_cells.rows(record, arms_and_blocks.arms(record, None), in_order)


def result(runs: Sequence[StepRun], record: PlanRecord) -> ApplicationResult:
    """What is said of the other arm."""
    (only,) = application.results(rows(runs, record), record, ARMS)
    return only


def test_a_query_counts_as_often_as_it_is_called() -> None:
    record = plan({"often": 99, "rare": 1})
    runs = [*query("often", 1, 100, 110), *query("rare", 2, 100, 1000)]
    said = result(runs, record)
    assert said.cpu is not None and said.time is not None
    expected = (99 * 110 + 1000) / (100 * 100)
    assert said.cpu.value == pytest.approx(expected)
    assert said.time.value == pytest.approx(expected)
    assert said.cpu.blocks == BLOCKS
    assert (said.queries, said.covered) == (2, 1)


def test_what_is_covered_is_a_share_of_the_sources_time() -> None:
    record = plan({"a": 1, "b": 1}, time_s=4.0)
    assert result([*query("a", 1, 1, 1), *query("b", 2, 1, 1)], record).covered == 0.5


def test_a_query_that_fails_on_one_side_is_named_and_weighs_nothing() -> None:
    record = plan({"a": 1, "b": 1, "c": 1, "d": 1})
    runs = [
        *query("a", 1, 100, 100),
        *(run if run.arm == "base" else failed(run) for run in query("b", 2, 100, 100)),
        *(run if run.arm == "arm" else failed(run) for run in query("c", 3, 100, 100)),
        *map(failed, query("d", 4, 100, 100)),
    ]
    said = result(runs, record)
    assert (said.failed, said.base_failed, said.both_failed) == (("b",), ("c",), ("d",))
    assert said.cpu is not None and said.cpu.value == pytest.approx(1)
    assert said.covered == 0.25
    kept = application.without_common_failures(rows(runs, record), record)
    assert [row.step.step for row in kept] == ["a", "b", "c"]


def test_a_step_that_is_no_query_stays_where_it_fails_on_all_arms() -> None:
    record = plan({"a": 1})
    runs = [*query("a", 1, 100, 100), *map(failed, query("restore", 2, 100, 100))]
    kept = application.without_common_failures(rows(runs, record), record)
    assert [row.step.step for row in kept] == ["a", "restore"]


def test_a_query_that_rests_counts_by_the_blocks_that_it_has() -> None:
    record = plan({"a": 1, "b": 1})
    rested = [run for run in query("b", 2, 100, 300) if run.block < BLOCKS]
    said = result([*query("a", 1, 100, 100), *rested], record)
    assert said.cpu is not None and said.cpu.value == pytest.approx(2)
    assert said.cpu.blocks == BLOCKS - 1
    assert (said.queries, said.covered) == (2, 1)


def test_a_query_without_any_figure_is_in_no_sum() -> None:
    record = plan({"a": 1, "b": 1})
    lost = [run for run in query("b", 2, 100, 300) if run.arm == "base"]
    said = result([*query("a", 1, 100, 100), *lost], record)
    assert said.cpu is not None and said.cpu.value == pytest.approx(1)
    assert (said.queries, said.covered) == (1, 0.5)


def test_a_workload_without_queries_is_no_application() -> None:
    record = plan_of(ARMS)
    assert application.results(rows(query("a", 1, 1, 1), record), record, ARMS) == ()
