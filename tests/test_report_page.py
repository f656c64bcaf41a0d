"""The page of a report: the published colours, the sentences, and what stands in each table."""

import math
from dataclasses import replace

import pytest

import report_parts
from comparison_builder import comparison
from dbdyno.findings.owners.show import per_operation
from dbdyno.findings.response_times.show import longest_tone, merged, tables
from dbdyno.findings.summary.show import absolute_tones, relative_tone
from dbdyno.judge import doubts
from dbdyno.model import Comparison, ResponseFacts, ResponseTimes
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan import Void
from dbdyno.parts.drawing import Effects
from dbdyno.parts.part import Group, Page, charts
from dbdyno.parts.table import Table, TableCell
from dbdyno.report import page
from run_builder import changed, owners


def table(page: Page, name: str) -> Table:
    """The summary table whose name ends so."""
    return next(one for one in report_parts.summary(page) if one.name.endswith(name))


def cell(table: Table, arm: str, step: str, nth: int = 0) -> TableCell:
    """The cell of an arm in the nth column of this name."""
    places = [place for place, column in enumerate(table.columns) if column.text == step]
    row = next(row for row in table.rows if row.cells[0].text == arm)
    return row.cells[places[nth]]


def section(page: Page, step: str) -> Group:
    return next(one for one in report_parts.steps(page) if one.title == step)


# --- Published colours -----------------------------------------------------------------------


def test_the_slowest_quarter_is_red_and_the_fastest_green() -> None:
    # gap 600, quarter 150: red up to 550, green from 850 on
    tones = absolute_tones([400, 550, 551, 849, 850, 1000], [False] * 6)
    assert tones == ["red", "red", "", "", "green", "green"]


def test_nothing_is_red_where_the_slowest_has_four_fifths_of_the_fastest() -> None:
    assert absolute_tones([800, 900, 1000], [False] * 3) == ["", "", "green"]
    assert absolute_tones([799, 900, 1000], [False] * 3) == ["red", "", "green"]


def test_a_missed_target_is_gray_before_it_is_red_and_sets_no_scale() -> None:
    # with the 100 as the smallest, 800 would be green; without it the scale is 800 to 1000
    tones = absolute_tones([100, 800, 1000], [True, False, False])
    assert tones == ["gray", "", "green"]


def test_a_missed_target_that_is_the_fastest_does_not_make_the_others_slow() -> None:
    assert absolute_tones([500, 480, 9000], [False, False, True]) == ["green", "", "gray"]


def test_where_every_target_was_missed_all_is_gray() -> None:
    assert absolute_tones([1, 2], [True, True]) == ["gray", "gray"]


def test_a_missing_number_has_no_colour_and_sets_no_scale() -> None:
    assert absolute_tones([None, 10.0], [False, False]) == ["", "green"]
    assert absolute_tones([None, None], [False, False]) == ["", ""]


@pytest.mark.parametrize(
    ("ratio", "tone"),
    [(1.0549, ""), (1.0551, "blue"), (0.9451, ""), (0.9449, "yellow"), (1.0, ""), (math.inf, "")],
)
def test_a_ratio_is_coloured_by_its_whole_percent(ratio: float, tone: str) -> None:
    assert relative_tone(ratio) == tone


def test_the_longest_response_is_red_or_green_only_where_they_differ_much() -> None:
    assert [longest_tone(value, [100, 500, 1000]) for value in (100, 500, 1000)] == [
        "green",
        "",
        "red",
    ]
    assert [longest_tone(value, [800, 1000]) for value in (800, 1000)] == ["", ""]


# --- Tables ----------------------------------------------------------------------------------


def test_the_summary_has_the_published_tables_with_the_steps_in_order(shown: Page) -> None:
    titles = [one.title for one in report_parts.summary(shown)]
    assert titles == [
        "Throughput",
        "Throughput relative to pg17",
        "Background insert rate",
        "Fairness between clients",
    ]
    columns = [column.text for column in table(shown, "absolute").columns]
    steps = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"]
    assert columns == ["arm", *steps]
    assert [column.text for column in table(shown, "background").columns] == ["arm", *steps[4:]]


def test_a_throughput_is_the_cells_value_with_thousands_separators(three: Comparison, shown: Page):
    value = three.steps[0].cells[1].value
    assert value is not None
    assert cell(table(shown, "absolute"), "pg18", "l.i0").text == f"{value:,.0f}"


def test_a_missed_target_is_marked_in_all_three_tables(shown: Page) -> None:
    absolute = cell(table(shown, "absolute"), "pg18", "qr1000")
    assert (absolute.tone, absolute.mark) == ("", "†")
    assert cell(table(shown, "relative"), "pg18", "qr1000").mark == "†"
    background = cell(table(shown, "background"), "pg18", "qr1000")
    assert (background.tone, background.detail) == ("failed", "held in 1 of 3")
    # one block at 4,000 and two at 3,216 and 3,217
    assert background.text == "3,478"


def test_the_target_rates_stand_in_the_last_row(shown: Page) -> None:
    last = table(shown, "background").rows[-1]
    assert [one.text for one in last.cells] == [
        "target",
        "400",
        "400",
        "2,000",
        "2,000",
        "4,000",
        "4,000",
    ]


def test_a_step_that_failed_in_one_block_is_marked_and_keeps_its_other_blocks(shown: Page) -> None:
    failed = cell(table(shown, "absolute"), "pg18", "qp1000")
    assert failed.mark == "‡"
    assert "block 2 failed: the server ended" in failed.title
    assert failed.text[0].isdigit()


def test_a_step_that_failed_in_every_block_says_so_in_words(three: Comparison) -> None:
    step = three.steps[-1]
    runs = tuple(
        changed(run, status="failed", reason="no room", metrics={}) for run in step.cells[1].runs
    )
    broken = replace(step.cells[1], runs=runs, value=None, ratio=None, metrics={}, estimates={})
    steps = (*three.steps[:-1], replace(step, cells=(step.cells[0], broken)))
    made = page.make(doubting(replace(three, steps=steps)))
    assert cell(table(made, "absolute"), "pg18", "qp1000").text == "failed"
    assert cell(table(made, "relative"), "pg18", "qp1000").text == "failed"
    assert "pg18, blocks 1 to 3: failed: no room" in report_parts.doubts(section(made, "qp1000"))


def doubting(comparison: Comparison) -> Comparison:
    """The comparison with the doubts of its steps."""
    runs = [run for step in comparison.steps for cell in step.cells for run in cell.runs]
    found = doubts.of_steps(comparison.steps, runs, Void(), 0.03)
    return replace(comparison, doubts=doubts.groups(comparison.arms, found))


def test_a_skipped_step_says_so_in_words(three: Comparison) -> None:
    step = three.steps[0]
    runs = tuple(
        changed(run, status="skipped", reason="state unknown", metrics={}, measured=False)
        for run in step.cells[1].runs
    )
    skipped = replace(step.cells[1], runs=runs, value=None, ratio=None, metrics={}, estimates={})
    made = page.make(
        doubting(replace(three, steps=(replace(step, cells=(step.cells[0], skipped)),)))
    )
    assert cell(table(made, "absolute"), "pg18", "l.i0").text == "skipped"
    assert "pg18, blocks 1 to 3: skipped: state unknown" in report_parts.doubts(
        section(made, "l.i0")
    )


def test_a_ratio_has_two_digits_and_its_interval_with_several_blocks_only(
    three: Comparison, shown: Page
) -> None:
    ratio = three.steps[1].cells[1].ratio
    assert ratio is not None and ratio.low is not None and ratio.high is not None
    found = cell(table(shown, "relative"), "pg18", "l.x")
    assert found.text == f"{ratio.value:.2f}"
    assert found.detail == f"{ratio.low:.2f}–{ratio.high:.2f}"
    assert found.tone == "faster"
    published = page.make(three, "published")
    assert cell(table(published, "relative"), "pg18", "l.x").tone == "blue"
    missed = cell(table(published, "absolute"), "pg18", "qr1000")
    assert (missed.tone, missed.mark) == ("gray", "†")
    single = page.make(comparison(blocks=1))
    assert cell(table(single, "relative"), "pg18", "l.x").detail == ""


def test_a_lone_arm_is_not_compared() -> None:
    made = page.make(comparison(blocks=1, arms=["pg17"], troubles=False))
    assert [one.title for one in report_parts.summary(made)] == [
        "Throughput",
        "Background insert rate",
        "Fairness between clients",
    ]
    assert report_parts.ratios(made) is None


def test_maintenance_that_went_well_has_no_section_but_its_failure_has(three: Comparison) -> None:
    step = three.steps[4]

    def maintenance(status: str) -> Comparison:
        cells = tuple(
            replace(
                result,
                value=None,
                ratio=None,
                metrics={},
                estimates={},
                sla_met=None,
                runs=tuple(
                    changed(
                        run,
                        step="cleanup",
                        measured=False,
                        status=status,
                        reason="disk full",
                        headline=None,
                    )
                    for run in result.runs
                ),
            )
            for result in step.cells
        )
        cleanup = replace(step, step="cleanup", headline=None, cells=cells)
        return doubting(replace(three, steps=(*three.steps[:4], cleanup)))

    titles = [one.title for one in report_parts.steps(page.make(maintenance("ok")))]
    assert "cleanup" not in titles
    failed = page.make(maintenance("failed"))
    assert "disk full" in report_parts.doubts(section(failed, "cleanup"))[0]
    assert "cleanup" not in [column.text for column in table(failed, "absolute").columns]


# --- Sentences -------------------------------------------------------------------------------


def test_one_block_decides_nothing() -> None:
    made = page.make(comparison(blocks=1, troubles=False))
    assert report_parts.headline(made)[0].text.startswith("One block decides nothing: ")
    effects = report_parts.effects(made).values()
    assert {(effect.word, effect.tone, effect.reason) for effect in effects} == {("open", "", "")}
    drawn = [chart.data for chart in charts(made.parts) if isinstance(chart.data, Effects)]
    assert {data.common for data in drawn} == {"one block"}, "a reason that all share stands once"
    assert not any("[" in effect.figures for effect in effects)


def test_the_headline_names_missed_targets_and_failed_steps(shown: Page) -> None:
    items = [item.text for finding in report_parts.headline(shown) for item in finding.items]
    assert "pg18 held 4,000 rows/s in 1 of 3 blocks in qr1000†" in items
    assert any(item.startswith("pg18, qp1000, block 2 failed: the server ended") for item in items)


def test_void_and_unfinished_blocks_are_among_the_warnings(shown: Page) -> None:
    assert report_parts.texts(shown, "doubts")[0] == "not finished: 3 of 4 blocks done"
    assert any("812 MB were swapped out" in text for text in report_parts.texts(shown, "doubts"))


def test_without_a_finished_block_nothing_is_compared(three: Comparison) -> None:
    made = page.make(replace(three, blocks=0, steps=()))
    assert report_parts.headline(made)[0].text.startswith("No block is complete")
    assert report_parts.workloads(made) == ()


def test_steps_of_two_workloads_are_told_apart(three: Comparison) -> None:
    other = replace(three.steps[0], workload="sysbench")
    made = page.make(replace(three, steps=(three.steps[0], other)))
    assert [one.title for one in report_parts.workloads(made)] == ["insert-benchmark", "sysbench"]
    effects = report_parts.effects(made)
    assert sorted(effects) == ["insert-benchmark l.i0", "sysbench l.i0"]
    assert all(effect.figures.startswith("throughput +4.7 %") for effect in effects.values())
    names = [one.name for one in report_parts.steps(made)]
    assert len(set(names)) == 2


# --- Steps -----------------------------------------------------------------------------------


def test_published_metrics_stand_in_their_order_with_their_ratios(shown: Page) -> None:
    metrics = report_parts.tables(section(shown, "qr1000"), "metrics-part")[0]
    assert " ".join(column.text for column in metrics.columns) == (
        "arm ips qps rps rmbps wps wmbps rpq rkbpq wpi wkbpi csps cpups cspq cpupq "
        "dbgb1 dbgb2 rss maxop p50 p99"
    )
    groups = [row.group for row in metrics.rows]
    assert groups == ["", "", "beside pg17"]
    assert cell(metrics, "pg18", "ips").text == "3,459"
    no_rates = report_parts.tables(section(shown, "l.x"), "metrics-part")[0]
    assert cell(no_rates, "pg17", "p50").text == "NA"


def test_every_metric_with_a_value_is_shown_but_the_canary_s(three: Comparison, shown: Page):
    metrics = three.steps[0].cells[0].metrics.items()
    known = {name for name, value in metrics if value is not None if "canary" not in name}
    published, ours = report_parts.tables(section(shown, "l.i0"), "metrics-part")
    titles = {row.cells[0].title.split(":")[0] for row in ours.rows}
    shown_names = titles | {column.text for column in published.columns}
    assert known <= shown_names and not any("canary" in name for name in shown_names)


def test_response_times_of_blocks_are_merged_without_averaging_counts() -> None:
    def times(scale: int) -> ResponseTimes:
        return ResponseTimes(
            count=10 * scale,
            buckets=(9 * scale, scale, *[0] * 8),
            p50_us=100.0 * scale,
            p90_us=200.0,
            p99_us=300.0,
            p999_us=0.0,
            max_us=1000 * scale,
        )

    whole = merged([times(1), times(4)])
    assert whole.count == 50
    assert whole.buckets[:3] == (45, 5, 0)
    assert whole.p50_us == pytest.approx(200.0)  # geometric mean of 100 and 400
    assert whole.p999_us == 0.0
    assert whole.max_us == 4000


def test_the_response_table_has_percents_with_three_digits_and_words_for_traces(
    three: Comparison, shown: Page
) -> None:
    bare = report_parts.tables(section(shown, "l.i2"), "response")[0]
    assert {row.cells[-1].tone for row in bare.rows} == {""}
    published = page.make(three, "published")
    response = report_parts.tables(section(published, "l.i2"), "response")[0]
    assert [row.group for row in response.rows] == ["insert", "insert", "delete", "delete"]
    first = response.rows[0].cells
    assert [one.text for one in first[1:5]] == ["0.206", "36.186", "62.116", "1.491"]
    assert first[3].shade == round(62.116 / 5)
    assert first[-1].text.endswith("ms") and first[-1].tone == "green"
    assert response.rows[1].cells[-1].tone == "red"  # the stall
    traces = report_parts.tables(section(shown, "qr1000"), "response")[0].rows[0].cells
    assert traces[3].text == "nonzero"
    assert traces[5].text == ""


def test_a_percentile_beyond_its_histogram_is_at_least_that(three: Comparison) -> None:
    step = three.steps[0]
    first, *others = step.cells
    run = first.runs[0]
    known = run.of(ResponseFacts).response
    times = tuple(replace(each, at_least=("p99_us", "p999_us")) for each in known)
    cut = replace(first, runs=(changed(run, response=times),), time_bound="at least")
    table = next(iter(tables(replace(step, cells=(cut, *others)), "x")))
    said = [cell.text.startswith("≥ ") for cell in table.rows[0].cells[-5:]]
    assert said == [False, False, True, True, False]
    assert not any("≥" in cell.text for cell in table.rows[1].cells)
    assert "≥: the load's histogram ends there." in table.note


def test_operations_have_a_table_where_a_kind_has_several(shown: Page) -> None:
    kinds, operations = report_parts.tables(section(shown, "qr100"), "response")
    assert list(dict.fromkeys(row.group for row in kinds.rows)) == ["query", "insert", "delete"]
    groups = list(dict.fromkeys(row.group for row in operations.rows))
    assert groups == ["market", "register", "pdc"]
    assert len(report_parts.tables(section(shown, "qp100"), "response")) == 1


def test_costs_by_owner_add_up_to_the_sums(three: Comparison) -> None:
    result = three.steps[0].cells[0]
    names = list(owners(result.runs[0]))
    parts = [per_operation(result, [owner], lambda cost: cost.cpu_us) for owner in names]
    whole = per_operation(result, names, lambda cost: cost.cpu_us)
    assert whole == pytest.approx(sum(part for part in parts if part is not None))
    # planted: the shares of all owners are 0.955 of 18.2 µs
    assert whole == pytest.approx(18.2 * 0.955, rel=0.01)


def test_the_cost_table_names_owners_and_ends_with_sums(shown: Page) -> None:
    costs = report_parts.tables(section(shown, "qr1000"), "cost")[0]
    names = [row.cells[0].text for row in costs.rows]
    assert costs.title == "Cost of a query, by owner"
    assert names[:3] == ["delete connections", "insert connections", "query connections"]
    assert "the server's sum" in names and names[-1] == "the machine's sum"
    assert names.index("load generator") > names.index("the server's sum")


def test_charts_exist_for_every_series_and_say_their_range_in_words(shown: Page) -> None:
    titles = [chart.title for chart in report_parts.charts(section(shown, "qr100"), "graphs")]
    assert titles[:2] == [
        "Queries per second",
        "Longest response of a query in each second, ms, log scale",
    ]
    assert len(titles) == 8
    stall = report_parts.charts(section(shown, "l.i2"), "graphs")[0]
    assert "pg18 0 to" in stall.describe
    names = [chart.name for chart in charts(report_parts.steps(shown))]
    assert len(names) == len(set(names))


def test_what_the_plan_does_not_name_comes_first_among_the_differences(shown: Page) -> None:
    differences = report_parts.table(shown, "differences")
    assert differences is not None
    assert [row.group for row in differences.rows] == ["not named by the plan", "named by the plan"]


def test_facts_that_are_missing_are_said_to_be_not_known(three: Comparison) -> None:
    facts = report_parts.pairs(page.make(replace(three, host=HostFacts())), "facts")
    assert facts["CPU"] == "not known"
    assert facts["Storage"] == "not known"


def test_how_to_repeat_has_the_plan_and_the_version(shown: Page) -> None:
    assert shown.dyno == "0.1.0"
    command, plan = report_parts.texts(shown, "repeat-command")
    assert command == "dyno run insert-pg17-pg18.toml --out results"
    assert 'name = "insert-pg17-pg18"' in plan
    pinned = report_parts.pairs(shown, "repeat-pinned")
    assert pinned["workload"].startswith("insert-benchmark, sha256 9f2c")
    assert pinned["build of pg18"].startswith("18.6, sha256 of bin/postgres 6bd2")
    assert pinned["sized for"] == "8 cores, 31.0 GiB of memory, 1.50 TiB of free disk"
