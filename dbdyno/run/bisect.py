"""Searches the commit that changed a step: builds, tests beside the good commit, until it is sure.

A commit is built, then measured, one after the other: nothing is compiled while anything is
measured. What was tested is kept after each test, so that a search that goes on comes to the same.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dbdyno import engine as engines
from dbdyno.builds.worktree import Worktree
from dbdyno.model import Json, Plan
from dbdyno.model.bisection import Bisection, CommitTest, Question
from dbdyno.model.engine import having
from dbdyno.model.error import DynoError, HostError, ServerError
from dbdyno.plan import bisect as plans
from dbdyno.plan import parse
from dbdyno.plan.bisect import BisectBuild
from dbdyno.run.check import preflight
from dbdyno.stats import bisection as stats
from dbdyno.stats.bisection import LayoutNoise, NextTest, ProbableChange
from dbdyno.stats.commit_chain import BlockTest
from dbdyno.store.bisection import BisectionFolder
from dbdyno.store.file import made, write_atomically

BLOCKS_FIRST, BLOCKS_MORE = stats.BLOCKS, stats.BLOCKS
"""Blocks of a commit's first test, and of each further one; even, as two mirror each other."""
Say = Callable[[str], None]
Measured = tuple[float, float, int]
"""The log ratio to the good commit, its standard error, and in how many blocks both had a value."""
Measure = Callable[[Plan, Path, str], Measured]
"""Runs a plan into a folder and tells the ratio of an arm. Raises ServerError: it has none."""


@dataclass(frozen=True, kw_only=True)
class Builder:
    """What a search builds with and writes to."""

    worktree: Worktree
    folder: BisectionFolder
    say: Say
    minutes: float  # for builds and tests of all commands together


@dataclass(frozen=True, kw_only=True)
class BlockSearch(Builder):
    """What a search works with."""

    measure: Measure
    relaid: Sequence[Worktree]  # which build with other layouts, each with one

    def of_layout(self, layout: int) -> BlockSearch:
        """The same with the builds of a layout; 0: as all commits are built."""
        return replace(self, worktree=self.relaid[layout - 1]) if layout else self


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
        BisectBuild(build=worktree.wish(commit).name, version=version)
        for commit, version in zip(commits, versions, strict=True)
    ]
    path = Path("bisect.toml")
    foreseen = {
        plans.arm_of(question, index): worktree.foreseen(commit, version)
        for index, commit, version in zip(ends, commits, versions, strict=True)
    }
    if question.counts:
        texts = {
            index: plans.count_text(question, side, index=index, good={}, at=path)
            for index, side in zip(ends, sides, strict=True)
        }
    else:
        last = question.last
        text = plans.text(question, sides, commits=ends, blocks=BLOCKS_FIRST, at=path)
        texts = {last: text}
    try:
        for text in texts.values():
            plan = parse(text, path)
            preflight.prepare(plan, foreseen={arm.name: foreseen[arm.name] for arm in plan.arms})
    except DynoError as error:
        raise type(error)(str(error).removeprefix(f"{path}: ")) from None
    return next(iter(texts.values())).splitlines()


def search(search: Bisection, at: BlockSearch) -> Bisection:
    """Goes on with a search until the answer is sure, or the time is over; as far as it came.

    Raises ServerError where the good or the bad commit cannot be built or tested, and what
    `measure` and builds raise of the host.
    """
    last = search.question.last
    while (test := next_test(search)) is not None:
        index = test.index
        if ended := out_of_time(search, at.minutes, len(search.tests)):
            at.say(ended)
            return search
        before, began_s = search, time.monotonic()
        try:
            by, must = at.of_layout(test.layout), not test.layout
            search, base = build(search, test.before, by, must=must)
            search, side = build(search, index, by, must=must)
            search = tested(search, at, test, (base, side))
        except ServerError as error:
            if test.layout:
                at.say(f"{test_words(search.question, test)}: {error}; the answer stays unsure")
                break
            if index == last:
                raise ServerError(f"{end_words(search.question, last)}: {error}") from None
            spent_s = time.monotonic() - began_s
            search = skip(before, index, str(error), at.say, spent_s)
            keep(search, at)
            continue
        keep(search, at)
        at.say(standing(search))
    keep(search, at)
    return search


def next_test(search: Bisection) -> NextTest | None:
    """The test to do next; None where the answer is sure, or gets no surer."""
    question = search.question
    return stats.next_test(
        question.last, of_stats(search), search.skipped.keys(), smallest=question.smallest
    )


def of_stats(search: Bisection) -> list[BlockTest]:
    """The tests as the search of probabilities takes them."""
    return [
        BlockTest(
            index=test.index,
            log_ratio=test.log_ratio,
            se=test.se,
            blocks=test.blocks,
            before=test.before,
            layout=test.layout,
        )
        for test in search.tests
    ]


def out_of_time(search: Bisection, minutes: float, done: int) -> str:
    """Why no further test fits into the minutes, after so many; "" where it does.

    A test takes as long as those before, and so does its build, but for the first, which compiles
    the whole server: later ones compile what the commits between them touch.
    """
    each_s = search.test_s / done if done else 0.0
    if search.built > 1:
        each_s += search.build_s / search.built
    left_s = 60 * minutes - search.took_s
    if left_s >= each_s:
        return ""
    why = f"{minutes:g} minutes are over"
    if left_s > 0:
        why = f"{left_s / 60:.0f} of {minutes:g} minutes are left, a test takes {each_s / 60:.0f}"
    return f"{why}: the same command goes on with more --minutes"


# --- Builds ----------------------------------------------------------------------------------


def build(
    search: Bisection, index: int, at: Builder, *, must: bool = True
) -> tuple[Bisection, BisectBuild]:
    """The search with what a commit's build took, and the build.

    Raises ServerError where the commit cannot be built; HostError with its option where it is the
    good or the bad one, without which there is no search (`must`).
    """
    question, worktree = search.question, at.worktree
    commit = question.commits[index].sha
    made, began_s = not worktree.is_there(commit), time.monotonic()
    try:
        worktree.build(commit, at.say)
    except ServerError as error:
        if must and index in (0, question.last):
            raise HostError(f"{end_words(question, index)}: {error}") from None
        raise
    side = BisectBuild(build=worktree.wish(commit).name, version=worktree.built_version(commit))
    build_s = search.build_s + time.monotonic() - began_s
    return replace(search, built=search.built + made, build_s=build_s), side


def skip(search: Bisection, index: int, why: str, say: Say, spent_s: float) -> Bisection:
    """The search without a commit that cannot be tested, for which so much time went."""
    say(f"skips {commit_words(search.question, index)}: {why}")
    return replace(
        search,
        skipped={**search.skipped, index: why},
        build_s=search.build_s + spent_s,
        tests=tuple(test for test in search.tests if index not in (test.index, test.before)),
        counted=tuple(count for count in search.counted if count.index != index),
    )


# --- Tests -----------------------------------------------------------------------------------


def tested(
    search: Bisection, at: BlockSearch, of: NextTest, sides: tuple[BisectBuild, BisectBuild]
) -> Bisection:
    """The search with more blocks of a commit. Raises ServerError where it cannot be tested."""
    question, index, place = search.question, of.index, (of.index, of.before, of.layout)
    before = next((test for test in search.tests if test.place == place), None)
    wanted = BLOCKS_FIRST if before is None else before.asked + BLOCKS_MORE
    path = at.folder.plan_of(index, question.commits[index], layout=of.layout)
    text = plans.text(question, sides, commits=(of.before, index), blocks=wanted, at=path)
    write_atomically(made(path.parent) / path.name, text.encode())
    began_s = time.monotonic()
    log_ratio, se, blocks = at.measure(
        parse(text, path), path.parent, plans.arm_of(question, index)
    )
    if blocks < max(2, wanted / 2):
        raise ServerError(f"steps failed: {blocks} of {wanted} blocks have a value: see `{path}`")
    now = CommitTest(
        index=index, log_ratio=log_ratio, se=se, blocks=blocks, asked=wanted,
        folder=at.folder.results_of(path), before=of.before, layout=of.layout,
    )  # fmt: skip
    others = tuple(test for test in search.tests if test.place != place)
    return replace(search, tests=(*others, now), test_s=search.test_s + time.monotonic() - began_s)


# --- What is said and kept -------------------------------------------------------------------


def keep(search: Bisection, at: BlockSearch) -> None:
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


def found_by(search: Bisection) -> ProbableChange | None:
    """The answer so far; None before the first test."""
    if not search.tests:
        return None
    question = search.question
    return stats.found(
        question.last, of_stats(search), search.skipped.keys(), smallest=question.smallest
    )


def layout_by(search: Bisection) -> LayoutNoise | None:
    """The layout noise that the tests let expect; None before the first."""
    if not search.tests:
        return None
    question = search.question
    return stats.layout(question.last, of_stats(search), smallest=question.smallest)


def standing(search: Bisection) -> str:
    """What the last test said, and what is most probable now, in a line."""
    test = search.tests[-1]
    now = found_by(search)
    assert now is not None, "there is a test"
    likely = "no change" if now.first is None else commit_words(search.question, now.first)
    change = math.expm1(test.log_ratio)
    return (
        f"{test_words(search.question, test)}: {search.question.compared} {100 * change:+.1f} % "
        f"± {100 * test.se * (1 + change):.1f} in {test.blocks} blocks; most probable: {likely}, "
        f"{100 * now.probability:.0f} %"
    )


def test_words(question: Question, of: CommitTest | NextTest) -> str:
    """What is tested: a commit, with which layout beside which other."""
    words = commit_words(question, of.index)
    return f"{words} beside {of.before}, layout {of.layout}" if of.layout else words


def end_words(question: Question, index: int) -> str:
    """The good or the bad commit by its option."""
    return f"{'--bad' if index else '--good'} {commit_words(question, index)}"


def commit_words(question: Question, index: int) -> str:
    """A commit in a line: its place and its digits."""
    return f"commit {index} of {question.last} ({question.commits[index].short})"
