"""The plans of a head: its arms, and the races and counts that measure it, as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.farm.readings import HEAD

if TYPE_CHECKING:
    from dbdyno.farm.file import Branch, Farm
    from dbdyno.model import Plan

COUNT_MINUTES = 1.0
"""The minutes that tables are sized for where work is counted: it needs no large ones."""
BLOCKS = 6
"""Of a race of a head, whose steps are as long as so many blocks let them be."""
BLOCKS_MAX = 60
PROFILE_MINUTES = 10.0
"""Of a race whose steps are sampled, of a commit beside the one before it; samples not counted."""
PROFILE = "\n[observe]\nprofile = { seconds = 10, hertz = 99 }\n"
REPEATS, REPEATS_OF_WRITES = 2, 3
"""Counts of each arm: every head is counted again beside the next one. Of steps that write single
counts may be off (analysis/commit_work.py)."""


@dataclass(frozen=True, kw_only=True)
class HeadPlan:
    """A plan that measures a head."""

    arms: Mapping[str, str]  # by the arm's name, as a race has it: a build, a version, a folder
    steps: tuple[str, ...]
    count: bool  # whether work is counted, and no time is measured
    minutes: float
    seed: int = 1
    profile: bool = False  # whether the functions are sampled, too


def text_of(farm: Farm, branch: Branch, wanted: HeadPlan, path: Path) -> str:
    """The plan as TOML. `path`: the file that it is for. Raises DynoError."""
    from dbdyno.cli import race
    from dbdyno.cli.source_arm import SourceBuilds
    from dbdyno.plan import bisect
    from dbdyno.plan.race.course import DEFAULT

    minutes = COUNT_MINUTES if wanted.count else max(COUNT_MINUTES, wanted.minutes)
    words = race.RaceOptions(
        arms=list(wanted.arms.values()), workload=workload_of(farm, branch),
        steps=list(wanted.steps), config=list(branch.config), settings=[], pgbench=[],
        count=wanted.count, minutes=minutes,
    )  # fmt: skip
    sources = SourceBuilds()
    race_of = race.race_of(words, race.look_around(sources))
    sources.refuse_unmade()
    arms = tuple(
        replace(arm, name=name) for arm, name in zip(race_of.arms, wanted.arms, strict=True)
    )
    race_of = replace(race_of, arms=arms, counted=True, seed=wanted.seed)
    if wanted.count:
        steps = bisect.measured(race_of.workload or DEFAULT, wanted.steps, arms[0].engine)
        writes = any(step.writes for step in steps.values())
        repeats = REPEATS_OF_WRITES if writes else REPEATS
        return race.text_of(replace(race_of, repeats=repeats), path)
    on_hosts = bool(farm.hosts)  # where blocks begin from copies
    text = race.text_of(replace(race_of, blocks=blocks_of(wanted), restart=not on_hosts), path)
    return text + PROFILE * wanted.profile + "".join(of_hosts(farm))


def placed(branch: Branch, text: str, path: Path) -> str:
    """The text of a race's plan with a placement: the branch's, else together where that can be.

    Raises DynoError: the plan cannot be run.
    """
    from dbdyno import plan as plans
    from dbdyno.cli import measuring
    from dbdyno.plan.race import text as race_text

    if branch.placement is not None:
        return race_text.with_placement(text, branch.placement)

    def checked(text: str) -> Plan:
        plan = plans.parse(text, path)
        measuring.checked(plan)
        return plan

    return race_text.placed(text, checked)[0]


def blocks_of(wanted: HeadPlan) -> int:
    """The blocks of a race: more than BLOCKS where steps are as long as they get."""
    from dbdyno.plan.race.sizes import RUN_S, SECONDS_MAX, STEP_S

    of_run = RUN_S + len(wanted.steps) * (STEP_S + SECONDS_MAX)
    fit = math.floor(60 * wanted.minutes / (of_run * len(wanted.arms)))
    return min(BLOCKS_MAX, max(BLOCKS, fit - fit % 2))


def of_hosts(farm: Farm) -> Iterator[str]:
    """The tables of a plan that say where its servers run."""
    from dbdyno.plan.race.text import key, value_of

    for name, host in farm.hosts.items():
        yield f"\n[hosts.{key(name)}]\n"
        yield from (f"{key(word)} = {value_of(value)}\n" for word, value in host.items())
    if farm.server:
        yield "\n[server]\n"
        yield from (f"{key(word)} = {value_of(value)}\n" for word, value in farm.server.items())


def workload_of(farm: Farm, branch: Branch) -> str:
    """The workload; a file's path lies beside the farm's file."""
    from dbdyno.cli import race

    if race.is_file(branch.workload):
        return str(farm.path.parent / Path(branch.workload).expanduser())
    return branch.workload


def repeat_command(
    farm: Farm, branch: Branch, sides: Sequence[str], steps: Sequence[str], *, count: bool
) -> str:
    """The command that measures two builds beside each other again."""
    import shlex

    words = ["dyno", "race", *sides, "--workload", workload_of(farm, branch)]
    words += ["--steps", ",".join(steps)]
    words += ["--config", ",".join(branch.config)] if branch.config else []
    words += ["--count"] if count else ["--minutes", f"{farm.minutes:g}"]
    return shlex.join(words)


def arms_apart(arms: Mapping[str, str]) -> dict[str, str]:
    """The arms without those that are one build with another; the head's stays."""
    kept: dict[str, str] = {}
    for name, build in arms.items():
        if build not in kept.values() and (name == HEAD or build != arms[HEAD]):
            kept[name] = build
    return kept
