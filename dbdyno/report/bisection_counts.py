"""The page of a search by counts: which commits changed the work of steps, in which functions."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.findings.work import show as section
from dbdyno.model.bisection import Bisection, CommitChange, CommitCount, StepWork
from dbdyno.parts import number
from dbdyno.parts.part import Page
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.report.bisection import SUSPECTS_MAX, framed, searched, short, skipped
from dbdyno.stats.halving import Stretch

UNPARTED_MAX = 5


@dataclass(frozen=True, kw_only=True)
class UnnamedChanges:
    """The changes that name no commit."""

    unnamed: Sequence[tuple[Stretch, str]] = ()  # down to a commit, with the reason
    unparted: Sequence[Stretch] = ()  # still to be searched


def page(search: Bisection, found: Sequence[CommitChange], left: UnnamedChanges) -> Page:
    """The page."""
    question, counts = search.question, sum(len(count.folders) for count in search.counted)
    of = f"{len(search.counted)} of {len(question.commits)} commits were counted"
    tables = (
        section.function_table(change.work, step)
        for change in found
        for step in change.work.changes
    )
    return framed(
        f"{question.workload}, {number.few(question.steps, 3)}",
        answer(search, found, left),
        [
            commits(search, found),
            *([skipped(search)] if search.skipped else []),
            *(replace(table, arm="") for table in tables),
            searched(search, f"{of}, {counts} counts"),
        ],
    )


def answer(search: Bisection, found: Sequence[CommitChange], left: UnnamedChanges) -> Iterator[str]:
    """The answer in sentences."""
    question = search.question
    counted = search.counts
    good, bad = counted.get(0), counted.get(question.last)
    if good is None or bad is None:
        end = "good" if good is None else "bad"
        yield f"The {end} commit is not counted yet: give the same command more --minutes."
        return
    for change in found:
        yield from of_change(search, change)
    for stretch, reason in left.unnamed:
        yield (
            f"Not named: commit {question.commits[stretch.end].short} "
            f"“{short(question.commits[stretch.end].subject)}”: {changes(stretch)}: {reason}."
        )
    ends = f"from {question.commits[0].short} to {question.commits[-1].short}"
    whole = "; ".join(
        f"{name} {number.change(step.instructions / good.steps[name].instructions, 2)}"
        for name, step in bad.steps.items()
    )
    least = f"{100 * math.expm1(question.smallest):g} %"
    unparted = left.unparted[:UNPARTED_MAX] if question.every or not found else ()
    drift = drifted(search)
    if found or left.unnamed or unparted:
        yield f"In all, {ends}: {whole}."
    elif drift:
        yield f"No single commit: {drift} over {question.last} commits, each below {least}, {ends}."
    else:
        yield f"No commit changed the work by {least} for good, {ends}: {whole}."
    for stretch in unparted:
        yield of_stretch(search, stretch)
    yield section.NOTICE


def drifted(search: Bisection) -> str:
    """The steps in which the bad commit differs from the good one by a change that counts."""
    good, bad = search.counts[0], search.counts[search.question.last]
    sizes = {
        name: bad.steps[name].instructions / of.instructions for name, of in good.steps.items()
    }
    return "; ".join(
        f"the work of {name} {'grew' if size > 1 else 'shrank'} by {100 * abs(size - 1):.2f} %"
        for name, size in sizes.items()
        if abs(math.log(size)) >= max(search.question.smallest, math.log1p(good.steps[name].margin))
    )


def changes(stretch: Stretch) -> str:
    """What the ends of a stretch differ by, by step."""
    return "; ".join(
        f"{name} {number.change(math.exp(change), 2)}" for name, change in stretch.changes.items()
    )


def of_change(search: Bisection, change: CommitChange) -> Iterator[str]:
    """One commit: what it changed in which step, in which functions, and who else may have."""
    commits = search.question.commits
    commit = commits[change.commit]
    changed = [step for step in change.work.changes if step.word != "same"]
    steps = "; ".join(
        ", ".join([f"{step.step} {section.verdict(step)}", *section.functions(step)])
        for step in changed or change.work.changes
    )
    yield f"Commit {commit.short} “{short(commit.subject)}”: {steps}."
    between = [commits[index].short for index in range(change.before + 1, change.commit)]
    if between:
        yield f"Skipped, so that it may be one of them: {number.few(between, SUSPECTS_MAX)}."


def of_stretch(search: Bisection, stretch: Stretch) -> str:
    """Commits among which a change is still to be found."""
    commits, count = search.question.commits, stretch.end - stretch.begin
    return (
        f"Not searched yet, {count} commits from {commits[stretch.begin].short} to "
        f"{commits[stretch.end].short}: {changes(stretch)}; the same command goes on with more "
        "--minutes."
    )


def commits(search: Bisection, found: Sequence[CommitChange]) -> Table:
    """Every commit that was counted or skipped, with its work beside the good one's."""
    question = search.question
    counts = search.counts
    shown = sorted(counts.keys() | search.skipped.keys())
    guilty = {change.commit for change in found}
    note = "Changes are relative to the good commit, each count scatters by 0.01 %."
    if len(shown) < len(question.commits):
        note += f" {len(question.commits) - len(shown):,} other commits are not listed."
    return Table(
        name="commits",
        title="Commits",
        depth="brief",
        narrow="figures",
        columns=(
            Column(text=""),
            Column(text="commit", left=True),
            *(Column(text=name, title="instructions an operation") for name in question.steps),
            Column(text="subject", left=True),
        ),
        rows=tuple(row(search, index, counts, marked=index in guilty) for index in shown),
        note=note,
        heading=1,
    )


def row(search: Bisection, index: int, counts: Mapping[int, CommitCount], *, marked: bool) -> Row:
    """A commit."""
    commit, count = search.question.commits[index], counts.get(index)
    if count is None:
        why = search.skipped[index]
        cells = [TableCell(text="skipped", title=why, tone="quiet") for _ in search.question.steps]
    else:
        good = counts[0].steps if 0 in counts else count.steps
        cells = [work(count.steps[name], good[name]) for name in search.question.steps]
    return Row.of(
        TableCell(text=str(index), tone="notice" if marked else ""),
        TableCell(text=commit.short, title=commit.sha),
        *cells,
        TableCell(text=short(commit.subject), title=commit.subject),
    )


def work(step: StepWork, good: StepWork) -> TableCell:
    """A step's instructions, and the change to the good commit."""
    change = number.change(step.instructions / good.instructions, 2)
    return TableCell(text=f"{step.instructions:,.0f}", detail="" if step is good else change)
