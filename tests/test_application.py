"""An application on two servers: its queries weighed by their calls, and those that fail."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from comparison_builder import comparison
from dbdyno.findings.application import plan as application
from dbdyno.findings.application import show as section
from dbdyno.judge import arms_and_blocks, step_cells
from dbdyno.judge.step_cells import StepRow
from dbdyno.model import Comparison, Ratio, StepRun
from dbdyno.model.application import ApplicationResult
from dbdyno.model.own_query import OwnQuery
from dbdyno.model.plan_record import ApplicationRecord, PlanRecord, QueryRecord, WorkloadRecord
from dbdyno.model.size import Capacity
from dbdyno.model.work import Amounts, WorkChange, WorkComparison, WorkWord
from dbdyno.plan.race import Race, RaceArm, text_of
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


# The counted work of an application: its queries' instructions, weighed by their calls.


HOST = Capacity(cores=4, memory_bytes=8 << 30, free_disk_bytes=50 << 30)


def amounts(instructions: float) -> Amounts:
    """The work of an operation."""
    return Amounts(instructions=instructions, atomics=0.0, system_calls=0.0)


def change(name: str, base: float, arm: float, word: WorkWord) -> WorkChange:
    """A query's counts, each known to a thousandth."""
    ratio = arm / base
    return WorkChange(
        workload="w",
        step=name,
        arm="arm",
        word=word,
        of_base=amounts(base),
        of_arm=amounts(arm),
        ratio=Ratio(value=ratio, low=ratio / 1.001, high=ratio * 1.001, blocks=1),
    )


def counts(*changes: WorkChange) -> WorkComparison:
    """The counts of a result."""
    return WorkComparison(
        base="base",
        arms=ARMS,
        repeats=1,
        tool="valgrind",
        left_out=(),
        scatter=0.0,
        scatter_of_writes=0.0,
        changes=changes,
    )


QUERIES = tuple(
    QueryRecord(name=name, text="SELECT 1", calls=calls, time_s=time_s)
    for name, calls, time_s in (("often", 99.0, 6.0), ("rare", 1.0, 3.0), ("uncounted", 5.0, 1.0))
)
PLAN: PlanRecord = structs.replace(
    plan_of(ARMS),
    workloads=(WorkloadRecord(name="w", application=ApplicationRecord(queries=QUERIES)),),
)
COUNTED = counts(
    change("often", 1000, 1030, "more"),
    change("rare", 1_000_000, 500_000, "less"),
    WorkChange(workload="w", step="uncounted", arm="arm", word="failed", reason="no"),
    WorkChange(workload="w", step="restore", arm="arm", word="failed", reason="no"),
)


def work_result() -> ApplicationResult:
    """What is said of an arm that was counted alone."""
    (only,) = application.results((), PLAN, ARMS, application.QueryFacts(counts=COUNTED))
    return only


def test_instructions_are_weighed_by_calls() -> None:
    work = work_result().work
    assert work is not None
    assert work.instructions.value == pytest.approx((99 * 1030 + 500_000) / (99 * 1000 + 1_000_000))
    assert (work.queries, work.covered) == (2, 0.9)
    assert (work.more, work.less) == (("often",), ("rare",))


def test_errors_of_queries_add_up_by_their_shares_of_the_work() -> None:
    work = work_result().work
    assert work is not None and work.instructions.high is not None
    share = 99 * 1030 / (99 * 1030 + 500_000)
    half = 0.0009995 * (share**2 + (1 - share) ** 2) ** 0.5
    assert work.instructions.high / work.instructions.value == pytest.approx(1 + half, rel=1e-5)


def test_an_application_without_counts_has_no_work() -> None:
    assert (
        application.results((), plan_of(ARMS), ARMS, application.QueryFacts(counts=COUNTED)) == ()
    )
    (uncounted,) = application.results((), PLAN, ARMS, application.QueryFacts(counts=counts()))
    assert uncounted.work is None


def test_counts_alone_are_told_with_what_they_cover() -> None:
    made: Comparison = replace(comparison(troubles=False), plan=PLAN, steps=(), base="base")
    answer = section.ApplicationAnswer(made, work_result())
    assert answer.sentence == "Counted alone: the work of 2 queries on arm stands below."
    (together,) = answer.sums()
    assert together.text == (
        "instructions of 2 queries −45.23 % [−45.27, −45.18], 1 does more work, 1 does less work"
    )
    (counted,) = (each for each in work_result().stages if each.stage == "counted")
    assert (counted.share, counted.queries) == (pytest.approx(0.9), 2)
    gaps = [(gap.reason, gap.queries) for gap in work_result().gaps if gap.stage == "counted"]
    assert gaps == [("fails while it is counted", 1)]


# --- Which queries a race counts --------------------------------------------------------------


def own(name: str, time_s: float, calls: float = 100.0) -> OwnQuery:
    """A query of an application."""
    return OwnQuery(name=name, text="SELECT 1", calls=calls, time_s=time_s)


def counted_names(tmp_path: Path, *queries: OwnQuery, minutes: float = 10.0) -> list[str]:
    """The queries that a race of their folder counts beside time."""
    app = tmp_path / "app"
    app.mkdir(exist_ok=True)
    lines = []
    for query in queries:
        (app / f"{query.name}.sql").write_text(query.text)
        lines.append(
            f'[queries.{query.name}]\ntext = "{query.name}.sql"\n'
            f"calls = {query.calls}\ntime_s = {query.time_s}\n"
        )
    (app / "workload.toml").write_text("".join(lines))
    (tmp_path / "app.dump").write_bytes(b"PGDMP")
    arms = tuple(RaceArm(name=name, engine="postgres", origin={"version": "18"}) for name in ARMS)
    wanted = Race(
        command="dyno race",
        arms=arms,
        minutes=minutes,
        workload=str(app),
        restore=str(tmp_path / "app.dump"),
        counter=True,
    )
    text = text_of(wanted, tmp_path / "race.toml", HOST)
    (line,) = [line for line in text.splitlines() if line.startswith("steps = [")] or [""]
    return [name.strip('" ') for name in line[9:-1].split(",") if name]


def test_a_race_counts_the_queries_that_cost_most_and_fit(tmp_path: Path) -> None:
    queries = [own(f"q{number}", 100.0 - number, calls=1e6) for number in range(40)]
    counted = counted_names(tmp_path, *queries)
    assert counted == [f"q{number}" for number in range(len(counted))]
    assert 3 <= len(counted) <= 15
    assert len(counted_names(tmp_path, *queries, minutes=30.0)) > len(counted)


def test_slow_queries_and_those_without_weight_are_not_counted(tmp_path: Path) -> None:
    queries = [own("slow", 1000.0), own("quick", 999.0, calls=1e6), own("tiny", 0.5, calls=1e6)]
    assert counted_names(tmp_path, *queries) == ["quick"]


def test_a_short_race_counts_nothing(tmp_path: Path) -> None:
    assert counted_names(tmp_path, own("q", 1.0, calls=1e6), minutes=1.0) == []
