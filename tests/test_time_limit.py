"""`minutes_max` holds within 10 %, and repeats come from one budget: on a clock that tests set."""

import random
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

import keeping_fake
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.model import Comparison
from dbdyno.model.disturbance import Disturbance
from dbdyno.run import blocks, looks, progress, site, time_limit, void
from dbdyno.run.runner import LocalRunner
from dbdyno.store import BlockFolder, Results

PLAN = """
name = "limited"
base = "old"
arms.old = { engine = "fake", fake = { default_us = 100 } }
arms.new = { engine = "fake", fake = { default_us = 100 } }
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0"]
[schedule]
"""
READS = PLAN.replace("insert-benchmark", "sysbench").replace(
    'steps = ["l.i0"]',
    'steps = ["fill", "point-query"]\nsave = "post-fill"\n'
    "parameters = { rows = 1_000, seconds = 1, warmup_s = 0, pause_s = 0 }",
)
LOAD = ("l.i0 of new", Disturbance(cause="foreign", amount=0.4, limit=0.05))


@dataclass
class World:
    """A host whose clock and load are drawn: what each block takes, and whether it is disturbed."""

    block_s: float
    scatter: float = 0.0  # of a block's logarithm
    first: float = 1.0  # by how much the first is longer, as it loads data
    load: float = 0.0  # the share of blocks that are disturbed
    seed: int = 1
    now_s: float = 1_000.0
    tries: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)

    def measured(self, *_: object) -> list[object]:
        """A block goes by."""
        took_s = self.block_s * self._draw.lognormvariate(0, self.scatter)
        self.tries.append(took_s if self.tries else took_s * self.first)
        self.now_s += self.tries[-1]
        return []

    def disturbances(self, *_: object) -> list[tuple[str, Disturbance]]:
        """What is found in a block."""
        return [LOAD] if self._draw.random() < self.load else []


def run(world: World, schedule: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """The results of a plan in a world, and the world after it."""
    monkeypatch.setattr(time, "monotonic", lambda: world.now_s)
    monkeypatch.setattr(site, "measured", world.measured)
    monkeypatch.setattr(void, "disturbances", world.disturbances)
    of = plan.parse(PLAN + schedule, None)
    undecided = cast(Comparison, type("Read", (), {"steps": ()}))
    monkeypatch.setattr(looks, "why_over", not_decided)
    outcome = looks.run(of, folder, lambda _: undecided, runner=LocalRunner(wait=True), quiet=True)
    return Results.open(outcome.folder)


def not_decided(lab: blocks.Lab, *_: object) -> str | None:
    """As why_over, where no step is ever decided."""
    over = time_limit.is_over(lab, lab.plan.schedule.minutes_max)
    return "over" if over or lab.results.complete() >= lab.plan.schedule.blocks else None


WORLDS = {
    "even": World(block_s=61),
    "scattered": World(block_s=40, scatter=0.15),
    "a long first block": World(block_s=30, first=6),
    "blocks as long as the limit": World(block_s=590),
    "two blocks that fill it": World(block_s=320),
    "load that stays": World(block_s=100, load=1),
    "load that stays in long blocks": World(block_s=400, load=1),
    "load that comes and goes": World(block_s=45, scatter=0.1, load=0.4),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_minutes_of_a_plan_hold_within_a_tenth_and_are_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = replace(WORLDS[name], tries=[])
    run(world, 'blocks = "until decided"\nminutes_max = 10', tmp_path, monkeypatch)
    spent_s = sum(world.tries)
    assert spent_s <= 600 * time_limit.LATE_MAX
    assert spent_s + 1.5 * max(world.tries) > 600, "no time for a further block"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(24))
def test_the_minutes_hold_in_drawn_worlds(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block that is longer than all before it may be the last: that is its scatter alone."""
    draw = random.Random(seed)
    world = World(
        block_s=draw.uniform(20, 300), scatter=draw.choice([0, 0.05, 0.1]),
        first=draw.uniform(1, 2), load=draw.choice([0, 0.3, 1]), seed=seed,
    )  # fmt: skip
    run(world, 'blocks = "until decided"\nminutes_max = 10', tmp_path, monkeypatch)
    assert sum(world.tries[:-1]) + world.block_s <= 600 * time_limit.LATE_MAX * 1.02


@pytest.mark.parametrize(("most", "voids"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_load_that_stays_costs_the_plan_its_repeats_once(
    most: int, voids: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(block_s=60, load=1)
    results = run(world, f"blocks = 5\nrepeats_max = {most}", tmp_path, monkeypatch)
    assert len(world.tries) == 5 + voids
    assert all(block.disturbed() for block in counted(results))
    again = run(world, f"blocks = 6\nrepeats_max = {most}", tmp_path, monkeypatch)
    assert len(world.tries) == 6 + voids, "those of an earlier command count"
    assert [block.number for block in counted(again)] == [1, 2, 3, 4, 5, 6]


def test_a_repeat_that_is_undisturbed_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(block_s=60)
    turns = iter([True, False] * 6)
    monkeypatch.setattr(world, "disturbances", lambda *_: [LOAD] if next(turns) else [])
    results = run(world, "blocks = 6\nrepeats_max = 1", tmp_path, monkeypatch)
    assert len(world.tries) == 12
    assert not any(block.disturbed() for block in counted(results))


def test_a_block_that_counts_disturbed_says_why_it_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(blocks.Watch, "say", lambda _, text: said.append(text))
    schedule = 'blocks = "until decided"\nminutes_max = 10'
    run(World(block_s=100, load=1), schedule, tmp_path / "a", monkeypatch)
    run(World(block_s=590, load=1), schedule, tmp_path / "b", monkeypatch)
    run(World(block_s=60, load=1), "blocks = 1\nrepeats_max = 0", tmp_path / "c", monkeypatch)
    words = [line for line in said if "counts although" in line]
    assert [line.split(", as ")[1].split(":")[0] for line in words] == [
        *["2 repeats of the plan were disturbed, too (`repeats_max`)"] * 4,
        "a repeat does not fit into `minutes_max`",
        "`repeats_max` is 0",
    ]


LEFT = re.compile(r"\((?P<seconds>[\d.e-]+) left\)")


@pytest.mark.parametrize(
    "schedule",
    [
        "blocks = 2",
        "blocks = 2\ntrial = true",
        'blocks = 2\nrest_s = 0.01\ninterleave = "step"',
        'blocks = "until decided"\nminutes_max = 0.5\ntrial = true',
    ],
)
def test_the_time_left_comes_to_0_once(
    schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    keeping_fake.install(monkeypatch, tmp_path / "data", 0.0)
    monkeypatch.setattr(progress, "duration", str)
    monkeypatch.setattr(blocks.Watch, "say", lambda _, text: said.append(text))
    of = plan.parse(f'{READS}{schedule}\n[server]\ndata_dir = "{tmp_path}/data"', None)
    looks.run(of, tmp_path, compare.load, runner=LocalRunner(wait=True))
    left = [float(found["seconds"]) for line in said if (found := LEFT.search(line))]
    assert len(left) > 8
    assert 0.0 not in left[:-1]
    assert left[-1] == 0.0 or "minutes_max" in schedule


def counted(results: Results) -> list[BlockFolder]:
    """The blocks that count."""
    return [block for block in results.blocks() if not block.void]
