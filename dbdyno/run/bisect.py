"""Searches the commit that changed a step: builds, tests beside the good commit, until it is sure.

A commit is built, then measured, one after the other: nothing is compiled while anything is
measured. What was tested is kept after each test, so that a search that goes on comes to the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dbdyno import engine as engines
from dbdyno.builds.worktree import Worktree
from dbdyno.host.lock import HostLock
from dbdyno.model import Json, Plan
from dbdyno.model.bisection import Bisection, CommitTest, Question
from dbdyno.model.engine import having
from dbdyno.model.error import DynoError, HostError, ServerError
from dbdyno.plan import bisect as plans
from dbdyno.plan import parse
from dbdyno.plan.bisect import Side
from dbdyno.run.check import preflight
from dbdyno.stats import bisection as stats
from dbdyno.stats.bisection import Found, Layout
from dbdyno.stats.commit_chain import Test
from dbdyno.store.bisection import BisectionFolder

BLOCKS_FIRST, BLOCKS_MORE = stats.BLOCKS, stats.BLOCKS
"""Blocks of a commit's first test, and of each further one; even, as two mirror each other."""
LOCK = "dyno bisect: build"
Say = Callable[[str], None]
Measured = tuple[float, float, int]
"""The log ratio to the good commit, its standard error, and in how many blocks both had a value."""
Measure = Callable[[Plan, Path, str], Measured]
"""Runs a plan into a folder and tells the ratio of an arm. Raises ServerError: it has none."""


@dataclass(frozen=True, kw_only=True)
class Searching:
    """What a search works with."""

    worktree: Worktree
    folder: BisectionFolder
    measure: Measure
    say: Say
    minutes: float  # for builds and tests of all commands together


def engine_of(
    worktree_of: Callable[[str], Worktree], commit: str, repository: Path
) -> tuple[Worktree, str]:
    """The engine whose source a repository is, by a worktree of it, and the version at a commit.

    Raises ServerError where it is of none, and what `worktree_of` raises of an engine whose flags
    are not as they are asked for, unless it is another's source.
    """
    said = ""
    refused: ServerError | None = None
    for name in having("source"):
        try:
            worktree = worktree_of(name)
        except ServerError as error:
            refused = refused or error
            continue
        try:
            return worktree, worktree.version(commit)
        except ServerError as error:
            said = said or str(error)
    if refused is not None:
        raise refused
    names = ", ".join(engines.of(name).traits.product for name in having("source"))
    raise ServerError(f"SOURCE `{repository}` is no source of {names}: {said}")


def check(question: Question, worktree: Worktree, versions: tuple[str, str]) -> list[str]:
    """Looks whether both ends can run the workload, before anything is built; the plan's text.

    `versions`: that the source says of itself at the good commit and at the bad one. Raises
    DynoError subclasses in one line.
    """
    ends = (0, question.last)
    commits = [question.commits[index].sha for index in ends]
    sides = [
        Side(build=worktree.wish(commit).name, version=version)
        for commit, version in zip(commits, versions, strict=True)
    ]
    path = Path("bisect.toml")
    text = plans.text(question, sides, index=question.last, blocks=BLOCKS_FIRST, at=path)
    foreseen = {
        plans.arm_of(question, index): worktree.foreseen(commit, version)
        for index, commit, version in zip(ends, commits, versions, strict=True)
    }
    try:
        preflight.prepare(parse(text, path), foreseen=foreseen)
    except DynoError as error:
        raise type(error)(str(error).removeprefix(f"{path}: ")) from None
    return text.splitlines()


def search(search: Bisection, at: Searching) -> Bisection:
    """Goes on with a search until the answer is sure, or the time is over; as far as it came.

    Raises ServerError where the good or the bad commit cannot be built or tested, and what
    `measure` and builds raise of the host.
    """
    last = search.question.last
    while (index := next_index(search)) is not None:
        if not fits(search, at.minutes):
            at.say(f"{at.minutes:g} minutes are over: the same command goes on with more --minutes")
            return search
        began_s = time.monotonic()
        try:
            builds = built(search.question, at, index)
        except ServerError as error:
            search = skip(search, index, str(error), at)
            continue
        build_s = time.monotonic() - began_s
        search = replace(
            search,
            built=search.built + builds.made,
            build_s=search.build_s + build_s,
        )
        try:
            search = tested(search, at, index, builds.sides)
        except ServerError as error:
            if index == last:
                raise ServerError(f"--bad {commit_words(search.question, last)}: {error}") from None
            search = skip(search, index, str(error), at)
            continue
        keep(search, at)
        at.say(standing(search, index))
    keep(search, at)
    return search


def next_index(search: Bisection) -> int | None:
    """The commit to test next; None where the answer is sure, or gets no surer."""
    question = search.question
    return stats.next_test(
        question.last,
        of_stats(search),
        search.skipped.keys(),
        smallest=question.smallest,
    )


def of_stats(search: Bisection) -> list[Test]:
    """The tests as the search of probabilities takes them."""
    return [
        Test(index=test.index, log_ratio=test.log_ratio, se=test.se, blocks=test.blocks)
        for test in search.tests
    ]


def fits(search: Bisection, minutes: float) -> bool:
    """Whether a further test is over before the time is, if it takes as long as those before."""
    if not search.tests:
        return True
    each_s = search.took_s / len(search.tests)
    return search.took_s + each_s <= 60 * minutes


# --- Builds ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Built:
    """The builds of a test."""

    sides: tuple[Side, Side]  # of the good commit and of the one that is tested
    made: int  # so many of them were compiled now


def built(question: Question, at: Searching, index: int) -> Built:
    """The builds of a test, made while no lab measures on this host.

    Raises ServerError where the tested commit cannot be built; of the good one, too, with its
    option.
    """
    sides: list[Side] = []
    made = 0
    for number in (0, index):
        commit = question.commits[number].sha
        made += not at.worktree.is_there(commit)
        try:
            with HostLock(plan=LOCK, wait=True):
                at.worktree.build(commit, at.say)
        except ServerError as error:
            if number in (0, question.last):
                option = "--good" if number == 0 else "--bad"
                raise HostError(f"{option} {commit_words(question, number)}: {error}") from None
            raise
        name, version = at.worktree.wish(commit).name, at.worktree.built_version(commit)
        sides.append(Side(build=name, version=version))
    return Built(sides=(sides[0], sides[1]), made=made)


def skip(search: Bisection, index: int, why: str, at: Searching) -> Bisection:
    """The search without a commit that cannot be tested."""
    at.say(f"skips {commit_words(search.question, index)}: {why}")
    rest = replace(
        search,
        skipped={**search.skipped, index: why},
        tests=tuple(test for test in search.tests if test.index != index),
    )
    keep(rest, at)
    return rest


# --- Tests -----------------------------------------------------------------------------------


def tested(search: Bisection, at: Searching, index: int, sides: tuple[Side, Side]) -> Bisection:
    """The search with more blocks of a commit. Raises ServerError where it cannot be tested."""
    question = search.question
    before = next((test for test in search.tests if test.index == index), None)
    wanted = BLOCKS_FIRST if before is None else before.asked + BLOCKS_MORE
    path = at.folder.plan_of(index, question.commits[index])
    text = plans.text(question, sides, index=index, blocks=wanted, at=path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    began_s = time.monotonic()
    log_ratio, se, blocks = at.measure(
        parse(text, path), path.parent, plans.arm_of(question, index)
    )
    if blocks < max(2, wanted / 2):
        raise ServerError(f"steps failed: {blocks} of {wanted} blocks have a value: see `{path}`")
    now = CommitTest(
        index=index, log_ratio=log_ratio, se=se, blocks=blocks, asked=wanted,
        folder=at.folder.results_of(path),
    )  # fmt: skip
    others = tuple(test for test in search.tests if test.index != index)
    return replace(search, tests=(*others, now), test_s=search.test_s + time.monotonic() - began_s)


# --- What is said and kept -------------------------------------------------------------------


def keep(search: Bisection, at: Searching) -> None:
    """Writes bisect.json."""
    at.folder.write(search, answer(search))


def answer(search: Bisection) -> Json:
    """What follows from the tests, as bisect.json has it."""
    answered, layout = found_by(search), layout_by(search)
    question = search.question
    chances = stats.posterior(
        question.last, of_stats(search), search.skipped.keys(), smallest=question.smallest
    )
    return {
        "posterior": list(chances),
        "found": None if answered is None else asdict(answered),
        "layout": None if layout is None else asdict(layout),
    }


def found_by(search: Bisection) -> Found | None:
    """The answer so far; None before the first test."""
    if not search.tests:
        return None
    question = search.question
    return stats.found(
        question.last, of_stats(search), search.skipped.keys(), smallest=question.smallest
    )


def layout_by(search: Bisection) -> Layout | None:
    """The layout noise that the tests let expect; None before the first."""
    if not search.tests:
        return None
    question = search.question
    return stats.layout(question.last, of_stats(search), smallest=question.smallest)


def standing(search: Bisection, index: int) -> str:
    """What a test said, and what is most probable now, in a line."""
    test = next(test for test in search.tests if test.index == index)
    now = found_by(search)
    assert now is not None, "there is a test"
    likely = "no change" if now.first is None else commit_words(search.question, now.first)
    change = math.expm1(test.log_ratio)
    return (
        f"{commit_words(search.question, index)}: {search.question.compared} {100 * change:+.1f} % "
        f"± {100 * test.se * (1 + change):.1f} in {test.blocks} blocks; most probable: {likely}, "
        f"{100 * now.probability:.0f} %"
    )


def commit_words(question: Question, index: int) -> str:
    """A commit in a line: its place and its digits."""
    return f"commit {index} of {question.last} ({question.commits[index].short})"
