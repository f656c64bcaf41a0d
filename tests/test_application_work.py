"""The counted work of an application: its queries' instructions, weighed by their calls."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from comparison_builder import comparison
from dbdyno.findings.application import plan as application
from dbdyno.findings.application import show as section
from dbdyno.model import Comparison, Ratio
from dbdyno.model.application import ApplicationResult
from dbdyno.model.own_query import OwnQuery
from dbdyno.model.plan_record import ApplicationRecord, PlanRecord, QueryRecord, WorkloadRecord
from dbdyno.model.size import Capacity
from dbdyno.model.work import Amounts, WorkChange, WorkComparison, WorkWord
from dbdyno.plan.race import Race, RaceArm, text_of
from run_builder import plan_of

ARMS = ("base", "arm")
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


def result() -> ApplicationResult:
    """What is said of an arm that was counted alone."""
    (only,) = application.results((), PLAN, ARMS, application.QueryFacts(counts=COUNTED))
    return only


def test_instructions_are_weighed_by_calls() -> None:
    work = result().work
    assert work is not None
    assert work.instructions.value == pytest.approx((99 * 1030 + 500_000) / (99 * 1000 + 1_000_000))
    assert (work.queries, work.covered) == (2, 0.9)
    assert (work.more, work.less) == (("often",), ("rare",))


def test_errors_of_queries_add_up_by_their_shares_of_the_work() -> None:
    work = result().work
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
    answer = section.ApplicationAnswer(made, result())
    assert answer.sentence == "Counted alone: the work of 2 queries on arm stands below."
    (together,) = answer.sums()
    assert together.text == (
        "instructions of 2 queries −45.23 % [−45.27, −45.18], 1 does more work, 1 does less work"
    )
    (counted,) = (each for each in result().stages if each.stage == "counted")
    assert (counted.share, counted.queries) == (pytest.approx(0.9), 2)
    gaps = [(gap.reason, gap.queries) for gap in result().gaps if gap.stage == "counted"]
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
