"""Steps in groups: which rows, in which order, with which numbers, marks and colours."""

import math
from dataclasses import replace

import pytest

import report_parts
from dbdyno.findings.step_pairs.facts import StepPairFacts
from dbdyno.model import Bound, Comparison, PairedEstimate, StepComparison
from dbdyno.model.error import DynoError
from dbdyno.parts import colors, step_groups
from dbdyno.parts.drawing import ScaleUp
from dbdyno.parts.part import Group, Page, Text, flat
from dbdyno.parts.table import Row, Table, TableCell
from dbdyno.report import page
from suite_builder import AGGREGATE, CLIENTS, POINT, RANGE, WRITE, comparison
from verdict_builder import with_words

PUBLISHED = {  # spec sysbench.md 2.4, without the label `_range=100` that says nothing
    POINT: """hot-points point-query points-covered-pk points-covered-si points-notcovered-pk
        points-notcovered-si random-points_range=1000 random-points_range=100
        random-points_range=10""",
    RANGE: "range-covered-pk range-covered-si range-notcovered-pk range-notcovered-si scan",
    AGGREGATE: """read-only-count read-only-distinct read-only-order read-only_range=10000
        read-only_range=100 read-only_range=10 read-only-simple read-only-sum""",
    WRITE: """delete insert read-write_range=100 read-write_range=10 update-index update-inlist
        update-nonindex update-one update-zipf write-only""",
}


@pytest.fixture(scope="module")
def two() -> Comparison:
    return comparison(blocks=2, seconds=20)


@pytest.fixture(scope="module")
def shown(two: Comparison) -> Page:
    return page.make(two)


def groups(shown: Page) -> dict[str, Group]:
    """The groups of steps by their titles, which the contents have."""
    return {one.entry or "": one for one in whole(shown).parts if isinstance(one, Group)}


def whole(shown: Page) -> Group:
    """What holds the groups of steps, with a note on what their tables have in common."""
    found = (one for one in report_parts.overview(shown).parts if isinstance(one, Group))
    return next(one for one in found if one.name.endswith("-groups") and not one.fold)


def legend(shown: Page) -> tuple[str, ...]:
    """What the columns of the groups' tables are."""
    found = (one for one in report_parts.overview(shown).parts if isinstance(one, Text))
    return tuple(item.text for one in found if one.form == "legend" for item in one.items)


def relative(shown: Page, title: str) -> Table:
    """The table that a group of steps shows first."""
    table = groups(shown)[title].parts[0]
    assert isinstance(table, Table)
    return table


def of_group(shown: Page, title: str, name: str) -> Table:
    """A table of a group of steps, whose name ends so."""
    wanted = f"{groups(shown)[title].name}-{name}"
    found = (one for one in flat((report_parts.overview(shown),)) if isinstance(one, Table))
    return next(one for one in found if one.name == wanted)


def names(table: Table) -> list[str]:
    return [row.cells[table.heading].text for row in table.rows]


def row(table: Table, name: str) -> Row:
    return next(one for one in table.rows if one.cells[table.heading].text == name)


def changed(two: Comparison, name: str, **how: object) -> Comparison:
    """The comparison of one step alone, in which the second arm's cell is another."""
    step = next(one for one in two.steps if one.step == name)
    cells = (step.cells[0], replace(step.cells[1], **how))  # type: ignore[arg-type]
    return replace(two, steps=(replace(step, cells=cells),))


# --- Rows ------------------------------------------------------------------------------------


def test_groups_and_their_rows_have_the_published_order(shown: Page) -> None:
    assert {title: names(relative(shown, title)) for title in groups(shown)} == {
        title: words.split() for title, words in PUBLISHED.items()
    }
    assert list(groups(shown)) == list(PUBLISHED)


def test_a_group_of_ones_own_comes_after_the_published_ones(two: Comparison) -> None:
    own = replace(two.steps[6], group="my own")
    found = step_groups.ordered([own, *two.steps[7:]])
    assert list(found) == [*PUBLISHED, "my own"]


def test_names_are_sorted_without_their_punctuation_and_a_sweep_as_it_ran() -> None:
    swept = page.make(comparison(blocks=1, seconds=20, swept=True))
    found = [name for name in names(relative(swept, POINT)) if "@" in name]
    assert found == [f"point-query@clients={clients}" for clients in CLIENTS]
    assert sorted(["read-only-sum", "read-only_range=10"], key=step_groups.collation) == [
        "read-only_range=10",
        "read-only-sum",
    ]


def test_steps_of_no_group_keep_their_tables_and_hidden_ones_have_none(shown: Page) -> None:
    columns = {column.text for table in report_parts.summary(shown) for column in table.columns}
    assert columns == {"arm", "load"}
    listed = {name for title in groups(shown) for name in names(relative(shown, title))}
    assert not any(".pre" in name or ".warm" in name for name in listed)
    steps = report_parts.beside(shown, "steps")
    assert steps is not None
    ran = [one.cells[0].text for one in steps.rows]
    assert "point-query.pre" in ran and "scan.warm" not in ran and len(ran) == 32 + 2 + 1


def test_a_step_that_an_arm_lacks_says_so(two: Comparison) -> None:
    lacking = changed(two, "point-query", runs=(), value=None, ratio=None, metrics={}, estimates={})
    cells = row(relative(page.make(lacking), POINT), "point-query").cells
    assert (cells[0].text, cells[0].tone) == ("not run", "failed")
    assert cells[1].text == "25,654"


def test_words_in_the_place_of_a_number_have_no_mark(two: Comparison) -> None:
    lacking = changed(two, "delete", runs=(), value=None, ratio=None, metrics={}, estimates={})
    first, base, _ = row(relative(page.make(lacking), WRITE), "delete").cells
    assert (first.text, first.mark, base.mark) == ("not run", "", "§")


def test_a_lone_arm_has_its_throughput_and_nothing_to_compare() -> None:
    made = page.make(comparison(blocks=1, arms=["pg17"], seconds=20))
    assert legend(made) == ()
    (absolute,) = groups(made)[POINT].parts
    assert isinstance(absolute, Table)
    assert [column.text for column in absolute.columns] == ["pg17", POINT]


# --- Numbers ---------------------------------------------------------------------------------


def test_a_row_is_the_ratios_the_bases_own_and_the_name(two: Comparison, shown: Page) -> None:
    step = next(one for one in two.steps if one.step == "points-covered-pk")
    ratio, base = step.cells[1].ratio, step.cells[0].value
    assert ratio is not None and ratio.low is not None and ratio.high is not None
    table = relative(shown, POINT)
    assert [column.text for column in table.columns] == ["pg18", "pg17", POINT]
    first, own, name = row(table, "points-covered-pk").cells
    assert first.text == f"{ratio.value:.2f}"
    assert first.detail == f"{ratio.low:.2f}–{ratio.high:.2f}"
    assert own.text == f"{base:,.0f}" and name.text == "points-covered-pk"


def test_the_note_says_what_is_counted(two: Comparison, shown: Page) -> None:
    assert "queries per second, as published with BEGIN and COMMIT, geometric" in whole(shown).note
    alone = replace(two, steps=tuple(step for step in two.steps if step.group == POINT))
    assert "queries per second, geometric means of 2 blocks." in whole(page.make(alone)).note


def test_the_legend_names_the_base_and_every_column() -> None:
    made = page.make(comparison(arms=("17.6", "18beta3", "18rc1"), blocks=1, seconds=20))
    assert legend(made) == ("Relative to: 17.6", "col-1 : 18beta3", "col-2 : 18rc1")
    columns = relative(made, POINT).columns
    assert [column.arm for column in columns] == ["18beta3", "18rc1", "17.6", None]


def test_a_scan_counts_rows_and_its_table_says_so(shown: Page) -> None:
    table = of_group(shown, RANGE, "absolute")
    assert {column.group for column in table.columns[:2]} == {"queries/s"}
    assert table.note.startswith("scan: rows scanned/s of all clients.")


def test_a_throughput_of_statements_that_find_nothing_is_marked(shown: Page) -> None:
    table = relative(shown, WRITE)
    assert [cell.mark for cell in row(table, "delete").cells] == ["§", "§", ""]
    assert [cell.mark for cell in row(table, "insert").cells] == ["", "", ""]
    assert "§: under 99 % of the statements found a row." in table.note
    told = next(one for one in report_parts.headline(shown) if one.text.startswith("§"))
    assert [item.text for item in told.items] == [
        "pg17: 37.0 % of the statements of delete",
        "pg18: 10.0 % of the statements of delete",
    ]


# --- Colours ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "tone"),
    [(0.9749, "slower"), (0.9751, "alike"), (1.0249, "alike"), (1.0251, "faster"), (math.inf, "")],
)
def test_a_ratio_has_the_published_colour_of_what_is_shown(ratio: float, tone: str) -> None:
    assert colors.PUBLISHED.tone(ratio) == tone


def test_other_thresholds_are_used_and_said(two: Comparison) -> None:
    made = page.make(two, colors.parse("0.5, 1.5"))
    tones = {cells.cells[0].tone for title in PUBLISHED for cells in relative(made, title).rows}
    assert tones == {"alike", "faster"}  # hot-points doubles
    grouped = whole(made)
    assert grouped.colors.startswith("Red ▼: up to 0.50; green ▲: from 1.50; gray: between")
    table = report_parts.summary(made)[1]
    assert table.rows[1].cells[1].tone == "alike" and table.colors == grouped.colors


@pytest.mark.parametrize("text", ["", "1", "a,b", "0.9,0.95", "1.03,0.97", "1,1", "nan,2", "1,2,3"])
def test_nonsense_is_one_clear_line(text: str) -> None:
    with pytest.raises(DynoError) as caught:
        colors.parse(text)
    assert str(caught.value) == (
        f"--colors: `{text}`: give `published` or two ratios, red up to the one and green from "
        "the other, around 1, as in `--colors 0.97,1.03`"
    )


@pytest.mark.parametrize(
    ("name", "bound", "tone"),
    [
        ("hot-points", "at least", "faster"),
        ("hot-points", "at most", ""),
        ("hot-points", "unknown", ""),
        ("points-covered-pk", "at least", ""),
        ("points-covered-pk", "at most", "slower"),
        ("points-notcovered-pk", "at least", ""),
        ("points-notcovered-pk", "at most", ""),
    ],
)
def test_a_limited_generator_decides_nothing_that_the_true_number_need_not_be(
    two: Comparison, name: str, bound: Bound, tone: str
) -> None:
    made = page.make(changed(two, name, ratio_bound=bound))
    assert row(relative(made, POINT), name).cells[0].tone == tone


# --- What an operation costs -----------------------------------------------------------------


def test_costs_are_absolute_by_arm_and_then_by_the_base(two: Comparison, shown: Page) -> None:
    table = of_group(shown, POINT, "per-operation")
    texts = [column.text for column in table.columns]
    assert texts == ["cpu/o", "server", "cs/o", "r/o", "rKB/o", "wKB/o", "o/s", "arm"]
    rows = [one for one in table.rows if one.group == "hot-points"]
    assert [one.cells[-1].text for one in rows] == ["pg17", "pg18", "pg18 / pg17"]
    step = next(one for one in two.steps if one.step == "hot-points")
    cpu = step.cells[0].metrics["cpupq"]
    assert cpu is not None and float(rows[0].cells[0].text) == pytest.approx(cpu, rel=0.01)
    assert rows[2].cells[0].text == f"{step.cells[1].estimates['cpupq'].value:.2f}"
    assert rows[2].cells[3].text == ""  # no reads of either
    assert rows[2].cells[6].text == row(relative(shown, POINT), "hot-points").cells[0].text


def test_a_cost_that_only_the_base_lacks_is_a_difference(two: Comparison) -> None:
    more = PairedEstimate(kind="difference", value=0.5, low=0.25, high=0.75, blocks=3)
    step = next(one for one in two.steps if one.step == "insert")
    metrics = {**step.cells[1].metrics, "rpq": 0.5}
    made = page.make(changed(two, "insert", metrics=metrics, estimates={"rpq": more}))
    last = of_group(made, WRITE, "per-operation").rows[2]
    assert (last.cells[3].text, last.cells[3].detail) == ("+0.500", "0.250 to 0.750")


# --- Steps against each other ----------------------------------------------------------------


def test_what_the_writes_cost_stands_beside_before_and_after(two: Comparison, shown: Page) -> None:
    table = report_parts.beside(shown, "fragmentation")
    assert table is not None
    found = [(one.group, one.arm) for one in table.rows]
    twins = ("point-query", "range-notcovered-si")
    assert found == [(name, arm) for name in twins for arm in ("pg17", "pg18")]
    before, after = (
        next(one for one in two.steps if one.step == name).cells[1].value
        for name in ("point-query.pre", "point-query")
    )
    assert before and after
    cells = table.rows[1].cells
    assert [cell.text for cell in cells[1:3]] == [f"{before:,.0f}", f"{after:,.0f}"]
    assert cells[3].text == f"{after / before:.2f}"
    across = next(one for one in two.of(StepPairFacts).across if one.arm == "pg18")
    assert across.ratio is not None and across.ratio.low is not None
    assert cells[3].detail.startswith(f"{across.ratio.low:.2f}–")


def test_a_step_without_its_twin_after_the_writes_says_so() -> None:
    alone = comparison(blocks=1, seconds=20, names=["point-query.pre", "insert"])
    table = report_parts.beside(page.make(alone), "fragmentation")
    assert table is not None
    assert [cell.text for cell in table.rows[0].cells[2:]] == ["not run", "NA"]


def test_a_limited_number_bounds_what_the_writes_cost(two: Comparison) -> None:
    def limited(step: StepComparison) -> StepComparison:
        cells = tuple(replace(cell, value_bound="at least") for cell in step.cells)
        return replace(step, cells=cells) if step.step == "point-query.pre" else step

    made = page.make(replace(two, steps=tuple(map(limited, two.steps))))
    table = report_parts.beside(made, "fragmentation")
    assert table is not None and table.rows[0].cells[3].text.startswith("≤ ")


@pytest.fixture(scope="module")
def swept() -> Page:
    return page.make(comparison(blocks=2, seconds=20, swept=True))


def test_scale_up_has_a_row_for_each_number_of_clients_and_the_ideal(swept: Page) -> None:
    one = report_parts.beside(swept, "01-table")
    (drawn,) = report_parts.scale_ups(swept)
    assert one is not None
    assert one.title == "point-query: scale-up"
    assert [cells.cells[0].text for cells in one.rows] == ["1", "2", "4", "8"]
    assert [cells.cells[1].text for cells in one.rows] == ["1.00", "2.00", "4.00", "8.00"]
    assert [column.group for column in one.columns[2:]] == ["pg17"] * 2 + ["pg18"] * 2
    last = one.rows[-1].cells
    base = float(one.rows[0].cells[2].text.replace(",", ""))
    assert float(last[3].text) == pytest.approx(float(last[2].text.replace(",", "")) / base, 0.01)
    assert isinstance(drawn.data, ScaleUp) and drawn.data.clients == CLIENTS
    assert len(drawn.data.points) == 2 * (len(CLIENTS) - 1)
    assert report_parts.beside(swept, "scale-up") is None  # one sweep is in one table already


def two_sweeps(times: int = 1) -> Comparison:
    """The sweep, and another one like it, of so many times the clients."""
    made = comparison(blocks=2, seconds=20, swept=True)
    more = [
        replace(step, step=step.step.replace("point-query@", "insert@"), group=WRITE)
        for step in made.steps
        if "@" in step.step
    ]
    across = [
        replace(
            one,
            first_step="insert@clients=1",
            second_step=one.second_step.replace("point-query", "insert"),
            first_clients=times * (one.first_clients or 0),
            second_clients=times * (one.second_clients or 0),
        )
        for one in made.of(StepPairFacts).of("scale-up", {step.workload for step in made.steps})
    ]
    pairs = StepPairFacts(across=(*across, *made.of(StepPairFacts).across))
    findings = {**made.findings, "StepPairFacts": pairs}
    return replace(made, steps=(*made.steps, *more), findings=findings)


@pytest.mark.long
def test_several_sweeps_are_in_one_table_too() -> None:
    table = report_parts.beside(page.make(two_sweeps()), "scale-up")
    assert table is not None
    assert [cell.text for cell in table.rows[0].cells] == ["ideal", "", "2.00", "4.00", "8.00"]
    assert list(dict.fromkeys(one.group for one in table.rows[1:])) == ["point-query", "insert"]
    assert table.rows[1].cells[-1].detail


@pytest.mark.long
def test_sweeps_from_other_numbers_of_clients_have_each_its_ideal() -> None:
    made = page.make(two_sweeps(times=3))
    assert report_parts.beside(made, "scale-up") is None
    other = report_parts.beside(made, "02-table")
    assert other is not None
    assert [one.cells[0].text for one in other.rows] == ["3", "6", "12", "24"]
    assert [one.cells[1].text for one in other.rows] == ["1.00", "2.00", "4.00", "8.00"]


# --- A step by itself ------------------------------------------------------------------------


def tables(shown: Page, step: str) -> dict[str, Table]:
    found = next(one for one in report_parts.steps(shown) if one.title == step)
    return {table.title: table for table in report_parts.tables(found, "statements-part")}


def test_a_transaction_has_its_queries_statements_and_transactions_apart(shown: Page) -> None:
    table = tables(shown, "read-only_range=10")["Queries and transactions"]
    assert [column.text for column in table.columns] == [
        *("arm", "queries/s", "statements/s", "BEGIN, COMMIT/s", "transactions/s", "rows/s")
    ]
    numbers = [float(cell.text.replace(",", "")) for cell in table.rows[0].cells[1:]]
    assert numbers[0] == pytest.approx(16 * numbers[3], rel=0.01)
    assert numbers[1] == pytest.approx(14 * numbers[3], rel=0.01)
    assert numbers[2] == pytest.approx(2 * numbers[3], rel=0.01)


def test_each_statement_has_its_rate_its_rows_and_how_many_found_one(shown: Page) -> None:
    table = tables(shown, "delete")["Statements"]
    (only,) = table.rows
    assert [cell.text for cell in only.cells[-2:]] == ["37.0", "10.0"]
    assert {cell.tone for cell in only.cells[-2:]} == {"notice"}
    assert table.colors == "Bold: under 99 % found a row."
    begin = tables(shown, "write-only")["Statements"].rows[0].cells
    assert begin[0].text == "begin" and begin[-1] == TableCell(text="")
    assert "Queries and transactions" not in tables(shown, "delete")


def test_a_scan_has_the_published_figure_of_one_client(shown: Page) -> None:
    table = tables(shown, "scan")["A scan's throughput"]
    rows_per_s, _, published = (
        float(cell.text.replace(",", "")) for cell in table.rows[0].cells[1:]
    )
    assert published == pytest.approx(rows_per_s / 1000, rel=0.01)


# --- Sentences -------------------------------------------------------------------------------


def test_the_answer_has_the_steps_of_all_groups_and_none_that_only_warms(shown: Page) -> None:
    effects = report_parts.effects(shown)
    changed = {step: effect for step, effect in effects.items() if effect.word != "open"}
    assert changed["points-covered-pk"].figures.startswith("throughput −6.1 % [")
    assert changed["hot-points"].figures.startswith("operations ran 2.06 times as fast [")
    assert changed["hot-points"].tone == "faster"
    assert not any(".warm" in step for step in effects)


def test_steps_of_a_group_stand_by_their_words_in_the_answer(two: Comparison) -> None:
    words = {"insert": "slower", "delete": "failed", "update-one": "same"}
    effects = report_parts.effects(page.make(with_words(two, words)))
    assert effects["insert"].word == "slower" and effects["delete§"].word == "failed"
    assert effects["update-one"].word == "same"
