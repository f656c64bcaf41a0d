"""Searches commits that changed the work of steps: builds one, counts it, halves what differs.

The good commit is counted first, and every later one by as many operations of the same values. What
was built and counted is kept, so that a search that goes on counts nothing twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from dbdyno.model import Json, Plan
from dbdyno.model.bisection import Bisection, CommitCount, StepWork
from dbdyno.model.error import ServerError
from dbdyno.plan import bisect as plans
from dbdyno.plan import parse
from dbdyno.plan.bisect import Side
from dbdyno.run.bisect import Builder, build, commit_words, end_words, out_of_time, skip
from dbdyno.stats import halving
from dbdyno.stats.halving import Stretch
from dbdyno.store.file import made, write_atomically

COUNTS, COUNTS_OF_WRITES = 2, 3
"""Of a commit that is the answer, and of the one before it; and of both ends of a stretch that
differ in steps that write alone, of which a single count may be off."""
Count = Callable[[Plan, Path], Mapping[str, StepWork]]
"""Runs a plan into a folder, and tells each step's work. Raises ServerError: a step has none."""


@dataclass(frozen=True, kw_only=True)
class Counting(Builder):
    """What a search by counts works with."""

    count: Count


def search(search: Bisection, at: Counting) -> Bisection:
    """Goes on with a search until all is known, or the time is over; as far as it came.

    Raises ServerError where the good or the bad commit cannot be built or counted, and what
    `count` and builds raise of the host.
    """
    question = search.question
    while (index := next_index(search)) is not None:
        done = sum(len(count.folders) for count in search.counted)
        if ended := out_of_time(search, at.minutes, done):
            at.say(ended)
            break
        before, began_s = search, time.monotonic()
        try:
            search, side = build(search, index, at)
            search = counted(search, at, index, side)
        except ServerError as error:
            if index in (0, question.last):
                raise ServerError(f"{end_words(question, index)}: {error}") from None
            search = skip(before, index, str(error), at.say, time.monotonic() - began_s)
        else:
            at.say(standing(search, index))
        keep(search, at)
    keep(search, at)
    return search


def next_index(search: Bisection) -> int | None:
    """The commit to count next, perhaps again; None: all is known."""
    question = search.question
    works, skipped, least = works_of(search), search.skipped.keys(), least_of(search)
    for end in (0, question.last):
        if end not in works:
            return end
    stretch = halving.next_stretch(question.last, works, skipped, least, every=question.every)
    believed = [(change, COUNTS) for change in found(search)]
    believed += [(stretch, 1)] if stretch is not None else []
    counts = {index: len(count.folders) for index, count in search.counts.items()}
    for known, wanted in believed:
        most = COUNTS_OF_WRITES if only_writes(search, known) else wanted
        again = [end for end in (known.begin, known.end) if counts[end] < most]
        if again:
            return again[0]
    return None if stretch is None else stretch.middle


def only_writes(search: Bisection, stretch: Stretch) -> bool:
    """Whether a stretch's ends differ in no step that only reads."""
    good = search.counts[0]
    reads = {name: of for name, of in least_of(search).items() if not good.steps[name].writes}
    return stretch.size(reads) < halving.ENTERED


def counted(search: Bisection, at: Counting, index: int, side: Side) -> Bisection:
    """The search with one more count of a commit. Raises ServerError where it cannot be counted."""
    question = search.question
    before = search.counts.get(index)
    folders = () if before is None else before.folders
    path = at.folder.plan_of(index, question.commits[index], len(folders) + 1)
    text = plans.count_text(question, side, index=index, operations=operations_of(search), at=path)
    write_atomically(made(path.parent) / path.name, text.encode())
    began_s = time.monotonic()
    steps = at.count(parse(text, path), path.parent)
    if before is not None:
        steps = {name: joined(before.steps[name], step) for name, step in steps.items()}
    now = CommitCount(index=index, steps=steps, folders=(*folders, at.folder.results_of(path)))
    others = tuple(count for count in search.counted if count.index != index)
    count_s = search.test_s + time.monotonic() - began_s
    return replace(search, counted=(*others, now), test_s=count_s)


def joined(before: StepWork, now: StepWork) -> StepWork:
    """A step's work over one count more."""
    counts = (*before.counts, *now.counts)
    return replace(now, instructions=median(counts), counts=counts)


def operations_of(search: Bisection) -> Mapping[str, int]:
    """By step: how many operations the good commit did; none before it is counted."""
    good = search.counts.get(0)
    return {} if good is None else {name: step.operations for name, step in good.steps.items()}


# --- What follows from the counts -------------------------------------------------------------


def works_of(search: Bisection) -> halving.Works:
    """The logs of instructions as the halving takes them."""
    return {
        index: {name: math.log(step.instructions) for name, step in count.steps.items()}
        for index, count in search.counts.items()
    }


def least_of(search: Bisection) -> halving.Least:
    """By step: the smallest change that counts; never below what two counts differ by."""
    good = search.counts.get(0)
    steps = {} if good is None else good.steps
    return {
        name: max(search.question.smallest, math.log1p(step.margin)) for name, step in steps.items()
    }


def found(search: Bisection) -> Sequence[Stretch]:
    """The changes that are down to a commit, with those before it that cannot be counted."""
    question, works = search.question, works_of(search)
    if not {0, question.last} <= works.keys():
        return ()
    return halving.found(
        question.last, works, search.skipped.keys(), least_of(search), every=question.every
    )


def unparted(search: Bisection) -> Sequence[Stretch]:
    """The stretches that differ and are still to be parted, the largest change first."""
    question, works = search.question, works_of(search)
    if not {0, question.last} <= works.keys():
        return ()
    return halving.unparted(question.last, works, search.skipped.keys(), least_of(search))


def answer(search: Bisection, works: Sequence[Json | None] = ()) -> Json:
    """What follows from the counts, as bisect.json has it.

    `works`: of each change the work before and after it, by function, where that is read.
    """
    changes = found(search)
    return {
        "changes": [
            ends(stretch) | {"work": work}
            for stretch, work in zip(changes, works or [None] * len(changes), strict=True)
        ],
        "unparted": [ends(stretch) for stretch in unparted(search)],
    }


def ends(stretch: Stretch) -> Json:
    """A stretch by its ends, and how they differ."""
    return {"begin": stretch.begin, "end": stretch.end, "changes": stretch.changes}


def keep(search: Bisection, at: Builder) -> None:
    """Writes bisect.json."""
    at.folder.write(search, answer(search))


def standing(search: Bisection, index: int) -> str:
    """What a count said, in a line: each step's instructions, and the change to the good commit."""
    counts = search.counts
    said = []
    for name, step in counts[index].steps.items():
        change = step.instructions / counts[0].steps[name].instructions - 1
        beside = f" ({100 * change:+.2f} %)" if index else ""
        said.append(f"{name} {step.instructions:,.0f}{beside}")
    return f"{commit_words(search.question, index)}: {', '.join(said)}"
