"""Verdicts as people read them: each word, its colour, its figures, and its price."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

import report_parts
from comparison_builder import comparison
from dbdyno.model import Bound, Comparison
from dbdyno.model.verdict import Verdict, Word
from dbdyno.report import page
from dbdyno.report.parts import Finding, Page, Table, TableCell
from dbdyno.report.render import html, markdown, terminal
from dbdyno.report.section import verdicts
from verdict_builder import explained, overall, with_judgements, with_words

STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000")
WORDS: dict[str, Word] = {
    "l.i0": "faster",
    "l.x": "faster, within the margin",
    "l.i1": "same",
    "l.i2": "slower",
    "qr100": "slower, within the margin",
    "qp100": "mixed",
    "qr500": "cannot tell",
    "qp500": "limited",
    "qr1000": "failed",
    "qp1000": "not compared",
}


@pytest.fixture(scope="module")
def quiet() -> Comparison:
    """Six blocks in which nothing goes wrong."""
    return comparison(blocks=6, troubles=False)


@pytest.fixture(scope="module")
def worded(quiet: Comparison) -> Comparison:
    """The same with a verdict of each word but one."""
    return with_words(quiet, WORDS)


@pytest.fixture(scope="module")
def told(worded: Comparison) -> Page:
    return page.make(worded)


def items(shown: Page, arm: str = "pg18") -> dict[str, Finding]:
    """What the headline says of an arm, by its labels."""
    finding = next(one for one in report_parts.headline(shown) if one.text.startswith(f"{arm}"))
    return {item.label: item for item in finding.items}


def table(shown: Page) -> Table:
    (found,) = report_parts.verdicts(shown)
    return found


def row(shown: Page, step: str) -> tuple[TableCell, ...]:
    return next(one.cells for one in table(shown).rows if one.cells[0].text == step)


def printed(shown: Page, *, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=80)
    terminal.print_page(shown, console, full=full)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def judged(made: Comparison, step: str) -> Verdict:
    """The verdict of the last arm in a step."""
    cells = next(one.cells for one in made.steps if one.step == step)
    found = cells[-1].verdict
    assert found is not None
    return found


def changed(made: Comparison, step: str, **how: object) -> Comparison:
    """The comparison in which all judgements of the last arm in a step have these values."""
    return with_judgements(made, step, lambda one: replace(one, **how))  # type: ignore[arg-type]


# --- The headline ----------------------------------------------------------------------------


def test_the_headline_has_a_line_for_each_word_what_matters_first(told: Page) -> None:
    assert list(items(told)) == [
        "Failed",
        "Slower",
        "Faster",
        "Mixed",
        "Slower, within the margin",
        "Faster, within the margin",
        "Same within ±3 %",
        "Limited",
        "Not compared",
        "No direction, cannot tell",
        "To settle",
    ]


def test_only_what_is_decided_has_a_colour(told: Page) -> None:
    tones = {label: item.tone for label, item in items(told).items()}
    assert tones["Slower"] == "slower" and tones["Faster"] == "faster"
    assert tones["Same within ±3 %"] == tones["Slower, within the margin"] == "alike"
    assert {tones[label] for label in ("No direction, cannot tell", "Limited", "Not compared")} == {
        ""
    }


def test_a_change_is_told_by_the_metric_that_says_it(quiet: Comparison) -> None:
    made = with_words(quiet, {"l.i2": "slower"})
    verdict = judged(made, "l.i2")
    for by, words in (
        (("ips",), "l.i2 throughput −7.0 % [−7.6, −6.5]"),
        (("server_cpu_per_op",), "l.i2 CPU +0.6 % [−2.0, +3.3]"),
    ):
        steps = tuple(
            replace(
                one,
                cells=(one.cells[0], replace(one.cells[1], verdict=replace(verdict, by=by))),
            )
            for one in made.steps
            if one.step == "l.i2"
        )
        assert items(page.make(replace(made, steps=steps)))["Slower"].text == words


def test_the_largest_change_is_told_first(quiet: Comparison) -> None:
    made = with_words(quiet, dict.fromkeys(STEPS, "slower"))
    names = [text.split()[0] for text in items(page.make(made))["Slower"].text.split("; ")]
    assert names[:3] == ["l.x", "qr1000", "l.i2"]


def test_the_sentence_of_an_arm_has_its_means_with_throughput_first(quiet: Comparison) -> None:
    throughput, cpu = judged(quiet, "l.i0").judgements
    whole = overall(
        "pg18",
        "insert-benchmark",
        throughput=replace(throughput, word="faster", ratio=1.021, low=1.012, high=1.03),
        cpu=replace(cpu, word="faster", ratio=0.97, low=0.961, high=0.979),
    )
    made = page.make(replace(quiet, overall=whole))
    assert report_parts.headline(made)[0].text == (
        "pg18 against pg17, 6 blocks: 2.1 % faster by throughput over 9 steps [1.2, 3.0]; "
        "CPU per operation 3.0 % less [2.1, 3.9]."
    )


def test_a_mean_that_is_not_decided_keeps_its_signs(quiet: Comparison) -> None:
    throughput, cpu = judged(quiet, "l.i0").judgements
    whole = overall(
        "pg18",
        "insert-benchmark",
        throughput=replace(throughput, word="same", ratio=1.001, low=0.994, high=1.007),
        cpu=replace(cpu, word="cannot tell", ratio=0.99, low=0.94, high=1.04),
    )
    assert report_parts.headline(page.make(replace(quiet, overall=whole)))[0].text == (
        "pg18 against pg17, 6 blocks: throughput over 9 steps +0.1 % [−0.6, +0.7] "
        "(same within ±3 %); CPU per operation −1.0 % [−6.0, +4.0], no direction (cannot tell)."
    )


def test_reasons_are_told_of_the_largest_changes_the_slower_first(quiet: Comparison) -> None:
    made = with_words(quiet, dict.fromkeys(("l.i2", "qr1000"), "slower"))
    made = with_words(made, dict.fromkeys(("l.x", "l.i0"), "faster"))
    texts = {step: f"why {step}" for step in ("l.i0", "l.x", "l.i2", "qr1000")}
    why = items(page.make(explained(made, texts)))["Why"]
    assert [(one.label, one.text) for one in why.items] == [
        (step, f"why {step}") for step in ("qr1000", "l.i2", "l.x")
    ]
    assert why.text == "and 1 more, in the steps' sections"


def test_a_bound_is_told_beside_the_change(quiet: Comparison) -> None:
    for bound, sign in (("at least", "≥ "), ("at most", "≤ "), ("exact", "")):
        made = limited(with_words(quiet, {"l.x": "faster"}), "l.x", bound)  # type: ignore[arg-type]
        assert f"l.x throughput {sign}+21.3 %" in items(page.make(made))["Faster"].text


def limited(made: Comparison, step: str, bound: Bound) -> Comparison:
    """The comparison in which the last arm's ratio in a step is bounded."""
    steps = tuple(
        replace(one, cells=(one.cells[0], replace(one.cells[1], ratio_bound=bound)))
        if one.step == step
        else one
        for one in made.steps
    )
    return replace(made, steps=steps)


def test_what_has_no_verdict_is_shown_and_not_judged(quiet: Comparison) -> None:
    steps = tuple(
        replace(one, cells=(one.cells[0], replace(one.cells[1], verdict=None)))
        for one in quiet.steps
    )
    made = page.make(replace(quiet, steps=steps))
    assert list(items(made)) == ["Not judged"]
    assert items(made)["Not judged"].text.startswith("l.i0 throughput +4.7 % [+3.7, +5.7]; l.x ")
    assert report_parts.verdicts(made) == ()


# --- The table -------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_step_with_its_word(told: Page) -> None:
    assert [one.cells[0].text for one in table(told).rows] == list(STEPS)
    shown = [one.cells[1].text.replace("±3 %", "the margin") for one in table(told).rows]
    assert shown == list(WORDS.values())
    assert table(told).arm == "pg18"


def test_a_metric_that_says_the_verdict_stands_out(told: Page) -> None:
    assert [cell.tone for cell in row(told, "l.i2")[1:4]] == ["slower", "notice", "notice"]
    assert [cell.tone for cell in row(told, "qr500")[1:4]] == ["", "", ""]


def test_a_change_has_its_interval_and_its_tests_on_hover(told: Page) -> None:
    throughput = row(told, "l.i2")[2]
    assert (throughput.text, throughput.detail) == ("−7.0", "[−7.6, −6.5]")
    assert "6 blocks, p 0.0020, q 0.0080, sign-flip p 0.03, sd between blocks" in throughput.title


def test_what_could_have_been_seen_stands_beside_what_was_not(worded: Comparison) -> None:
    for step in ("l.i1", "qr500"):
        made = page.make(changed(worded, step, visible=0.0314))
        assert row(made, step)[4].text == "3.1 / 3.1"
    assert row(page.make(changed(worded, "l.i2", visible=0.03)), "l.i2")[4].text == ""


@pytest.mark.parametrize("seen", [24_974_280_190_901.0, 10.01, None])
def test_what_no_comparison_would_see_has_no_number(worded: Comparison, seen: float | None) -> None:
    made = page.make(changed(worded, "qr500", visible=seen))
    assert row(made, "qr500")[4].text == "> 1,000 / > 1,000"


def test_the_table_of_one_block_has_no_intervals() -> None:
    made = page.make(comparison(blocks=1, troubles=False))
    cells = row(made, "l.i0")
    assert [cell.text for cell in cells[:2]] == ["l.i0", "one block"]
    assert [cell.detail for cell in cells[1:4]] == ["", "", ""]
    assert table(made).note.startswith("One block decides nothing.")


def test_a_missed_target_is_marked_and_not_coloured_as_slow(shown: Page) -> None:
    cells = row(shown, "qr1000")
    assert (cells[0].mark, cells[1].text, cells[1].tone) == ("†", "target missed", "failed")
    assert "†: an arm missed the background insert rate." in table(shown).note
    assert cells[1].title.startswith("held in 1 of 3")


def test_every_arm_has_its_table() -> None:
    made = page.make(comparison(blocks=3, arms=("pg16", "pg17", "pg18"), troubles=False))
    found = report_parts.verdicts(made)
    assert [(one.arm, one.title) for one in found] == [
        ("pg17", "Verdicts: pg17 against pg16"),
        ("pg18", "Verdicts: pg18 against pg16"),
    ]


# --- In each format --------------------------------------------------------------------------


def test_every_word_fits_80_columns(told: Page) -> None:
    for full in (False, True):
        lines = printed(told, full=full).splitlines()
        assert max(map(cell_len, lines)) <= 80
    rows = [one.split() for one in printed(told).splitlines()]
    assert ["l.i2", "slower", "▼", "−7.0", "[−7.6,", "−6.5]"] in [one[:6] for one in rows]


def test_a_post_has_the_words_in_lists_and_the_table(told: Page) -> None:
    text = markdown.render(told)
    assert "\n- **Slower**: l.i2 throughput −7.0 % \\[−7.6, −6.5\\] and CPU" in text
    assert "| l.i2 | slower ▼ | **−7.0 \\[−7.6, −6.5\\]** |" in text
    assert "▲: faster; ▼: slower." in text


def test_lists_within_lists_are_lists_on_the_page(worded: Comparison) -> None:
    text = html.render(page.make(explained(worded, {"l.i2": "<9.1 % slower>"})))
    assert '<b class="t-slower">Slower:</b> l.i2 throughput' in text
    assert "<li><b>l.i2:</b> &lt;9.1\u00a0% slower&gt;" in text


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(0.2, "1 min"), (40, "40 min"), (60, "1 h"), (200, "3 h 20 min"), (4320, "3.0 days")],
)
def test_a_price_is_said_in_units_that_fit(minutes: float, words: str) -> None:
    assert verdicts.Price(2, minutes).words == f"2 blocks, {words}"
