"""Which plans sessions chose for a prepared query, and what a change of such a query is worth."""

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import engine, workload
from dbdyno.evidence.plan_choice import mean, shares
from dbdyno.model.events import SessionEnd
from dbdyno.model.job import Job
from dbdyno.model.verdict import Verdict
from dbdyno.plan.counted_step import counted
from run_builder import concluded, plan_of, run
from test_own_queries import entry, folder_of

PREPARED = 'protocol = "prepared"\nvalues = "values/a.jsonl"'


def job(tmp_path: Path, *, version: tuple[int, ...] = (18,), sql: str = "postgres") -> Job:
    """The job of a prepared query."""
    app = folder_of(tmp_path, entry("a", more=PREPARED), {"a": "SELECT * FROM t WHERE id = $1"})
    (step,) = workload.expand(workload.load(str(app)), {}, sql, version=version)
    return step.job


def ended(*rows: list[str | None]) -> SessionEnd:
    """The end of a session of the query."""
    return SessionEnd(mono_ns=1, role="query", client=0, connection=0, rows=list(rows))


def test_a_session_tells_its_calls_by_either_plan_without_those_before_the_turn(tmp_path: Path):
    ends = [ended(["100", "20"]), ended(["0", "120"]), ended(["50", "70"]), ended(["15", "5"])]
    of = job(tmp_path)
    assert shares(ends, of) == [1.0, 0.0, 0.5]
    assert mean(ends, of) == 0.5
    assert mean([], of) is None


def test_before_the_view_counts_plans_a_session_tells_them_by_their_lines(tmp_path: Path) -> None:
    old = job(tmp_path, version=(13,))
    lines: list[list[str | None]] = [["Index Scan on t"], ["  Index Cond: (id = $1)"]]
    generic = ended(*lines, [None], *lines)
    custom = ended(["Result"], ["  One-Time Filter: false"], [None], *lines)
    unknown = ended(*lines, [None])  # before 12 the server refuses the setting
    assert shares([generic, custom, unknown, ended()], old) == [1.0, 0.0]


def test_sessions_begin_anew_where_the_server_chooses_and_last_elsewhere(tmp_path: Path) -> None:
    renewed = job(tmp_path / "new").roles[0].renew
    assert renewed is not None
    assert "generic_plans" in renewed.ask
    before = job(tmp_path / "old", version=(13,)).roles[0].renew
    assert before is not None
    assert before.ask.count("EXPLAIN EXECUTE dyno_prepared(NULL)") == 2
    assert job(tmp_path / "mysql", version=(8,), sql="mysql").roles[0].renew is None
    for number, (text, more) in enumerate(
        [("SELECT 1", PREPARED), ("SELECT $1", PREPARED.replace("prepared", "extended"))]
    ):
        app = folder_of(tmp_path / str(number), entry("a", more=more), {"a": text})
        (step,) = workload.expand(workload.load(str(app)), {}, "postgres", version=(18,))
        assert step.job.roles[0].renew is None


def test_a_counted_session_lasts_and_has_no_limit_of_the_source(tmp_path: Path) -> None:
    app = folder_of(tmp_path, entry("a", more=PREPARED), {"a": "SELECT $1"})
    (step,) = workload.expand(workload.load(str(app)), {}, "postgres", version=(18,))
    (role,) = counted(step, (5, 5), engine.of("postgres").counting, 180000).job.roles
    assert role.renew is None
    assert "statement_timeout" in role.session[-1]


def verdict(base: list[float], arm: list[float], factor: float) -> Verdict:
    """Of blocks whose sessions ran so many of their calls by the generic plan."""
    runs = [
        replace(made, metrics={**made.metrics, "generic_plans": share})
        for block, pair in enumerate(zip(base, arm, strict=True), start=1)
        for name, share, rate in zip(("base", "arm"), pair, (100.0, 100.0 * factor), strict=True)
        for made in [run(name, block, rate + block * 1e-3)]
    ]
    (step,) = concluded(runs, plan_of(["base", "arm"])).steps
    found = step.cells[1].verdict
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("base", "arm"),
    [([0.5, 0.6, 0.4], [1.0] * 3), ([1.0] * 3, [1.0, 1.0, 0.9]), ([0.0, 1.0, 0.0], [0.0] * 3)],
)
def test_a_change_of_what_sessions_plan_differently_has_no_word(
    base: list[float], arm: list[float]
) -> None:
    told = verdict(base, arm, 0.5)
    assert (told.word, told.withheld) == ("open", True)
    assert "unstable" in told.outcome
    assert "% on arm" in told.outcome
    assert "% on base" in told.outcome
    assert verdict(base, arm, 1.0).word == "same"


@pytest.mark.parametrize(("base", "arm"), [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
def test_a_change_by_a_choice_that_all_sessions_make_has_its_word(base: float, arm: float) -> None:
    assert verdict([base] * 3, [arm] * 3, 0.5).word == "slower"
