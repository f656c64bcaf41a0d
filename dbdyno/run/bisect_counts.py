"""Searches commits that changed the work of steps: builds one, counts it, halves what differs.

The good commit is counted first, and every later one by as many operations of the same values. What
was built and counted is kept, so that a search that goes on counts nothing twice.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from dbdyno.model import Json, Plan
from dbdyno.model.bisection import Bisection, CommitCount, StepWork
from dbdyno.model.error import ServerError
from dbdyno.plan import bisect as plans
from dbdyno.plan import parse
from dbdyno.plan.bisect import BisectBuild
from dbdyno.run.bisect import Builder, build, commit_words, end_words, out_of_time, skip
from dbdyno.stats import halving
from dbdyno.stats.halving import Stretch
from dbdyno.stats.work import CountSample, CountVerdict, Scatter, judged
from dbdyno.store.file import made, write_atomically

COUNTS, COUNTS_MAX = 3, 7
"""Of a commit that is the answer, of the one before it, of both ends where they are the same or
differ in steps that write alone; and of a commit whose counts do not agree."""
OWN_FILLS = (
    "it and the commit before began from fills of their own, as where the initial catalog changes, "
    "and fills differ: `dyno race` counts both with two fills"
)
DISAGREED = "its counts, or those of the commit before, do not agree yet"
NOT_BEYOND = "the interval of its counts is not all beyond --smallest"
DEVIATIONS = 3
"""That two counts of a step that writes are apart at most, by its margin."""
Count = Callable[[Plan, Path], Mapping[str, StepWork]]
"""Runs a plan into a folder, and tells each step's work. Raises ServerError: a step has none."""


@dataclass(frozen=True, kw_only=True)
class CountSearch(Builder):
    """What a search by counts works with."""

    count: Count


def search(search: Bisection, at: CountSearch) -> Bisection:
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
    believed = single(search)
    if stretch is None and not believed:
        believed = [halving.whole(question.last, works)]
    wanted = dict.fromkeys((end for of in believed for end in (of.begin, of.end)), COUNTS)
    if stretch is not None and only_writes(search, stretch):
        wanted |= dict.fromkeys((stretch.begin, stretch.end), COUNTS)
    for index, least_often in wanted.items():
        count = search.counts[index]
        doubtful = count.many < COUNTS_MAX and index in doubted(search, believed)
        if count.many < least_often or doubtful:
            return index
    return None if stretch is None else stretch.middle


def only_writes(search: Bisection, stretch: Stretch) -> bool:
    """Whether a stretch's ends differ in steps that write, and in no others."""
    good, least = search.counts[0], least_of(search)
    reads = {name: of for name, of in least.items() if not good.steps[name].writes}
    return stretch.size(reads) < halving.ENTERED <= stretch.size(least)


def doubted(search: Bisection, stretches: Sequence[Stretch]) -> set[int]:
    """The ends of stretches whose counts of a step that changed do not agree yet."""
    return {
        end
        for stretch in stretches
        for end in (stretch.begin, stretch.end)
        for step in changed(search, stretch) or least_of(search)
        if agreed(search.counts[end].steps[step]) is None
    }


def counted(search: Bisection, at: CountSearch, index: int, side: BisectBuild) -> Bisection:
    """The search with one more count of a commit. Raises ServerError where it cannot be counted."""
    question = search.question
    before = search.counts.get(index)
    number = 1 if before is None else before.many + 1
    path = at.folder.plan_of(index, question.commits[index], number)
    good = search.counts.get(0)
    text = plans.count_text(
        question, side, index=index, good={} if good is None else good.steps, at=path
    )
    write_atomically(made(path.parent) / path.name, text.encode())
    began_s = time.monotonic()
    steps = at.count(parse(text, path), path.parent)
    if before is not None:
        steps = {name: joined(before.steps[name], step) for name, step in steps.items()}
    first = CommitCount(index=index, steps=steps, folders=()) if before is None else before
    now = replace(first, steps=steps, folders=(*first.folders, at.folder.results_of(path)))
    others = tuple(count for count in search.counted if count.index != index)
    count_s = search.test_s + time.monotonic() - began_s
    return replace(search, counted=(*others, now), test_s=count_s)


def joined(before: StepWork, now: StepWork) -> StepWork:
    """A step's work over one count more."""
    counts = (*before.counts, *now.counts)
    copies = tuple(dict.fromkeys((*before.copies, *now.copies)))
    return replace(now, instructions=median(counts), counts=counts, copies=copies)


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


def single(search: Bisection) -> Sequence[Stretch]:
    """The changes that are down to a commit, with those before it that cannot be counted."""
    question, works = search.question, works_of(search)
    if not {0, question.last} <= works.keys():
        return ()
    return halving.single(
        question.last, works, search.skipped.keys(), least_of(search), every=question.every
    )


def changed(search: Bisection, stretch: Stretch) -> list[str]:
    """The steps that differ by the least change at the ends of a stretch."""
    return [step for step, of in least_of(search).items() if abs(stretch.changes[step]) >= of]


def found(search: Bisection) -> Sequence[Stretch]:
    """The changes that are named: down to a commit, and more or less work by the word of counts."""
    return [
        stretch
        for stretch in single(search)
        if any(verdict(search, stretch, step).word in ("more", "less") for step in stretch.changes)
    ]


def unnamed(search: Bisection) -> Iterator[tuple[Stretch, str]]:
    """The changes that are down to a commit and are not named, each with the reason."""
    named = found(search)
    for stretch in single(search):
        if stretch not in named:
            (step, *_) = changed(search, stretch)
            said = verdict(search, stretch, step)
            yield stretch, said.withheld or NOT_BEYOND


def verdict(search: Bisection, stretch: Stretch, step: str) -> CountVerdict:
    """What the counts of a stretch's ends say of a step, beyond the smallest change that counts."""
    before, after = (search.counts[end].steps[step] for end in (stretch.begin, stretch.end))
    pairs = zip(agreed(before) or before.counts, agreed(after) or after.counts, strict=False)
    withheld = ""
    if own_fills(before, after):  # and more repeats would not help
        withheld = OWN_FILLS
    elif agreed(before) is None or agreed(after) is None:
        withheld = DISAGREED
    sample = CountSample(
        ratios=tuple(math.log(count / of_before) for of_before, count in pairs),
        scatter=scatter_of(after),
        withheld=withheld,
    )
    return judged(sample, math.expm1(least_of(search)[step]))


def own_fills(before: StepWork, after: StepWork) -> bool:
    """Whether the counts of two commits began from other copies, as far as both are known.

    A count made elsewhere knows its copy's key, and not when the copy was made.
    """
    sides = [[copy.partition(" ") for copy in step.copies] for step in (before, after)]
    keys, times = ([{copy[part] for copy in side} - {""} for side in sides] for part in (0, 2))
    return any(all(both) and both[0] != both[1] for both in (keys, times))


def agreed(step: StepWork) -> tuple[float, ...] | None:
    """The counts of a commit's step that agree; None: too few do."""
    places = halving.agreeing([math.log(count) for count in step.counts], scatter_of(step))
    return None if places is None else tuple(step.counts[place] for place in places)


def scatter_of(step: StepWork) -> Scatter:
    """How far counts of a step scatter: more, where its margin is more than others' that write."""
    if not step.writes:
        return halving.SCATTER
    usual = halving.SCATTER_OF_WRITES
    return replace(usual, deviation=max(usual.deviation, step.margin / DEVIATIONS))


def is_sure(search: Bisection) -> bool:
    """Whether commits are named and no more is to be found, or the bad one does the same work."""
    if not {0, search.question.last} <= search.counts.keys() or next_index(search) is not None:
        return False
    same = halving.whole(search.question.last, works_of(search)).size(least_of(search)) < 1
    return not [*unnamed(search)] and (same or bool(found(search)))


def unparted(search: Bisection) -> Sequence[Stretch]:
    """The stretches that differ and are still to be parted, the largest change first."""
    question, works = search.question, works_of(search)
    if not {0, question.last} <= works.keys() or next_index(search) is None:
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
        "unnamed": [ends(stretch) | {"reason": reason} for stretch, reason in unnamed(search)],
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
