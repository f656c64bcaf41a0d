"""What is said where the word is “cannot tell”, and on which look a word rests."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from comparison_builder import comparison
from dbdyno.model import Comparison, Ratio
from dbdyno.model.looks import Looked, Looks
from dbdyno.model.verdict import Judgement, Word
from dbdyno.report import known, looks, page
from dbdyno.report.parts import Finding, TableCell
from dbdyno.report.render import html, markdown, terminal
from dbdyno.report.section import headline, verdicts
from dbdyno.stats.looks import looked
from verdict_builder import CPU, at_look, judgement, looked_at, with_judgements, with_word

STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000")


def undecided(metric: str, ratio: float, low: float, high: float, p: float = 0.1) -> Judgement:
    """A metric of six blocks that cannot be told."""
    made = judgement(metric, Ratio(value=ratio, low=low, high=high, blocks=6))
    return replace(made, word="cannot tell", p=p)


@pytest.fixture(scope="module")
def quiet() -> Comparison:
    """Six blocks, looked at after four: in every step nothing can be told, and nothing leans."""
    made = comparison(blocks=6, troubles=False)
    steps = tuple(
        replace(step, cells=(step.cells[0], with_word(step.cells[1], "cannot tell")))
        for step in made.steps
    )
    made = replace(made, steps=steps, looked=looked_at(4))
    for step in STEPS:
        made = with_judgements(made, step, _open)
    return made


def _open(one: Judgement) -> Judgement:
    return replace(
        one, ratio=1.002, low=0.95, high=1.06, p=0.9, blocks_needed=6, minutes_needed=18.0
    )


def items(made: Comparison) -> dict[str, Finding]:
    """What the headline says of pg18, by its labels."""
    return {item.label: item for item in headline.findings(made)[0].items}


def said(made: Comparison, label: str) -> dict[str, str]:
    """The steps below a label of the headline, with what is said of them."""
    return {item.label: item.text for item in items(made)[label].items}


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


# --- Which way it leans ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "ratio", "p", "way"),
    [
        ("qps", 0.95, 0.2, "slower"),
        ("qps", 1.05, 0.2, "faster"),
        (CPU, 1.05, 0.01, "slower"),
        (CPU, 0.95, 0.01, "faster"),
        ("throughput", 1.05, 0.01, "faster"),
        ("qps", 0.95, 0.21, None),
        (CPU, 1.05, 1.0, None),
    ],
)
def test_a_metric_leans_where_the_80_percent_interval_lies_to_one_side(
    metric: str, ratio: float, p: float, way: str | None
) -> None:
    assert known.lean(undecided(metric, ratio, 0.9, 1.1, p)) == way


@pytest.mark.parametrize("word", ["slower", "same", "limited", "one block"])
def test_what_is_decided_or_has_another_word_does_not_lean(word: Word) -> None:
    one = replace(undecided("qps", 0.9, 0.8, 0.99, 0.01), word=word)
    assert known.lean(one) is None


def test_who_stood_still_leans_no_way() -> None:
    assert known.lean(replace(undecided("qps", 1.1, 1.0, 1.2, 0.05), stood_still=2)) is None


def test_a_step_leans_as_its_metrics_do() -> None:
    slower, more = undecided("qps", 0.95, 0.9, 1.01), undecided(CPU, 1.05, 0.99, 1.1)
    less, none = undecided(CPU, 0.95, 0.9, 1.01), undecided(CPU, 1.0, 0.9, 1.1, 0.9)
    assert known.direction([slower, more]) == known.direction([slower, none]) == "leans slower"
    assert known.direction([slower, less]) == "leans both ways"
    assert known.direction([none]) == "no direction"


# --- What is excluded ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "ratio", "low", "high", "words"),
    [
        ("qps", 1.05, 0.97, 1.14, "+5.0 %; not excluded: −3.0 to +14.0 %"),
        ("qps", 1.05, 0.98, 1.14, "+5.0 % [−2.0, +14.0], at most 2.0 % slower"),
        ("qps", 0.95, 0.9, 1.02, "−5.0 % [−10.0, +2.0], at most 2.0 % faster"),
        (CPU, 1.05, 0.98, 1.14, "+5.0 % [−2.0, +14.0], at most 2.0 % less"),
        (CPU, 0.95, 0.9, 1.02, "−5.0 % [−10.0, +2.0], at most 2.0 % more"),
        ("qps", 0.87, 0.83, 0.92, "−13.0 %; not excluded: −17.0 to −8.0 %"),
        ("qps", 1.001, 0.98, 1.02, "+0.1 %; not excluded: −2.0 to +2.0 %"),
    ],
)
def test_an_undecided_change_says_what_is_still_possible(
    metric: str, ratio: float, low: float, high: float, words: str
) -> None:
    assert known.change(undecided(metric, ratio, low, high)) == words


def test_nothing_is_excluded_without_an_interval() -> None:
    one = replace(undecided("qps", 1.05, 0.9, 1.1), low=None, high=None)
    assert known.change(one) == "+5.0 %"


# --- Where it is told ------------------------------------------------------------------------


def test_the_headline_says_what_is_known_before_that_it_cannot_be_told(quiet: Comparison) -> None:
    made = one_step(quiet, "l.i1", undecided("ips", 0.948, 0.86, 1.045))
    made = one_step(made, "qp500", undecided("qps", 1.021, 0.985, 1.058))
    assert list(items(made)) == [
        "Leans slower, cannot tell",
        "Leans faster, cannot tell",
        "No direction, cannot tell",
        "To settle",
    ]
    assert said(made, "Leans slower, cannot tell") == {
        "l.i1": "throughput −5.2 %; not excluded: −14.0 to +4.5 %"
    }
    assert said(made, "Leans faster, cannot tell") == {
        "qp500": "throughput +2.1 % [−1.5, +5.8], at most 1.5 % slower"
    }


def test_steps_beyond_the_first_are_counted(quiet: Comparison) -> None:
    found = items(quiet)["No direction, cannot tell"]
    assert found.text == "10 steps, of which" and len(found.items) == 6


def test_both_metrics_are_told_where_they_lean_apart(quiet: Comparison) -> None:
    def apart(one: Judgement) -> Judgement:
        return replace(one, ratio=0.95, low=0.9, high=1.002, p=0.06)

    made = with_judgements(quiet, "l.i1", apart)
    assert said(made, "Leans both ways, cannot tell") == {
        "l.i1": "throughput −5.0 % [−10.0, +0.2], at most 0.2 % faster and "
        "CPU −5.0 % [−10.0, +0.2], at most 0.2 % more"
    }


def test_the_table_says_which_way_a_step_leans(quiet: Comparison) -> None:
    made = one_step(quiet, "l.i1", undecided("ips", 0.948, 0.86, 1.045))
    cells = row(made, "l.i1")
    assert (cells[1].text, cells[1].tone) == ("leans slower, cannot tell", "")
    assert (cells[2].text, cells[2].detail) == ("−5.2", "[−14.0, +4.5]")
    assert "leans slower, cannot tell, ratio 0.948 0.860–1.045 (95 % interval); 6" in cells[2].title
    assert row(made, "qp100")[1].text == "cannot tell"
    assert "“Leans”: the 80 % interval" in note(made) and "“Leans”" not in note(quiet)


def test_an_interval_that_leaves_out_0_beside_cannot_tell_is_accounted_for(
    quiet: Comparison,
) -> None:
    made = one_step(quiet, "qr500", undecided("qps", 0.873, 0.83, 0.92, 0.003))
    words = "an interval may therefore exclude 0 beside “cannot tell”"
    assert words in note(made) and words not in note(quiet)


def test_every_format_has_what_is_known_in_its_width(quiet: Comparison) -> None:
    made = page.make(one_step(quiet, "l.i1", undecided("ips", 0.948, 0.86, 1.045)))
    console = Console(file=io.StringIO(), width=80)
    terminal.print_page(made, console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert "    l.i1: throughput −5.2 %; not excluded: −14.0 to +4.5 %" in [
        line.replace("\u00a0", " ") for line in lines
    ]
    text = markdown.render(made)
    assert "- **Leans slower, cannot tell**" in text and "| leans slower, cannot tell |" in text
    assert "leans slower, cannot tell" in html.render(made)


# --- The price -------------------------------------------------------------------------------


def test_what_cannot_be_told_has_its_price(quiet: Comparison) -> None:
    made = with_judgements(quiet, "qr500", lambda one: replace(one, minutes_needed=200.0))
    assert items(made)["To settle"].text == "6 more blocks, about 3 h 20 min"
    assert row(quiet, "qr500")[5].text == "6 blocks, 18 min"


def test_what_no_number_of_blocks_settles_is_counted(quiet: Comparison) -> None:
    made = with_judgements(quiet, "l.i1", lambda one: replace(one, blocks_needed=None))
    words = "6 more blocks, about 18 min; 1 of 10: over 1,000 blocks"
    assert items(made)["To settle"].text == words
    assert row(made, "l.i1")[5].text == "over 1,000 blocks"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (looked_at(4), "over 1,000 blocks"),
        (looked_at(3, 4, first=None, coming=6), "no look of its plan"),
        (None, "over 1,000 blocks"),
        (looked_at(4, judge="any time"), "over 1,000 blocks"),
    ],
)
def test_what_is_beyond_the_looks_says_so(
    quiet: Comparison, found: Looked | None, words: str
) -> None:
    made = replace(quiet, looked=found)
    for step in STEPS:
        made = with_judgements(made, step, lambda one: replace(one, blocks_needed=None))
    assert items(made)["To settle"].text == words


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
        lambda one: at_look(replace(one, ratio=0.94, low=0.93, high=0.95), 0.93, 0.91, 0.951),
    )


def test_a_word_stands_beside_the_figures_of_its_look(slower: Comparison) -> None:
    assert items(slower)["Slower"].text.startswith("l.i2 throughput −7.0 % [−9.0, −4.9] and CPU")
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


def test_without_a_look_left_it_takes_a_new_result(quiet: Comparison) -> None:
    made = replace(quiet, looked=looked_at(4, coming=None))
    assert row(made, "l.i1")[5].text == "6 blocks anew, 18 min"
    assert items(made)["To settle"].text == (
        "a new result of 6 blocks, about 18 min, as no look of this one is left"
    )


def test_evidence_is_told_and_is_no_word(quiet: Comparison) -> None:
    made = with_judgements(quiet, "l.i1", lambda one: replace(one, evidence=12.34))
    assert row(made, "l.i1")[2].title.endswith("evidence so far: e = 12.3")
    assert row(made, "l.i1")[1].text == "cannot tell"
    assert "vidence" not in str(headline.findings(made))
    assert "vidence" not in verdicts.details(undecided("qps", 1.1, 1.0, 1.2))


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
        (
            replace(HALVES, judge="any time"),
            5,
            "Judged after each block by an e-process, which may be read at any time.",
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
