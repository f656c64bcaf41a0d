"""Where the time of an operation goes, what sessions do and why: the same in every format."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

import report_parts
from comparison_builder import comparison
from comparison_clients import served
from comparison_waits import LOAD, SAMPLES, sampled
from dbdyno.evidence import generator_limit, raw_files
from dbdyno.evidence.evidence import NO_JOB, Evidence
from dbdyno.findings.fairness import show as fairness
from dbdyno.findings.groups import cost_per_operation
from dbdyno.findings.step_pairs import plan as step_pairs
from dbdyno.findings.summary import show as summary
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.findings.waits import show as waits
from dbdyno.findings.waits.facts import SessionLoad, WaitFacts, kind_place
from dbdyno.judge.conclusions import Conclusions
from dbdyno.model import Comparison, Headline, StepComparison, StepRun
from dbdyno.model.metric.primary import SAMPLED, called
from dbdyno.model.step_files import StepDone, StepRecord
from dbdyno.parts import known
from dbdyno.parts.part import Group, Page
from dbdyno.parts.table import Row, Table
from dbdyno.report import chart, page
from dbdyno.report.chart import layers, style
from dbdyno.report.render import picture
from run_builder import NOISE, cell, changed, concluded, lifted, plan_of, run
from verdict_builder import said, so_far

STEP = 4  # of the sections: qr100


@pytest.fixture(scope="module")
def built() -> Comparison:
    return sampled(comparison(blocks=2))


@pytest.fixture(scope="module")
def shown(built: Comparison) -> Page:
    made = page.make(built)
    return report_parts.with_steps(made, report_parts.steps(made)[STEP])


def section(shown: Page) -> Group:
    return report_parts.steps(shown)[0]


def step(built: Comparison) -> StepComparison:
    return next(one for one in built.steps if one.step == "qr100")


def row(table: Table, name: str) -> Row:
    return next(one for one in table.rows if one.cells[0].text == name)


def texts(table: Table, name: str) -> list[str]:
    return [cell.text for cell in row(table, name).cells[1:]]


def figure(text: str) -> float:
    return float(text.replace("\u2212", "-").replace(",", "")) if text else 0.0


# --- The ledger ------------------------------------------------------------------------------


def test_the_rows_of_the_ledger_add_up_to_its_last(shown: Page) -> None:
    table = report_parts.tables(section(shown), "time")[0]
    *parts, whole = [[figure(cell.text) for cell in one.cells[1:]] for one in table.rows]
    for column, total in zip(zip(*parts, strict=True), whole, strict=True):
        assert sum(column) == pytest.approx(total, abs=0.05)


def test_a_difference_in_the_ledger_has_its_own_interval(shown: Page, built: Comparison) -> None:
    table = report_parts.tables(section(shown), "time")[0]
    more = step(built).cells[1].estimates["wait_lwlock_us_per_op"]
    assert more.low is not None
    cell = row(table, "waiting: the server's own locks").cells[-1]
    assert cell.text.startswith("+1")
    assert cell.detail.startswith(f"{more.low:.2f} to ")


def test_a_wait_that_neither_arm_has_says_nothing_of_a_difference(shown: Page) -> None:
    table = report_parts.tables(section(shown), "time")[0]
    assert texts(table, "waiting: locks") == ["0.00", "0.00", ""]


def test_without_samples_the_ledger_says_that_they_are_not_accounted_for(built: Comparison) -> None:
    unsampled = step(built)
    cells = tuple(
        replace(
            cell,
            metrics={
                name: None if name in SAMPLED else value for name, value in cell.metrics.items()
            },
        )
        for cell in unsampled.cells
    )
    (table,) = waits.ledger(replace(unsampled, cells=cells), "x")
    assert texts(table, "waiting: the client") == ["not sampled", "not sampled", ""]
    assert "“not accounted for” includes them, and the client" in table.note


def test_a_step_of_an_older_result_has_no_ledger() -> None:
    assert not list(waits.ledger(comparison(blocks=2).steps[4], "x"))


# --- What sessions do ------------------------------------------------------------------------


def test_what_sessions_do_stands_below_whose_they_are_the_most_frequent_first(shown: Page) -> None:
    table = report_parts.tables(section(shown), "time")[-1]
    groups = list(dict.fromkeys(one.group for one in table.rows))
    assert groups[0] == "query connections"
    assert groups[-1] == "all owners"
    own = [one.cells[0].text for one in table.rows if one.group == "query connections"]
    assert own == [
        "CPU, market",
        "LWLock: BufferMapping, market",
        "CPU, register",
        "IO: DataFileRead, market",
        "idle: waits for its client",
    ]


def test_sessions_in_all_are_the_sum_without_those_that_are_idle(shown: Page) -> None:
    table = report_parts.tables(section(shown), "time")[-1]
    active = [one for one in table.rows[:-1] if "idle" not in one.cells[0].text]
    for place in (1, 2, 3):
        total = sum(figure(one.cells[place].text) for one in active)
        assert total == pytest.approx(figure(table.rows[-1].cells[place].text), abs=0.006)


def test_what_is_too_rare_for_a_row_is_counted_in_one(
    built: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "ROWS_MAX", 3)
    (table,) = waits.tables(step(built), "x")
    rare = row(table, f"{len(LOAD) - 3} more, rare")
    assert figure(rare.cells[1].text) > 0
    assert figure(table.rows[-1].cells[1].text) == pytest.approx(2.66, abs=0.1)


def test_the_note_says_how_often_was_sampled_and_what_it_cost(shown: Page) -> None:
    table = report_parts.tables(section(shown), "time")[-1]
    for words in (
        f"{4 * SAMPLES:,} samples",
        "50.3 ms apart (requested: 50.0 ms; at most 212 ms)",
        "A sample took 412 µs",
        "1.1 % of a core in dyno, 0.8 % in the server",
    ):
        assert words in table.note


def test_an_arm_that_was_not_sampled_has_no_figures(built: Comparison) -> None:
    base, other = step(built).cells
    runs = tuple(changed(run, waits=()) for run in other.runs)
    half = replace(step(built), cells=(base, replace(other, runs=runs)))
    (table,) = waits.tables(half, "x")
    assert texts(table, "CPU, market")[1:] == ["NA", ""]


def test_what_was_seen_in_one_block_of_two_is_half_as_much(built: Comparison) -> None:
    base, *others = step(built).cells
    first, second = base.runs
    seen = SessionLoad(owner="role:query", kind="Extension", sessions=1.5)
    (sampling,) = first.of(WaitFacts).waits
    more = replace(sampling, loads=(*sampling.loads, seen))
    cells = (replace(base, runs=(changed(first, waits=(more,)), second)), *others)
    (table,) = waits.tables(replace(step(built), cells=cells), "x")
    assert texts(table, "Extension")[0] == "0.750"


def test_a_step_without_samples_has_neither_table_nor_chart() -> None:
    bare = comparison(blocks=2).steps[4]
    assert not list(waits.tables(bare, "x"))
    assert not list(waits.charts(bare, "x"))


# --- The chart -------------------------------------------------------------------------------


def test_layers_lie_in_one_order_and_have_the_colours_of_their_kinds(shown: Page) -> None:
    (one,) = report_parts.charts(section(shown), "time")
    assert report_parts.layers(one).kinds == ("CPU", "IO", "LWLock", "Lock", "Novel")
    made = layers.spec(report_parts.layers(one), shown.arms)
    places = [kind_place(kind) for kind in report_parts.layers(one).kinds]
    assert made["usermeta"]["stacked"] == [
        list(pair) for pair in zip(report_parts.layers(one).kinds, places, strict=True)
    ]
    assert places[-1] == len(style.KIND_COLORS)  # a kind that is not known


def test_a_kind_that_was_not_seen_in_a_second_is_nothing_there(shown: Page) -> None:
    (one,) = report_parts.charts(section(shown), "time")
    first = report_parts.layers(one).stacks[0]
    late = {kind: series for kind, series in first.layers.items() if kind != "IO"}
    cut = first.layers["IO"]
    late["IO"] = replace(cut, x_s=cut.x_s[10:], y=cut.y[10:])
    gap = replace(report_parts.layers(one), stacks=(replace(first, layers=late),))
    (datum,) = layers.spec(gap, shown.arms, points_max=100_000)["data"]["values"]
    assert datum["IO"][:10] == [0] * 10
    assert len(datum["IO"]) == len(datum["x"]) == len(cut.x_s)


def test_layers_are_thinned_to_what_was_promised(shown: Page) -> None:
    (one,) = report_parts.charts(section(shown), "time")
    made = layers.spec(report_parts.layers(one), shown.arms, points_max=200)
    taken = sum(
        len(datum[kind])
        for datum in made["data"]["values"]
        for kind in ("x", *report_parts.layers(one).kinds)
    )
    assert taken <= layers.numbers(report_parts.layers(one), 200)
    assert layers.numbers(report_parts.layers(one), 200) <= 2 * 200 * len(shown.arms)


def test_the_layers_as_a_picture_have_their_own_colours(shown: Page) -> None:
    specs = chart.specs(shown)
    (name,) = [one.name for one in report_parts.charts(section(shown), "time")]
    svg = picture.svg(specs[name], shown.arms).decode()
    for kind in ("CPU", "IO", "LWLock"):
        assert style.kind_colors()[kind_place(kind)][0] in svg
    assert ">other<" in svg  # the legend has one word for kinds that are not known
    assert ">Novel<" not in svg


# --- In every format -------------------------------------------------------------------------


# Headlines of which less is better: words, colours, sentences and means follow that.


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
