"""The noise of arms alike by how they are interleaved: arithmetic and plans, without measuring."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from bench import command, interleave
from bench.compare import Bench
from comparison_builder import comparison
from dbdyno import plan


def test_noise_is_the_spread_of_log_ratios_with_its_interval() -> None:
    """By the tables of chi-square with 3 degrees of freedom: 0.2158 and 9.3484."""
    found = interleave.noise([0.01, -0.01, 0.03, -0.03])
    sd = 100 * (0.002 / 3) ** 0.5
    assert found["sd_percent"] == pytest.approx(sd, abs=1e-3)
    low, high = found["sd_percent_interval"]
    assert low == pytest.approx(sd * (3 / 9.3484) ** 0.5, abs=1e-3)
    assert high == pytest.approx(sd * (3 / 0.2158) ** 0.5, rel=1e-3)
    assert (found["blocks"], found["mean_percent"]) == (4, 0)


@pytest.mark.parametrize("way", ["run", "step", "turn"])
def test_the_plan_of_two_arms_alike_can_be_run_in_every_way(way: str) -> None:
    bench = Bench(generator=Path("/none"), pairs=8, seconds=6, rows=1)
    made = plan.parse(interleave.text(bench, way, Path("/data")), None)
    a, b = made.arms
    assert replace(a, name="b") == b
    assert (made.schedule.blocks, made.schedule.interleave) == (8, way)


@pytest.mark.long
def test_blocks_that_have_both_arms_are_paired_whatever_their_order() -> None:
    step = comparison(blocks=4).steps[0]
    first, second = sorted((cell.arm, cell) for cell in step.cells)[:2]
    runs = first[1].runs[1:]
    pair = replace(step, cells=(second[1], replace(first[1], runs=runs)))
    by_block = {run.block: run.metrics["ips"] for run in second[1].runs}
    wanted = [math.log(by_block[run.block] / run.metrics["ips"]) for run in runs]
    assert interleave.log_ratios(pair, "ips") == pytest.approx(wanted)


def test_what_takes_long_runs_only_where_it_is_named() -> None:
    assert "interleave" not in command.parse([]).names
    assert command.parse(["interleave", "point"]).names == ["point", "interleave"]
