"""What is said where the word is “open”, and on which look a word rests."""

import math
from dataclasses import replace

import pytest

import report_parts
from comparison_builder import comparison
from dbdyno.findings.headline import show as headline
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Comparison, Ratio
from dbdyno.model.looks import Looks
from dbdyno.model.verdict import Judgement
from dbdyno.parts import known, looks
from dbdyno.parts.table import TableCell
from dbdyno.report import page
from dbdyno.stats.looks import looked
from dbdyno.stats.sample import Sample
from verdict_builder import CPU, at_look, judgement, looked_at, so_far, with_judgements, with_word

STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000")


def undecided(metric: str, ratio: float, low: float, high: float, p: float = 0.1) -> Judgement:
    """A metric of six blocks that is open."""
    made = judgement(metric, Ratio(value=ratio, low=low, high=high, blocks=6))
    return replace(made, word="open", p=p)


def waiting(one: Judgement) -> Judgement:
    """The same with a price."""
    return replace(one, blocks_needed=6, minutes_needed=18.0)


@pytest.fixture(scope="module")
def quiet() -> Comparison:
    """Six blocks, looked at after four: every step is open."""
    made = comparison(blocks=6, troubles=False)
    steps = tuple(
        replace(step, cells=(step.cells[0], with_word(step.cells[1], "open")))
        for step in made.steps
    )
    made = replace(made, steps=steps, looked=looked_at(4))
    for step in STEPS:
        made = with_judgements(made, step, _open)
    return made


def _open(one: Judgement) -> Judgement:
    return replace(
        one, so_far=so_far(1.002, 0.95, 1.06), p=0.9, blocks_needed=6, minutes_needed=18.0
    )


def row(made: Comparison, step: str) -> tuple[TableCell, ...]:
    (table,) = verdicts.tables(made, made.steps, "of")
    return next(one.cells for one in table.rows if one.cells[0].text == step)


def note(made: Comparison) -> str:
    (table,) = verdicts.tables(made, made.steps, "of")
    return table.note


def one_step(made: Comparison, step: str, throughput: Judgement) -> Comparison:
    """The comparison in which the throughput of a step is judged so."""

    def other(one: Judgement) -> Judgement:
        return one if one.metric == CPU else replace(throughput, metric=one.metric)

    return with_judgements(made, step, other)


# --- What is excluded ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "low", "high", "words"),
    [
        ("qps", 0.97, 1.14, "no loss beyond 3.0 %"),
        ("qps", 0.83, 0.92, "no loss beyond 17.0 %"),
        ("qps", 1.01, 1.14, "no loss"),
        (CPU, 0.98, 1.14, "no loss beyond 14.0 %"),
        (CPU, 0.9, 0.99, "no loss"),
        ("seconds", 0.98, 1.04, "no loss beyond 4.0 %"),
        ("qps", 0.3, 3.01, "too few repeats"),
        ("qps", 0.3, 2.99, "no loss beyond 70.0 %"),
    ],
)
def test_an_open_change_says_which_loss_is_excluded(
    metric: str, low: float, high: float, words: str
) -> None:
    assert known.excluded([undecided(metric, 1.0, low, high)]) == words


def test_of_two_metrics_the_larger_loss_is_said() -> None:
    both = [undecided("qps", 1.0, 0.97, 1.1), undecided(CPU, 1.0, 0.9, 1.08)]
    assert known.excluded(both) == "no loss beyond 8.0 %"
    assert known.excluded([*both, undecided(CPU, 1.0, 0.1, 20.0)]) == "too few repeats"


def test_nothing_is_excluded_without_an_interval_or_at_the_generators_limit() -> None:
    one = undecided("qps", 1.05, 0.9, 1.1)
    assert known.excluded([replace(one, so_far=so_far(1.0, None, None))]) == ""
    assert known.excluded([one], "at least") == ""


@pytest.mark.parametrize(
    ("nearest", "words"),
    [
        (2.31, "throughput at least 2.31 times the base's in each of 6 blocks"),
        (0.4, "throughput at most 0.40 times the base's in each of 6 blocks"),
        (1.9, ""),
        (0.51, ""),
        (None, ""),
    ],
)
def test_a_direction_that_all_blocks_have_beyond_a_factor_of_2_is_said(
    nearest: float | None, words: str
) -> None:
    one = replace(undecided("qps", 4.0, 0.3, 50.0), nearest=nearest)
    assert known.every_block(one) == words


@pytest.mark.parametrize(
    ("logs", "nearest"),
    [((0.9, 1.2, 0.8), 0.8), ((-0.9, -1.2), -0.9), ((0.9, -0.1), None), ((0.9,), None)],
)
def test_the_block_nearest_to_no_change_is_known_where_all_lie_to_one_side(
    logs: tuple[float, ...], nearest: float | None
) -> None:
    found = Sample(metric="qps", better=1, logs=logs).nearest
    assert found == (None if nearest is None else pytest.approx(math.exp(nearest)))


# --- The price -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        (0.2, "to check 3 % here: 1 min"),
        (40, "to check 3 % here: 40 min"),
        (200, "to check 3 % here: 3 h 20 min"),
        (720, "to check 3 % here: 12 h"),
        (721, "to check 3 %: not on this machine"),
        (None, "to check 3 % here: 2 blocks"),
    ],
)
def test_a_check_has_its_price(minutes: float | None, words: str) -> None:
    one = undecided("qps", 1.05, 0.9, 1.1)
    dear = replace(one, blocks_needed=2, minutes_needed=minutes)
    assert known.to_check([dear]) == words
    assert known.to_check([dear, replace(one, word="same")]) == words


def test_what_no_number_of_blocks_settles_is_not_for_this_machine() -> None:
    dear = replace(undecided("qps", 1.05, 0.9, 1.1), blocks_needed=None)
    assert known.to_check([dear]) == "to check 3 %: not on this machine"
    assert known.price([replace(dear, fills=3)]) == "more fills"
    assert known.to_check([replace(dear, reason="one block")]) == ""
    assert known.to_check([replace(dear, reason="generator at its limit")]) == ""


# --- Where it is said ------------------------------------------------------------------------


def test_the_answer_says_of_open_steps_what_is_excluded_and_what_a_check_takes(quiet: Comparison):
    made = one_step(quiet, "l.i1", waiting(undecided("ips", 0.948, 0.86, 1.045)))
    effect = report_parts.effects(page.make(made))["l.i1"]
    assert (effect.word, effect.figures) == ("open", "throughput −5.2 % [−14.0, +4.5]")
    assert effect.also == "; no loss beyond 14.0 %"


def test_the_table_says_what_is_excluded_and_what_a_check_takes(quiet: Comparison) -> None:
    made = one_step(quiet, "l.i1", waiting(undecided("ips", 0.948, 0.86, 1.045)))
    cells = row(made, "l.i1")
    assert (cells[1].text, cells[1].detail, cells[1].tone) == ("open", "", "")
    assert (cells[2].text, cells[2].detail) == ("−5.2", "[−14.0, +4.5]")
    assert "open, ratio 0.948 0.860–1.045 (95 % interval); 6" in cells[2].title
    assert (cells[4].text, cells[5].text) == ("14.0", "18 min")


def test_an_interval_that_leaves_out_0_beside_open_is_accounted_for(quiet: Comparison) -> None:
    made = one_step(quiet, "qr500", undecided("qps", 0.873, 0.83, 0.92, 0.003))
    words = "an interval may therefore exclude 0 beside “open”"
    assert words in note(made) and words not in note(quiet)


def test_no_interval_wider_than_a_factor_of_10_is_shown(quiet: Comparison) -> None:
    made = one_step(quiet, "l.i1", undecided("ips", 1.5, 0.2, 11.0))
    assert row(made, "l.i1")[2].detail == "[too few repeats]"
    assert "0.2" not in row(made, "l.i1")[2].title
    effect = report_parts.effects(page.make(made))["l.i1"]
    assert "too few repeats" in effect.figures
    assert effect.speed is not None and effect.speed.low is None


# --- The look on which a word rests ----------------------------------------------------------


@pytest.fixture(scope="module")
def slower(quiet: Comparison) -> Comparison:
    """A word from the look after four blocks, and figures of six."""
    steps = tuple(
        replace(step, cells=(step.cells[0], with_word(step.cells[1], "slower")))
        if step.step == "l.i2"
        else step
        for step in quiet.steps
    )
    return with_judgements(
        replace(quiet, steps=steps),
        "l.i2",
        lambda one: at_look(replace(one, so_far=so_far(0.94, 0.93, 0.95)), 0.93, 0.91, 0.951),
    )


def test_a_word_stands_beside_the_figures_of_its_look(slower: Comparison) -> None:
    effect = report_parts.effects(page.make(slower))["l.i2"]
    assert (effect.word, effect.figures) == ("slower", "throughput −7.0 % [−9.0, −4.9]")
    assert effect.also.startswith(" and CPU")
    throughput = row(slower, "l.i2")[2]
    assert (throughput.text, throughput.detail) == ("−7.0", "[−9.0, −4.9]")
    assert "(a decided word: median-unbiased, by the order of the looks)" in note(slower)


def test_figures_of_blocks_after_the_look_are_kept(slower: Comparison) -> None:
    words = (
        "slower, ratio 0.930 0.910–0.951 (95 % interval) at the look after 4 blocks, "
        "by all blocks so far ratio 0.940 0.930–0.950 (95 % interval); 6 blocks"
    )
    assert words in row(slower, "l.i2")[2].title


def test_what_cannot_be_told_stands_beside_all_blocks(quiet: Comparison) -> None:
    made = with_judgements(quiet, "l.i1", lambda one: at_look(one, 0.9, 0.8, 1.1))
    assert row(made, "l.i1")[2].detail == "[−5.0, +6.0]"
    assert "a decided word" not in note(made)


# --- What was lent, and evidence -------------------------------------------------------------


def test_degrees_of_freedom_that_were_lent_stand_beside_the_interval(quiet: Comparison) -> None:
    made = with_judgements(quiet, "l.i1", lambda one: replace(one, lent=1.6))
    assert row(made, "l.i1")[2].detail == "[−5.0, +6.0]⁺²"
    assert "1.6 degrees of freedom lent by other steps" in row(made, "l.i1")[2].title
    assert "⁺ⁿ: up to n degrees of freedom" in note(made) and "lent" not in note(quiet)


@pytest.mark.parametrize(("own", "shown"), [((0.91, 1.1), True), ((0.94, 1.07), False)])
def test_the_own_interval_is_shown_where_it_differs_by_a_third(
    quiet: Comparison, own: tuple[float, float], shown: bool
) -> None:
    low, high = own
    made = with_judgements(
        quiet, "l.i1", lambda one: replace(one, lent=1.6, own_low=low, own_high=high)
    )
    assert ("(by its own blocks alone 0.910–1.100)" in row(made, "l.i1")[2].title) is shown


# --- Which looks were taken, which is next ---------------------------------------------------

HALVES = Looks(first=4)
UNTIL = Looks(first=None)


@pytest.mark.parametrize(
    ("plan", "blocks", "words"),
    [
        (
            HALVES,
            4,
            "Looked at after 4 blocks (½ of the level); next look after 8 blocks "
            "(4 more, about 12 min).",
        ),
        (
            HALVES,
            9,
            "Looked at after 4 (½) and 8 (¼) blocks, each with this share of the level; "
            "next look after 16 blocks (7 more, about 21 min).",
        ),
        (
            HALVES,
            3,
            "Not looked at yet, so nothing is decided; first look after 4 blocks "
            "(1 more, about 3 min).",
        ),
        (
            UNTIL,
            7,
            "Looked at after 3, 4 and 6 blocks (1/7 of the level each); "
            "next look after 8 blocks (1 more, about 3 min).",
        ),
        (
            replace(UNTIL, minutes_max=30.0),
            3,
            "Looked at after 3 blocks (1/7 of the level); next look after 4 blocks "
            "(1 more, about 3 min), or when the plan's 30 min are over.",
        ),
        (
            replace(UNTIL, minutes_max=30.0, last=4),
            4,
            "Looked at after 3 (1/7) and 4 (6/7) blocks, each with this share of the level; "
            "time ran out after 4 blocks: the last look.",
        ),
        (
            replace(UNTIL, last=2),
            2,
            "Looked at after 2 blocks (all of the level); "
            "time ran out after 2 blocks: the last look.",
        ),
        (
            replace(UNTIL, last=33),
            33,
            "Looked at after 3, 4, 6, 8, 12, 20 and 30 blocks (1/7 of the level each); "
            "time ran out after 33 blocks, after all looks.",
        ),
        (
            UNTIL,
            30,
            "Looked at after 3, 4, 6, 8, 12, 20 and 30 blocks (1/7 of the level each); "
            "there is no further look.",
        ),
    ],
)
def test_the_looks_are_said_with_the_next_one(
    quiet: Comparison, plan: Looks, blocks: int, words: str
) -> None:
    made = replace(quiet, blocks=blocks, looked=looked(plan, blocks))
    assert looks.sentence(made) == words
    assert words in [one.text for one in headline.findings(made)]


def test_without_looks_nothing_is_said_of_them(quiet: Comparison) -> None:
    made = replace(quiet, looked=None)
    assert looks.sentence(made) == ""
    assert not any("look" in one.text for one in headline.findings(made))
