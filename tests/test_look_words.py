"""What is said at a look, and why a plan ends."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from dbdyno import plan
from dbdyno.model import Cell, Plan, StepComparison, StepRun
from dbdyno.model.looks import Looks
from dbdyno.model.verdict import Verdict, Word
from dbdyno.run import look_words
from dbdyno.stats.looks import looked

PLAN = """
arms.a = { engine = "fake", fake = { default_us = 100 } }
[[workloads]]
name = "sysbench"
[schedule]
"""


def parsed(schedule: str) -> Plan:
    return plan.parse(PLAN + schedule, Path("/plans/p.toml"))


def step(name: str, **words: Word) -> StepComparison:
    """A step with an arm for each word, beside the base."""
    base = Cell(
        arm="base", runs=(), value=None, value_bound="exact", ratio=None, ratio_bound="exact",
        sla_met=None, metrics={}, estimates={},
    )  # fmt: skip
    cells = (
        replace(
            base,
            arm=arm,
            runs=(cast(StepRun, None),),
            verdict=Verdict(word=word, by=(), judgements=()),
        )
        for arm, word in words.items()
    )
    return StepComparison(workload="w", ordinal=1, step=name, headline="qps", cells=(base, *cells))


def test_a_single_arm_has_a_line() -> None:
    steps = [step("s1", b="slower"), step("s2", b="same"), step("s3", b="slower")]
    steps += [step(f"o{number}", b="open") for number in range(8)]
    four = looked(Looks(first=4), 5)
    assert list(look_words.of_look(steps, four, parsed("blocks = 9"))) == [
        "look after 4 blocks: 3 of 11 steps decided: 2 slower, 1 same; open: o0, o1, o2, o3, o4, "
        "o5 and 2 more; next look after 8 blocks"
    ]


def test_several_arms_have_a_line_each() -> None:
    steps = [step("s1", b="slower", c="open"), step("s2", b="slower", c="same")]
    ended = looked(Looks(first=None, last=3), 3)
    assert list(look_words.of_look(steps, ended, parsed('blocks = "until decided"'))) == [
        "look after 3 blocks",
        "  b: 2 of 2 steps decided: 2 slower",
        "  c: 1 of 2 steps decided: 1 same; open: s1",
    ]


def test_where_nothing_is_judged_nothing_is_said() -> None:
    assert list(look_words.of_look([], looked(Looks(first=2), 2), parsed("blocks = 2"))) == []


@pytest.mark.parametrize(
    ("schedule", "line"),
    [
        ("blocks = 4", "after 4 blocks; another after 8, if you raise `blocks`"),
        ("", "none, because one block decides nothing; the first is after 2"),
    ],
)
def test_a_plan_says_its_looks_before_it_begins(schedule: str, line: str) -> None:
    assert look_words.planned(parsed(schedule)) == line
