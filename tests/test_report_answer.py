"""The first screen: the answer in a sentence, one picture of all steps, three warnings at most."""

import io
import re
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

import report_parts
from comparison_builder import comparison
from dbdyno.analysis import compare
from dbdyno.judge.doubts import groups
from dbdyno.model import Comparison, Ratio
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.parts import cells, number
from dbdyno.parts.drawing import ArmEffect, Effects
from dbdyno.parts.part import Page, Text, charts, flat
from dbdyno.parts.table import Table, TableCell
from dbdyno.report import page
from dbdyno.report.render import markdown, terminal

EXAMPLES = Path(__file__).parent / "example_results"
KINDS = sorted((EXAMPLES / "kinds").glob("*/result.tar.xz"))
PAINTED = {"red", "green", "gray", "blue", "yellow", "faster", "slower"}
CHOSEN = {"faster", "slower", "same", "failed"}


def answer(arms: int, steps: int) -> list[str]:
    made = comparison(blocks=3, arms=[f"pg{number}" for number in range(17, 17 + arms)])
    made = type(made)(**{**vars(made), "steps": (made.steps * steps)[:steps]})
    console = Console(file=io.StringIO(), width=80)
    terminal.print_answer(page.make(made), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("steps", [2, 8])
def test_compare_of_two_arms_fits_25_lines_of_80_columns(steps: int) -> None:
    lines = answer(2, steps)
    assert len(lines) <= 25
    assert max(map(cell_len, lines)) <= 80
    assert any(line.startswith("pg18 against pg17: ") for line in lines)


@pytest.mark.long
def test_of_42_steps_the_first_are_drawn_and_the_others_counted() -> None:
    lines = answer(2, 42)
    assert len(lines) < 30
    assert any(line.startswith("and 33 more steps: ") for line in lines)


@pytest.mark.long
def test_of_five_arms_each_has_its_sentence_and_three_a_picture() -> None:
    lines = answer(5, 2)
    assert sum(" against pg17: " in line for line in lines) == 4
    assert sum("─" in line for line in lines) <= 3 * 2


def test_the_answer_stands_before_everything_else_and_counts_the_words() -> None:
    made = page.make(comparison(blocks=3))
    first, picture, *_ = made.parts
    assert isinstance(first, Text) and first.look == "answer"
    effects = next(iter(charts((picture,)))).data
    assert isinstance(effects, Effects)
    for word in {effect.word for effect in effects.effects}:
        count = sum(effect.word == word for effect in effects.effects)
        assert f"{count} {word}" in first.items[0].text


def changed(low: float, value: float, high: float) -> ArmEffect:
    ratio = Ratio(value=value, low=low, high=high, blocks=4)
    return ArmEffect(step="s", word="open", tone="", figures="", also="", speed=ratio)


def test_a_change_is_drawn_in_characters_with_the_margin_shaded() -> None:
    data = Effects(arm="b", margin=0.1, reach=2.0, effects=())
    assert data.drawn(changed(1.25, 1.5, 2.0), 21) == "         ░│░ ├──●───┤"
    assert data.drawn(changed(0.1, 1.0, 3.0), 21) == "◂─────────●─────────▸"
    none = ArmEffect(step="s", word="failed", tone="failed", figures="", also="", speed=None)
    assert data.drawn(none, 21) == "         ░│░         "


def test_the_first_screen_names_three_subjects_by_weight_with_the_blocks_of_each_arm() -> None:
    def doubts(of: DoubtSubject, arm: str | None, *blocks: int | None) -> list[Doubt]:
        return [Doubt(subject=of, words=f"{of} of {arm}", arm=arm, block=n) for n in blocks]

    found = [
        *doubts(DoubtSubject.STATE, None, 1, 2),
        *doubts(DoubtSubject.CANARY, None, None, None),
        *doubts(DoubtSubject.FOREIGN, "pg17", 1, 2, 4, 4),
        *doubts(DoubtSubject.FOREIGN, "pg18", 3),
        *doubts(DoubtSubject.VOID, None, 2, 3, 5),
    ]
    plain = comparison(blocks=4)
    made = replace(plain, doubts=groups(plain.arms, reversed(found)))
    assert report_parts.brief(page.make(made)) == (
        "void block: blocks 2, 3, 5: void block of None",
        "foreign load: pg17 in 3, pg18 in 1 of 4 blocks",
        "canary: canary of None",
        "and 1 more",
    )
    made = replace(made, doubts=groups([], doubts(DoubtSubject.STATE, None, 1)))
    assert report_parts.brief(page.make(made)) == (
        "state at the start differs in 1 of 4 blocks: state at the start differs of None",
    )


# --- Over all example results ------------------------------------------------------------------


@pytest.fixture(scope="module", params=[path.parent.name for path in KINDS])
def example(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("example")
    with tarfile.open(EXAMPLES / "kinds" / request.param / "result.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return compare.load(min(folder.rglob("plan.json"), key=lambda path: len(path.parts)).parent)


def test_nothing_undecided_is_coloured(example: Comparison) -> None:
    shown = page.make(example)
    decided = {
        cell.verdict.word
        for step in example.steps
        for cell in step.cells
        if cell.verdict is not None and cell.verdict.word != "open"
    }
    tones = {cell.tone for cell in table_cells(shown)} & PAINTED
    assert tones <= decided
    for chart in charts(shown.parts):
        if isinstance(chart.data, Effects):
            assert all(bool(one.tone) == (one.word in CHOSEN) for one in chart.data.effects)


def test_a_number_has_one_interval_on_all_of_a_page(example: Comparison) -> None:
    """That of the look that decided, or of all blocks, with the degrees of freedom lent."""
    shown = page.make(example)
    others = [cell for step in example.steps for cell in step.cells[1:]]
    known = {cells.ratio_words(one) for cell in others if (one := cell.ratio)}
    for step in example.steps:
        for cell in step.cells[1:]:
            ratio = cell.ratio
            if ratio is None or cell.verdict is None or cell.ratio is None:
                continue
            words = f"ratio {number.ratio(cell.ratio.value, 3)}, 95 % interval "
            titles = {one.title for one in table_cells(shown) if one.title.startswith(words)}
            assert titles <= known or len(example.arms) > 2, "of another arm by chance"
            effects = report_parts.effects(shown, cell.arm).items()
            effect = next((one for name, one in effects if name.rstrip("†‡‖§").endswith(step.step)))
            if effect.figures.startswith("throughput") and cell.ratio_bound == "exact":
                change = number.changes(ratio.value, ratio.low, ratio.high, "rate")
                assert effect.figures == number.named("throughput", ratio.value, change)


def test_no_page_has_a_word_of_old_or_an_interval_beyond_a_factor_of_10(example: Comparison):
    shown = page.make(example)
    titles = " ".join(f"{cell.text} {cell.detail} {cell.title}" for cell in table_cells(shown))
    text = f"{markdown.render(shown)} {titles}".replace("\\", "")
    old = r"cannot tell\b(?! apart)|\bleans?\b|no direction|not excluded|\bmixed\b"
    assert not re.findall(old, text)
    for ends in re.findall(r"\[([+−][\d.,]+), ([+−][\d.,]+)\]", text):
        low, high = (1 + float(end.replace("−", "-").replace(",", "")) / 100 for end in ends)
        assert low > 0 and high <= 10.1 * low, ends


def table_cells(shown: Page) -> Iterable[TableCell]:
    tables = (part for part in flat(shown.parts) if isinstance(part, Table))
    measured = (
        table
        for table in tables  # but counts, and the highest of several steps
        if not table.name.startswith("work") and not table.name.endswith("-peaks")
    )
    return (cell for table in measured for row in table.rows for cell in row.cells)
