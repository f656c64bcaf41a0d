"""Headlines of which less is better: words, colours, sentences and means follow that."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from comparison_clients import served
from dbdyno.evidence import generator_limit, raw_files
from dbdyno.evidence.evidence import NO_JOB, Evidence
from dbdyno.findings.fairness import show as fairness
from dbdyno.findings.groups import cost_per_operation
from dbdyno.findings.step_pairs import plan as step_pairs
from dbdyno.findings.summary import show as summary
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.judge.conclusions import Conclusions
from dbdyno.model import Headline, StepComparison, StepRun
from dbdyno.model.metric.primary import called
from dbdyno.model.step_files import StepDone, StepRecord
from dbdyno.parts import known
from run_builder import NOISE, cell, changed, concluded, lifted, plan_of, run
from verdict_builder import said, so_far

BLOCKS = range(1, 7)


def timed(arm: str, seconds: Sequence[float], **changes: object) -> list[StepRun]:
    """Runs of a step whose headline is its time."""
    return [
        changed(
            run(arm, block, None, cpu=100.0), headline="seconds", metrics={"seconds": value},
            **changes,
        )
        for block, value in enumerate(seconds, start=1)
    ]  # fmt: skip


def judged(change: float, **changes: object) -> Conclusions:
    base = timed("base", [10.0] * len(NOISE), **changes)
    other = timed("other", lifted(change, rate=10.0), **changes)
    return concluded([*base, *other], plan_of(("base", "other")))


def only(found: Conclusions) -> StepComparison:
    (step,) = found.steps
    return step


def test_less_time_is_faster_and_more_is_slower() -> None:
    for change, word in ((-0.2, "faster"), (0.2, "slower")):
        verdict = cell(judged(change), "other").verdict
        assert verdict is not None
        assert (verdict.word, verdict.by) == (word, ("seconds",))


def test_the_column_of_verdicts_says_that_it_has_times() -> None:
    assert verdicts.headlines([only(judged(0.2))]) == "time"


def evidence_of(headline: Headline | None = None, **load: object) -> Evidence:
    """What a step left that did five operations."""
    step = StepRecord(workload="w", ordinal=1, name="index", measured=True, headline=headline)
    return Evidence(
        step=step, job=NO_JOB, load=replace(raw_files.load([]), **load),
        host=raw_files.WindowReadings(readings=()), before=None, after=None,
        done=StepDone(status="ok", work=5), failure=None, owners={}, histograms={}, services={},
    )  # fmt: skip


def test_a_window_in_which_no_operation_began_has_a_rate_of_0_unless_it_had_pauses() -> None:
    """One operation took the whole window; of the parts of one with pauses nothing is known."""
    begun_none = {"index": 0.0}
    assert evidence_of(connections=begun_none).in_window("index", 0.0) == 0.0
    assert evidence_of(connections=begun_none, pauses=((1, 2),)).in_window("index", 0.0) is None
    assert evidence_of().in_window("index", 7.0) == 7.0
    assert evidence_of().in_window("index", None) is None


def test_what_a_step_in_seconds_costs_is_by_its_statements_also_where_rows_are_its_work() -> None:
    headline = Headline(metric="seconds", role="index", count="rows", work_query="SELECT 5")
    evidence = evidence_of(headline)
    tick = raw_files.WindowTick(
        role="index", end_s=1.0, seconds=1.0, count=1, rows=0, errors=0, max_us=9, retries=0,
        skipped=0, over_limit=0, late_us_max=0, backlog=0, lag=None, queue=None, operations={},
    )  # fmt: skip
    assert evidence.counted(tick) == 1


def test_the_explanation_says_how_much_time() -> None:
    for change, words in ((-0.2, "faster, in 20."), (0.2, "slower, in 19.9 % more time")):
        explanation = cell(judged(change), "other").explanation
        assert explanation is not None
        assert explanation.text.startswith(words)


def test_colours_of_times_are_those_of_speeds() -> None:
    for change, tones in ((-0.3, ["red", "green"]), (0.3, ["green", "red"])):
        step = only(judged(change))
        absolute, relative = summary.tables([step], blocks=6, prefix="a", scheme="published")[:2]
        assert [row.cells[1].tone for row in absolute.rows] == tones
        assert relative.rows[1].cells[1].tone == ("blue" if change < 0 else "yellow")
        assert "Of seconds less is faster" in relative.note


def test_a_limited_generator_leaves_a_time_at_most() -> None:
    own, limited = timed("a", [1.0]), timed("b", [1.0], limited=("busy",))
    assert generator_limit.value_bound(own) == "exact"
    assert generator_limit.value_bound(limited) == "at most"
    assert generator_limit.ratio_bound(own, limited) == "at most"
    assert generator_limit.ratio_bound(limited, own) == "at least"
    assert generator_limit.ratio_bound(limited, limited) == "unknown"


def test_a_change_that_only_the_limit_could_make_smaller_stands() -> None:
    base = timed("base", [10.0] * 6)
    other = timed("other", lifted(-0.2, rate=10.0), limited=("busy",))
    faster = concluded([*base, *other], plan_of(("base", "other")))
    other = timed("other", lifted(0.2, rate=10.0), limited=("busy",))
    slower = concluded([*base, *other], plan_of(("base", "other")))
    words = [said(its.verdict) for one in (faster, slower) if (its := cell(one, "other")).verdict]
    assert words == ["faster", "generator at its limit"]


def test_times_and_rates_together_are_speeds() -> None:
    def both(arm: str, rate: float, seconds: float) -> list[StepRun]:
        runs = timed(arm, [seconds * (1 + one) for one in NOISE], step="two", ordinal=2)
        return [*runs, *(run(arm, block, rate * (1 - NOISE[block - 1])) for block in BLOCKS)]

    runs = [*both("base", 100.0, 10.0), *both("other", 121.0, 10.0)]
    found = concluded(runs, plan_of(("base", "other")))
    (mean,) = [one for one in found.overall if one.judgement.metric == "throughput"]
    assert mean.judgement.so_far.value == pytest.approx(1.1)
    runs = [*both("base", 100.0, 10.0), *both("other", 100.0, 10.0 / 1.21)]
    found = concluded(runs, plan_of(("base", "other")))
    (mean,) = [one for one in found.overall if one.judgement.metric == "throughput"]
    assert mean.judgement.so_far.value == pytest.approx(1.1)
    assert mean.judgement.word == "faster"


def test_what_cannot_be_told_is_said_the_right_way_round() -> None:
    found = judged(0.02)
    verdict = cell(found, "other").verdict
    assert verdict is not None
    (one,) = [one for one in verdict.judgements if one.metric == "seconds"]
    assert called(one.metric) == "time"
    undecided = replace(one, word="open", p=0.1, so_far=so_far(0.98, 0.93, 1.01))
    assert known.excluded([undecided]) == "no loss beyond 1.0 %"


def test_times_before_and_after_are_no_pair_of_rates() -> None:
    runs = [*timed("base", [1.0], step="read.pre"), *timed("base", [2.0], step="read", ordinal=2)]
    assert not step_pairs.derived(concluded(runs, plan_of(("base",))).steps).across
    rates = [run("base", 1, 1.0, step="read.pre"), run("base", 1, 2.0, step="read", ordinal=2)]
    assert step_pairs.derived(concluded(rates, plan_of(("base",))).steps).across


def test_operations_per_second_are_no_seconds() -> None:
    runs = [changed(one, metrics={"seconds": 4.0, "tps": 0.25}) for one in timed("base", [4.0])]
    (step,) = concluded(runs, plan_of(("base",))).steps
    (row,) = cost_per_operation.table([step], "a", "b").rows
    assert row.cells[-2].text == "0.250"


def test_a_step_in_seconds_shows_how_its_clients_were_served_whatever_they_do() -> None:
    fair = served("readers", (1.0, 1.0))
    (one,) = timed("base", [4.0], fairness=(fair,))
    assert fairness.of_headline(one) is fair
    assert fairness.of_headline(changed(one, headline="ips")) is None
