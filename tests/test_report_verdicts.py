"""Verdicts as people read them: each word, its colour, its figures, and its price."""

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

import report_parts
from comparison_builder import comparison
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Comparison
from dbdyno.model.verdict import Verdict
from dbdyno.parts import drawing
from dbdyno.parts.drawing import Effects
from dbdyno.parts.part import Page, charts
from dbdyno.parts.table import Table, TableCell
from dbdyno.report import page
from dbdyno.report.render import html, markdown, terminal
from verdict_builder import explained, overall, so_far, with_judgements, with_words

STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000")
WORDS = {
    "l.i0": "faster",
    "l.x": "faster, within the margin",
    "l.i1": "same",
    "l.i2": "slower",
    "qr100": "slower, within the margin",
    "qp100": "nothing to compare",
    "qr500": "open",
    "qp500": "generator at its limit",
    "qr1000": "failed",
    "qp1000": "open",
}


@pytest.fixture(scope="module")
def quiet() -> Comparison:
    """Six blocks in which nothing goes wrong."""
    return comparison(blocks=6, troubles=False)


@pytest.fixture(scope="module")
def worded(quiet: Comparison) -> Comparison:
    """The same with a verdict of each word."""
    return with_words(quiet, WORDS)


@pytest.fixture(scope="module")
def told(worded: Comparison) -> Page:
    return page.make(worded)


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


def test_what_matters_is_counted_first_and_ranked_first_in_the_answer(told: Page) -> None:
    effects = sorted(report_parts.effects(told).values(), key=lambda effect: effect.rank)
    words = list(dict.fromkeys(effect.word for effect in effects))
    assert words == ["failed", "slower", "faster", "same", "open"]
    saying = report_parts.items(told, "answer-0")[0].text
    assert saying.startswith("pg18 against pg17: 1 failed, 2 slower (1 within ±3 %), 2 faster (1")


def test_only_what_is_decided_has_a_colour(told: Page) -> None:
    effects = report_parts.effects(told).values()
    tones = {(effect.word, effect.tone) for effect in effects}
    assert {("slower", "slower"), ("faster", "faster"), ("slower", "alike")} <= tones
    assert {("same", "alike"), ("open", "")} <= tones


def test_metrics_that_disagree_each_have_their_word(quiet: Comparison) -> None:
    made = with_words(quiet, {"l.i2": "slower"})
    split = replace(judged(made, "l.i2"), by=("cpu_per_op",), against=("ips",))
    assert verdicts.said(split, sure=True) == "slower by CPU, faster by throughput"
    assert verdicts.said(split, sure=False) == "perhaps slower by CPU, faster by throughput"


def test_a_change_is_told_by_the_metric_that_says_it(quiet: Comparison) -> None:
    made = with_words(quiet, {"l.i2": "slower"})
    verdict = judged(made, "l.i2")
    for by, words in (
        (("ips",), "throughput −7.0 % [−7.6, −6.5]"),
        (("cpu_per_op",), "CPU +0.6 % [−2.0, +3.3]"),
    ):
        steps = tuple(
            replace(
                one, cells=(one.cells[0], replace(one.cells[1], verdict=replace(verdict, by=by)))
            )
            for one in made.steps
            if one.step == "l.i2"
        )
        effect = report_parts.effects(page.make(replace(made, steps=steps)))["l.i2"]
        assert effect.figures == words


def test_steps_stand_in_their_order_and_the_largest_changes_are_those_that_are_shown(
    quiet: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "EFFECTS_MAX", 4)
    made = page.make(with_words(quiet, dict.fromkeys(STEPS, "slower")))
    assert list(report_parts.effects(made)) == [step.step for step in quiet.steps]
    (drawn,) = (one.data for one in charts(made.parts) if isinstance(one.data, Effects))
    shown, rest = drawn.parted
    assert [effect.step for effect in shown] == ["l.x", "l.i2", "qr1000"]
    assert {effect.rank for effect in shown} == {0, 1, 2} and len(rest) == len(STEPS) - 3


@pytest.mark.long
def test_the_sentence_of_an_arm_has_its_means_with_throughput_first(quiet: Comparison) -> None:
    throughput, cpu = judged(quiet, "l.i0").judgements
    whole = overall(
        "pg18",
        "insert-benchmark",
        throughput=replace(throughput, word="faster", so_far=so_far(1.021, 1.012, 1.03)),
        cpu=replace(cpu, word="faster", so_far=so_far(0.97, 0.961, 0.979)),
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
        throughput=replace(throughput, word="same", so_far=so_far(1.001, 0.994, 1.007)),
        cpu=replace(cpu, word="open", so_far=so_far(0.99, 0.94, 1.04)),
    )
    assert report_parts.headline(page.make(replace(quiet, overall=whole)))[0].text == (
        "pg18 against pg17, 6 blocks: throughput over 9 steps +0.1 % [−0.6, +0.7] "
        "(same within ±3 %); CPU per operation −1.0 % [−6.0, +4.0] (open, no loss beyond 4.0 %)."
    )


def test_a_reason_stands_beside_the_step_that_changed(quiet: Comparison) -> None:
    made = with_words(quiet, {"l.i2": "slower", "l.x": "faster"})
    texts = {step: f"why {step}" for step in ("l.x", "l.i2")}
    effects = report_parts.effects(page.make(explained(made, texts)))
    assert effects["l.i2"].reason == "why l.i2" and effects["l.x"].reason == "why l.x"
    assert effects["l.i0"].reason == ""


def test_what_has_no_verdict_is_shown_and_not_judged(quiet: Comparison) -> None:
    steps = tuple(
        replace(one, cells=(one.cells[0], replace(one.cells[1], verdict=None)))
        for one in quiet.steps
    )
    made = page.make(replace(quiet, steps=steps))
    effects = report_parts.effects(made)
    assert {(effect.word, effect.tone) for effect in effects.values()} == {("not judged", "")}
    assert effects["l.i0"].figures == "throughput +4.7 % [+3.7, +5.7]"
    assert report_parts.verdicts(made) == ()


# --- The table -------------------------------------------------------------------------------


def test_the_table_has_a_row_for_each_step_with_its_word(told: Page) -> None:
    assert [one.cells[0].text for one in table(told).rows] == list(STEPS)
    shown = [one.cells[1] for one in table(told).rows]
    words = [cell.text.replace("±3 %", "the margin") for cell in shown]
    assert words == [
        "open" if text.startswith(("generator", "nothing")) else text for text in WORDS.values()
    ]
    assert [cell.detail for cell in shown[5:8]] == [
        "nothing to compare",
        "",
        "generator at its limit",
    ]
    assert table(told).arm == "pg18"


def test_a_metric_that_says_the_verdict_stands_out(told: Page) -> None:
    assert [cell.tone for cell in row(told, "l.i2")[1:4]] == ["slower", "notice", "notice"]
    assert [cell.tone for cell in row(told, "qr500")[1:4]] == ["", "", ""]


def test_a_change_has_its_interval_and_its_tests_on_hover(told: Page) -> None:
    throughput = row(told, "l.i2")[2]
    assert (throughput.text, throughput.detail) == ("−7.0", "[−7.6, −6.5]")
    assert "6 blocks, p 0.0020, q 0.0080, sign-flip p 0.03, sd between blocks" in throughput.title


def test_of_open_steps_the_table_says_the_largest_loss_that_is_left(worded: Comparison) -> None:
    made = page.make(changed(worded, "qr500", so_far=so_far(0.98, 0.95, 1.02)))
    assert row(made, "qr500")[4].text == "5.0"
    assert row(made, "l.i2")[4].text == row(made, "l.i1")[4].text == ""


def test_the_table_of_one_block_has_no_intervals() -> None:
    made = page.make(comparison(blocks=1, troubles=False))
    cells = row(made, "l.i0")
    assert [cell.text for cell in cells[:2]] == ["l.i0", "open"]
    assert [cell.detail for cell in cells[1:4]] == ["one block", "", ""]
    assert table(made).note.startswith("One block decides nothing.")


def test_a_missed_target_is_marked_and_not_coloured_as_slow(shown: Page) -> None:
    cells = row(shown, "qr1000")
    assert (cells[0].mark, cells[1].text, cells[1].tone) == ("†", "failed", "failed")
    assert "†: an arm missed the background insert rate." in table(shown).note
    assert cells[1].detail == "target missed"
    assert cells[1].title.startswith("held in 1 of 3")


@pytest.mark.long
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


def test_a_post_has_the_answer_and_the_table_of_verdicts(told: Page) -> None:
    text = markdown.render(told)
    assert "\n| l.i2 | slower | throughput −7.0 % \\[−7.6, −6.5\\] and CPU" in text
    assert "| l.i2 | slower ▼ | **−7.0 \\[−7.6, −6.5\\]** |" in text
    assert "▲: faster; ▼: slower." in text


@pytest.mark.long
def test_a_reason_is_text_on_the_page(worded: Comparison) -> None:
    text = html.render(page.make(explained(worded, {"l.i2": "<9.1 % slower>"})))
    assert '<b class="word t-slower">slower</b>' in text
    assert '<p class="reason">&lt;9.1\u00a0% slower&gt;</p>' in text
