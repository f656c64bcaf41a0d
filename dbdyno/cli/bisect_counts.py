"""`dyno bisect --by instructions`: counts commits, and tells those that changed the work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbdyno.model import Json, Plan
    from dbdyno.model.bisection import Bisection, CommitChange, StepWork
    from dbdyno.parts.part import Page
    from dbdyno.store.bisection import BisectionFolder


def count(plan: Plan, out: Path, *, quiet: bool) -> Mapping[str, StepWork]:
    """Runs the plan of a count, and reads what it says of each step. Raises DynoError."""
    from dbdyno.analysis import commit_work
    from dbdyno.cli import measuring

    return commit_work.works(measuring.measure(plan, out, wait=True, quiet=quiet).folder)


def changes(search: Bisection, folder: BisectionFolder) -> Iterator[CommitChange]:
    """The commits that changed the work, each beside the one that was counted before it."""
    from dbdyno.analysis import commit_work
    from dbdyno.model.bisection import CommitChange
    from dbdyno.run import bisect_counts as runner

    counts = {
        index: [folder.folder / name for name in count.folders]
        for index, count in search.counts.items()
    }
    for stretch in runner.found(search):
        before, after = (commit_work.read(counts[end]) for end in (stretch.begin, stretch.end))
        yield CommitChange(
            before=stretch.begin,
            commit=stretch.end,
            work=commit_work.compared(before, after, search.question.smallest),
        )


def answered(search: Bisection, folder: BisectionFolder) -> tuple[Page, Json]:
    """The page of a search as far as it came, and the answer that bisect.json has."""
    from dbdyno.report import bisection_counts, json_document
    from dbdyno.run import bisect_counts as runner

    guilty = tuple(changes(search, folder))
    answer = runner.answer(search, [json_document.of_commit(change.work) for change in guilty])
    left = bisection_counts.UnnamedChanges(
        unnamed=tuple(runner.unnamed(search)), unparted=tuple(runner.unparted(search))
    )
    return bisection_counts.page(search, guilty, left), answer
