"""The budget of noise in a report: one table, one sentence, in every format."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

import report_parts
from comparison_builder import comparison
from dbdyno.model import Comparison
from dbdyno.model.noise_budget import Component, NoiseBudget, Prospect
from dbdyno.report import page
from dbdyno.report.render import markdown, terminal
from dbdyno.report.section import noise_budget
from verdict_builder import calibration

BUDGET = NoiseBudget(
    workload="insert-benchmark",
    step="qr100",
    metric="qps",
    blocks=4,
    seconds=10.0,
    turns=5.0,
    components=(
        Component(source="second", sd=0.04, low=0.03, high=0.05),
        Component(source="turn", sd=0.02, low=0.0, high=0.03),
        Component(source="start", sd=None, low=0.0, high=0.01),
    ),
    error=0.01,
    prospects=(
        Prospect(way="blocks", error=0.012, blocks=6.0, seconds=5.0, turn_s=1.0),
        Prospect(way="seconds", error=0.008, blocks=2.6, seconds=20.0, turn_s=1.0),
        Prospect(way="placement", error=0.009, blocks=4.0, seconds=10.0, turn_s=1.0),
    ),
    best_seconds=None,
)


def with_budget(*budget: NoiseBudget) -> Comparison:
    made = comparison(blocks=6, arms=("pg17", "pg18", "ghost"), troubles=False)
    return replace(made, calibration=replace(calibration(made, arm="ghost"), budget=budget))


def test_sources_stand_beside_what_the_same_minutes_would_bring() -> None:
    table = report_parts.table(page.make(with_budget(BUDGET)), "noise-budget")
    assert table is not None
    assert [column.text for column in table.columns] == [
        *("step", "metric", "seconds", "turns", "starts"),
        *("error, %", "more blocks", "longer steps", "placement"),
    ]
    (row,) = table.rows
    assert [cell.text for cell in row.cells] == [
        *("qr100", "throughput", "4.00", "2.00", "not seen"),
        *("1.00", "1.20", "0.80", "0.90"),
    ]
    assert [cell.detail for cell in row.cells[2:5]] == ["3.00–5.00", "0.00–3.00", "up to 1.00"]
    assert row.cells[7].title == "2.6 blocks of 20.0 s"


def test_what_buys_most_is_said_in_a_sentence() -> None:
    said = noise_budget.sentence([BUDGET])
    assert said is not None
    assert said.text == (
        "The same minutes gain most from longer steps (twice as long, in fewer blocks): 80 % of "
        "the error would remain; more blocks 120 %. Another placement of processes would leave "
        "90 % or more. Server starts add no visible noise: only the seconds of blocks count."
    )
    worse = replace(BUDGET, best_seconds=12.0, prospects=(replace(BUDGET.prospects[0]),))
    said = noise_budget.sentence([worse])
    assert said is not None
    assert said.text == (
        "The same minutes are well spent: even with more blocks (with steps of half the length), "
        "120 % of the error would remain. Steps of 12.0 s reach a given error soonest."
    )
    assert noise_budget.sentence([replace(BUDGET, prospects=())]) is None


@pytest.mark.parametrize("budget", [(), (BUDGET,)])
def test_the_terminal_and_a_post_show_it_where_there_is_one(
    budget: tuple[NoiseBudget, ...],
) -> None:
    view = page.make(with_budget(*budget))
    console = Console(file=io.StringIO(), width=100)
    terminal.print_page(view, console, full=True)
    assert isinstance(console.file, io.StringIO)
    for text in (console.file.getvalue(), markdown.render(view)):
        flat = " ".join(text.split())
        assert ("Where the noise of pg17 comes from" in flat) == bool(budget)
        assert ("The same minutes gain most from longer steps" in flat) == bool(budget)
