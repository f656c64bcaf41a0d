"""What is said of the base compared with itself."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

import report_parts
from comparison_builder import comparison
from dbdyno.findings.calibration import show
from dbdyno.model import Comparison
from dbdyno.model.verdict import FillNoise
from dbdyno.parts.part import Page
from dbdyno.report import page
from dbdyno.report.render import terminal
from verdict_builder import calibration, with_words


@pytest.fixture(scope="module")
def quiet() -> Comparison:
    return comparison(blocks=6, arms=("pg17", "pg18", "ghost"), troubles=False)


@pytest.fixture(scope="module")
def sure(quiet: Comparison) -> Page:
    return page.make(replace(quiet, calibration=calibration(quiet, arm="ghost")))


@pytest.fixture(scope="module")
def doubtful(quiet: Comparison) -> Page:
    """The base differed from itself in 4 of 10 comparisons."""
    made = with_words(quiet, {"l.i2": "slower", "l.i1": "same"})
    found = calibration(quiet, arm="ghost", rejected=12, false=4)
    return page.make(replace(made, calibration=found))


def printed(shown: Page, *, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=80)
    terminal.print_page(shown, console, full=full)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


# --- The base against itself -----------------------------------------------------------------


def test_false_alarms_are_counted_with_their_intervals(sure: Page) -> None:
    assert [one.text.split(",")[0] for one in report_parts.headline(sure)[:2]] == [
        "pg18 against pg17",
        "ghost (pg17 once more) against pg17",
    ]
    assert report_parts.headline(sure)[2].text == (
        "A/A: in 10 comparisons of pg17 with itself (ghost), 4 blocks each, 1 false verdict, in "
        "10.0 % [0.2, 44.5] of the comparisons; 5.0 % [1.0, 12.0] of 80 tests had p under 0.05."
    )


def test_a_single_comparison_has_no_share_of_comparisons(quiet: Comparison) -> None:
    one = replace(calibration(quiet, arm="ghost", false=0), comparisons=1, tests=8)
    made = page.make(replace(quiet, calibration=one))
    assert report_parts.headline(made)[2].text == (
        "A/A: in 1 comparison of pg17 with itself (ghost), 4 blocks, no false verdicts; "
        "5.0 % [1.0, 12.0] of 8 tests had p under 0.05."
    )


def test_the_steps_are_named_in_which_the_wanted_change_is_not_seen(sure: Page) -> None:
    throughput, cpu = report_parts.headline(sure)[2].items
    assert throughput.text == (
        "By throughput a change of 3 % can be seen in 5 of 10 steps; qp1000 from 6.0 %, qr1000 "
        "from 5.4 %, qp500 from 4.8 %, qr500 from 4.2 % and 1 more."
    )
    assert cpu.text.startswith("By CPU a change of 3 % can be seen in 5 of 10 steps; ")


@pytest.mark.long
def test_a_step_in_which_no_change_is_ever_seen_says_so(quiet: Comparison) -> None:
    found = calibration(quiet, arm="ghost")
    noise = (replace(found.noise[0], visible=None), *found.noise[1:])
    made = page.make(replace(quiet, calibration=replace(found, noise=noise)))
    assert (
        "4 of 10 steps; l.i0 not at all, qp1000 from 6.0 %"
        in report_parts.headline(made)[2].items[0].text
    )
    table = report_parts.table(made, "noise")
    assert table is not None
    assert table.rows[0].cells[4].text == "none"


def test_too_many_false_alarms_come_first_and_make_changes_perhaps(doubtful: Page) -> None:
    first, *_ = report_parts.headline(doubtful)
    assert first.text.startswith("A/A: in 10 comparisons of pg17 with itself")
    assert first.items[0].label == "Caution"
    assert "more than the 5 % allowed" in first.items[0].text
    effects = report_parts.effects(doubtful).values()
    words = {effect.word: effect.tone for effect in effects}
    assert words.keys() <= {"perhaps slower", "perhaps faster", "same", "open"}
    assert all(not tone or word == "same" for word, tone in words.items())
    assert "perhaps faster" in words


def test_too_many_false_alarms_take_the_colours_from_the_table(doubtful: Page) -> None:
    table = report_parts.verdicts(doubtful)[0]
    cells = {one.cells[0].text: one.cells[1] for one in table.rows}
    assert (cells["l.i0"].text, cells["l.i0"].tone) == ("perhaps faster", "")
    assert table.colors == table.arrows == ""
    assert "“Perhaps”: the base differed from itself too often." in table.note


def test_the_noise_of_each_step_and_metric_is_a_table(sure: Page) -> None:
    table = report_parts.table(sure, "noise")
    assert table is not None and table.title == "How much pg17 differs from itself"
    assert len(table.rows) == 20
    cells = table.rows[2].cells
    texts = [cell.text for cell in cells]
    assert texts == ["l.x", "throughput", "40", "0.80", "1.2", "1.0"]
    assert cells[3].detail == "0.66–1.02"
    assert table.rows[-1].cells[4].tone == "" and cells[4].tone == "alike"
    assert "should be: p = 0.41 (Kolmogorov-Smirnov)" in table.note


@pytest.mark.long
def test_the_noise_is_printed_where_nothing_else_was_measured(sure: Page) -> None:
    made = comparison(blocks=6, arms=("pg17", "ghost"), troubles=False)
    alone = page.make(replace(made, calibration=calibration(made, arm="ghost")))
    title = "How much pg17 differs from itself"
    assert title in printed(alone)
    assert title not in printed(sure)
    assert title in printed(sure, full=True)


# --- Fills -----------------------------------------------------------------------------------

FILL_NOISE = FillNoise(
    workload="w",
    step="l.i1",
    metric="ips",
    fills=6,
    blocks=60,
    sd=0.012,
    sd_low=0.005,
    sd_high=0.03,
    blocks_sd=0.026,
    blocks_sd_low=0.022,
    blocks_sd_high=0.032,
    means_sd=0.0145,
)
UNSEEN = replace(FILL_NOISE, step="l.i2", sd=0.0, sd_low=0.0, sd_high=0.008, means_sd=0.006)


def test_the_scatter_between_fills_stands_beside_that_between_blocks(quiet: Comparison) -> None:
    found = replace(calibration(quiet, arm="ghost"), fills=(FILL_NOISE, UNSEEN))
    made = page.make(replace(quiet, calibration=found))
    said = [one.text for one in report_parts.headline(made)[2].items]
    assert (
        "Between 6 fills the ratio scatters by up to 1.20 % (l.i1, throughput), between blocks of "
        "one fill by 2.60 % there."
    ) in said
    table = report_parts.table(made, "fill-noise")
    assert table is not None
    assert table.title == "How much fills of pg17 differ"
    cells = [[(cell.text, cell.detail) for cell in row.cells[2:]] for row in table.rows]
    assert cells == [
        [("6", ""), ("60", ""), ("1.20", "0.50–3.00"), ("2.60", "2.20–3.20"), ("1.45", "")],
        [("6", ""), ("60", ""), ("not seen", "up to 0.80"), ("2.60", "2.20–3.20"), ("0.60", "")],
    ]


def test_fills_that_do_not_differ_are_said_to_scatter_no_more_than_blocks(quiet: Comparison):
    assert list(show.of_fills((UNSEEN,))) == [
        "Between 6 fills no scatter was seen beside that between blocks."
    ]
    assert not list(show.of_fills(()))
