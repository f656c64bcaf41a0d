"""The page of a search: which commit changed the step, how sure that is, what each test said."""

import math
from collections.abc import Iterable, Iterator, Sequence

from dbdyno import __version__
from dbdyno.model.bisection import Bisection, CommitTest
from dbdyno.model.ratio import Ratio
from dbdyno.parts import cells, number
from dbdyno.parts.part import AnyPart, Callout, Finding, Page, Text
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.stats.bisection import LayoutNoise, ProbableChange
from dbdyno.stats.interval import t_quantile

ROWS_MAX = 60
"""Longer searches show only commits that were tested or skipped, and suspects."""
SUBJECT_MAX = 36
"""Of characters, so that a commit is a line of 80; pages show the whole one on hover."""
SUSPECTS_MAX = 8
LIKELY = 0.005
"""Less than this is shown as nothing."""


def page(
    search: Bisection,
    found: ProbableChange | None,
    chances: Sequence[float],
    layout: LayoutNoise | None,
) -> Page:
    """The page. `chances`: by commit from the first after the good one; the last is of none."""
    question = search.question
    return framed(
        f"{question.workload}, {question.step}",
        answer(search, found, chances, layout),
        [
            commits(search, found, chances),
            *([skipped(search)] if search.skipped else []),
            how(search, layout),
        ],
    )


def framed(searched: str, answer: Iterable[str], parts: Iterable[AnyPart]) -> Page:
    """The page of a search: what is searched, the answer in sentences, then the parts."""
    sayings = Text(
        name="answer",
        depth="brief",
        form="sayings",
        items=Finding.each(answer),
    )
    return Page(
        title=f"{searched}: which commit?",
        label="",
        dyno=__version__,
        base="good",
        arms=("good",),
        parts=(sayings, *parts),
    )


def answer(
    search: Bisection,
    found: ProbableChange | None,
    chances: Sequence[float],
    layout: LayoutNoise | None,
) -> Iterator[str]:
    """The answer in sentences."""
    question, by = search.question, search.question.compared
    if found is None or layout is None:
        yield "No commit is tested yet."
        return
    changes = (found, *found.more_changes)
    if found.first is None:
        between = f"from {question.commits[0].short} to {question.commits[-1].short}"
        sure = "No" if found.sure else "Not sure: probably no"
        yield f"{sure} commit {between} changed {by}: {percent(found.probability)} probable."
    for order, change in enumerate(changes):
        yield from of_change(search, change, further=order > 0)
    if found.first is not None and not found.sure and chances[-1] >= LIKELY:
        yield f"That no commit changed {by} is {percent(chances[-1])} probable."
    yield from unsure(changes, layout)


def is_sure(answered: ProbableChange | None) -> bool:
    """Whether every change that the answer names is sure, or that there is none."""
    return answered is not None and all(
        change.sure for change in (answered, *answered.more_changes)
    )


def of_change(search: Bisection, found: ProbableChange, *, further: bool) -> Iterator[str]:
    """One change: the commit, its size, and who else may have made it."""
    question = search.question
    if found.first is None:
        return
    commit = question.commits[found.first]
    others = [index for index in found.suspects if index != found.first]
    begun = (
        ("Further on, commit" if further else "Commit") if found.sure else "Most probable: commit"
    )
    if not found.sure:
        ranked = [commit.short, *(question.commits[index].short for index in others)]
        again = "Further on, not sure" if further else "Not sure"
        many = "probably one of" if others else "probably"
        yield f"{again}, {many}: {number.few(ranked, SUSPECTS_MAX)}."
    size = "" if found.size is None else " by " + changes(found.size)
    yield (
        f"{begun} {commit.short} “{short(commit.subject)}” changed {question.compared}{size}: "
        f"{percent(found.probability)} probable."
    )
    yield from relaid(search, found.first)
    untested = [question.commits[index].short for index in others if index in search.skipped]
    if untested:
        yield f"Skipped, so that it may be one of them: {number.few(untested, SUSPECTS_MAX)}."


def relaid(search: Bisection, index: int) -> Iterator[str]:
    """What a commit changed with other layouts of the code, each in its own builds."""
    changed = [
        f"{number.change(math.exp(test.log_ratio))} ± {100 * test.se:.1f}"
        for test in search.tests
        if test.layout and test.index == index
    ]
    if changed:
        layouts = f"{len(changed)} other layout{'s' * (len(changed) != 1)}"
        yield f"With {layouts} of the code, beside the commit before it: {', '.join(changed)}."


def unsure(found: Sequence[ProbableChange], layout: LayoutNoise) -> Iterator[str]:
    """What would make the first answer sure that is not."""
    wanted = next((one.wanted for one in found if one.wanted is not None), None)
    if wanted is None:
        return
    begun = "The search ended before one answer was sure: "
    if wanted.builds > 1:
        yield (
            f"{begun}builds scatter by {scatter(layout)} through the layout of their code alone, "
            f"so that it takes about {wanted.builds} builds of each suspect with other layouts "
            "(docs/bisect.md, “When it is not sure”)."
        )
    else:
        yield (
            f"{begun}the same command with more --minutes goes on, for at least {wanted.tests} "
            f"further test{'s' * (wanted.tests != 1)}."
        )


def scatter(layout: LayoutNoise) -> str:
    """The layout noise in percent, with its interval."""
    sd, low, high = (f"{100 * one:.1f}" for one in (layout.sd, layout.low, layout.high))
    return f"{sd} % [{low}, {high}]"


def changes(size: Ratio) -> str:
    """A ratio as a change, with its interval."""
    return number.changes(size.value, size.low, size.high)


def commits(search: Bisection, found: ProbableChange | None, chances: Sequence[float]) -> Table:
    """Every commit with its test and its probability; of many only those worth a look."""
    question = search.question
    tests = {test.index: test for test in search.tests if not test.layout}
    suspects = set(found.suspects) if found is not None else set()
    if found is not None:
        suspects |= {index for change in found.more_changes for index in change.suspects}
    shown = range(len(question.commits))
    kept = [
        index
        for index in shown
        if len(question.commits) <= ROWS_MAX
        or index in (0, question.last)
        or index in suspects | tests.keys() | search.skipped.keys()
    ]
    note = (
        f"Changes of {question.compared} are relative to the good commit, with 95 % intervals by "
        "the test's own blocks."
    )
    if len(kept) < len(question.commits):
        note += f" {len(question.commits) - len(kept):,} other commits are not listed."
    return Table(
        name="commits",
        title="Commits",
        depth="brief",
        narrow="figures",
        columns=(
            Column(text=""),
            *Column.heads("commit", "change", "blocks"),
            Column(text="probable", title="that this commit is the first that changed it"),
            Column(text="subject", left=True),
        ),
        rows=tuple(row(search, index, tests.get(index), chances, suspects) for index in kept),
        note=note,
        heading=1,
    )


def row(
    search: Bisection,
    index: int,
    test: CommitTest | None,
    chances: Sequence[float],
    suspects: set[int],
) -> Row:
    """A commit."""
    commit = search.question.commits[index]
    chance = chances[index - 1] if index else 0.0
    if index == 0:
        said = TableCell(text="good")
    elif index in search.skipped:
        said = TableCell(text="skipped", title=search.skipped[index], tone="quiet")
    elif test is None:
        said = TableCell(text="")
    else:
        reach = t_quantile(0.975, test.blocks - 1) * test.se
        ends = (math.exp(test.log_ratio - reach), math.exp(test.log_ratio + reach))
        said = cells.change_cell(math.exp(test.log_ratio), *ends)
    return Row.of(
        str(index),
        TableCell(text=commit.short, title=commit.sha),
        said,
        str(test.blocks) if test is not None else "",
        TableCell(
            text=percent(chance) if chance >= LIKELY else "",
            tone="notice" if index in suspects else "",
        ),
        TableCell(text=short(commit.subject), title=commit.subject),
    )


def skipped(search: Bisection) -> Callout:
    """The commits that could not be tested, with the reasons."""
    commits = search.question.commits
    return Callout(
        name="skipped",
        title="Skipped",
        depth="brief",
        items=tuple(
            Finding(text=f"{commits[index].short}: {why}")
            for index, why in sorted(search.skipped.items())
        ),
    )


def how(search: Bisection, layout: LayoutNoise | None) -> Text:
    """What was asked, and what it took."""
    blocks = sum(test.blocks for test in search.tests)
    tested = (
        f"{len({test.index for test in search.tests})} of {search.question.last} commits were "
        f"tested, in {number.blocks(blocks)}"
    )
    noise = f"Layout noise of a build, by these tests: {scatter(layout)}." if layout else ""
    return searched(search, tested, noise)


def searched(search: Bisection, tested: str, noise: str = "") -> Text:
    """How a search went: what it tested, and what compiling took."""
    compiled = f"{search.built} commit{'s' if search.built != 1 else ''}"
    lines = (
        f"{tested}: {number.minutes(search.test_s / 60)}.",
        f"{compiled} compiled ({search.question.flags}): {number.minutes(search.build_s / 60)}.",
        f"Repeat it: {search.question.command}",
        noise,
    )
    items = Finding.each(filter(None, lines))
    return Text(name="how", title="How it was searched", items=items, form="paragraphs")


def percent(chance: float) -> str:
    """A probability: 97 %; never 100 %, as no test is sure."""
    return f"{min(99, max(1, round(100 * chance)))} %" if chance < 0.995 else "> 99 %"


def short(subject: str) -> str:
    """A commit's subject, cut."""
    return number.few_signs(subject, SUBJECT_MAX)
