"""The atlas of PostgreSQL: which commits changed the work of eight operations (docs/atlas.md).

    python tools/atlas.py search docs/atlas/19.jsonl ../postgresql --minutes 600

goes on with the search whose lines a file has, in a checkout of PostgreSQL with the whole history,
and writes a line for each count. A file with the first line alone begins one. Results of counts lie
in --out; where they are missing, as on another machine, the search counts the good commit anew: its
count says whether the lines hold there, too.

    python tools/atlas.py page

makes docs/atlas.md of all files of lines.
"""

import argparse
import hashlib
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import typer
from msgspec import structs

import atlas_lines
import atlas_page
from atlas_lines import Atlas, ChangeLine, History, SearchLine
from dbdyno.analysis import commit_work
from dbdyno.builds import source
from dbdyno.builds.worktree import Worktree
from dbdyno.cli import bisect, bisect_counts, interrupt
from dbdyno.cli.bisect import BisectOptions, CheckedSearch
from dbdyno.cli.exit_status import INTERRUPTED, say
from dbdyno.host.lock import HostLock
from dbdyno.model import Json, Plan
from dbdyno.model.bisection import Bisection, StepWork
from dbdyno.model.error import DynoError, ResultError
from dbdyno.run import bisect as builds
from dbdyno.run import bisect_counts as runner
from dbdyno.run.bisect_counts import CountSearch
from dbdyno.stats.halving import Stretch
from dbdyno.store.bisection import BisectionFolder

ROOT = Path(__file__).parent.parent
LINES = ROOT / "docs" / "atlas"
PAGE = ROOT / "docs" / "atlas.md"
WORKLOAD = LINES / "atlas.toml"
NOTES = "doc/src/sgml/release-{release}.sgml"
NAMED = re.compile(r"&commit_baseurl;([0-9a-f]{7,40})")
"""How release notes name a commit."""


@dataclass(frozen=True)
class LinedFolder(BisectionFolder):
    """The folder of a search that keeps what it knows as lines, too."""

    path: Path
    asked: SearchLine
    history: History
    changes: dict[tuple[str, str], ChangeLine] = field(default_factory=dict)

    def write(self, search: Bisection, answer: Json) -> None:
        """Keeps the search, and its lines."""
        super().write(search, answer)
        for stretch in parted(search):
            self.explain(search, stretch)
        now = {ends(search, stretch) for stretch in parted(search)}
        changes = [line for pair, line in self.changes.items() if pair in now]
        atlas_lines.write(
            self.path, atlas_lines.atlas_of(search, self.asked, self.history, changes)
        )

    def explain(self, search: Bisection, stretch: Stretch) -> None:
        """Compares both ends by function, where that was not done and both have results here."""
        pair = ends(search, stretch)
        if pair in self.changes or unseen(search, stretch):
            return
        before, after = (
            commit_work.read([self.folder / name for name in search.counts[end].folders])
            for end in (stretch.begin, stretch.end)
        )
        work = commit_work.compared(before, after, search.question.smallest)
        commits = search.question.commits
        self.changes[pair] = atlas_lines.change_of(
            commits[stretch.begin], commits[stretch.end], work, self.history
        )


def parted(search: Bisection) -> Iterator[Stretch]:
    """The changes that are down to a commit, and counted as often as it takes."""
    yield from runner.found(search)
    yield from (stretch for stretch, _ in runner.unnamed(search))


def ends(search: Bisection, stretch: Stretch) -> tuple[str, str]:
    """The commits of a stretch's ends."""
    commits = search.question.commits
    return commits[stretch.begin].sha, commits[stretch.end].sha


def unseen(search: Bisection, stretch: Stretch) -> list[int]:
    """The ends of a stretch that were counted elsewhere alone."""
    return [end for end in (stretch.begin, stretch.end) if not search.counts[end].folders]


# --- Searching --------------------------------------------------------------------------------


def search(options: argparse.Namespace) -> int:
    """Goes on with a search until its minutes are over."""
    atlas = atlas_lines.read(options.lines)
    workload = hashlib.sha256(WORKLOAD.read_bytes()).hexdigest()[:16]
    with HostLock(plan="atlas", wait=True):
        begun = bisect.begin(options_of(atlas.search, options), options.out / workload)
    asked = compared(atlas.search, begun, workload)
    folder = LinedFolder(
        begun.folder.folder, options.lines, asked, history_of(begun, asked),
        {(line.before, line.commit): line for line in atlas.changes},
    )  # fmt: skip
    at = CountSearch(
        worktree=begun.worktree,
        folder=folder,
        count=lambda plan, into: counted(plan, into, begun.worktree, folder),
        say=say,
        minutes=options.minutes,
    )
    now = atlas_lines.begun(begun.search, atlas)
    good = now.counts.get(0)
    if good is not None and not good.folders:
        now = again(now, at, 0)
        refuse_others(now)
        while (
            atlas_lines.differing(now.counts[0]) and len(now.counts[0].folders) < runner.COUNTS_MAX
        ):
            now = again(now, at, 0)  # a count that was unlike others is outvoted
    ended = runner.search(now, at)
    for stretch in parted(ended):
        if ends(ended, stretch) not in folder.changes:
            for end in unseen(ended, stretch):
                ended = again(ended, at, end)
    runner.keep(ended, at)
    return 0 if runner.next_index(ended) is None else 3


def counted(
    plan: Plan, into: Path, worktree: Worktree, folder: LinedFolder
) -> Mapping[str, StepWork]:
    """Counts a commit, and builds the next one meanwhile: no time is measured."""
    known = folder.read()
    following = None if known is None else to_build(known, worktree)
    with ThreadPoolExecutor(max_workers=1) as builder:
        if following is not None:
            builder.submit(worktree.build, following, lambda _: None)  # failed: told in its turn
        steps = bisect_counts.count(plan, into, quiet=True)
    margins = folder.asked.margins
    return {
        name: replace(step, margin=max(step.margin, margins.get(name, 0.0)))
        for name, step in steps.items()
    }


def to_build(search: Bisection, worktree: Worktree) -> str | None:
    """A commit that is to be counted whatever the count at work says; None: each is built."""
    commits, counts = search.question.commits, search.counts
    if {0, search.question.last} <= counts.keys():
        places = [stretch.middle for stretch in runner.unparted(search)]
    else:
        places = [search.question.last, search.question.last // 2]
    return next((commits[n].sha for n in places if not worktree.is_there(commits[n].sha)), None)


def options_of(asked: SearchLine, options: argparse.Namespace) -> BisectOptions:
    """The search as `dyno bisect` takes it."""
    return BisectOptions(
        source=options.source, good=asked.good, bad=asked.bad, workload=str(WORKLOAD), steps=[],
        by="instructions", every=True, smallest=asked.smallest, config=[],
        minutes=options.minutes, recipe=None, cflags=None, configure=[], jobs=options.jobs,
    )  # fmt: skip


def compared(asked: SearchLine, begun: CheckedSearch, workload: str) -> SearchLine:
    """The search with what its counts have in common. Raises ResultError: lines have another."""
    question = begun.search.question
    made = {
        "flags": " ".join((question.flags, *question.options)),
        "config": ",".join(question.config),
        "processor": question.architecture,
        "workload": workload,
    }
    differing = [key for key in made if asked.made and asked.made.get(key) != made[key]]
    if differing:
        raise ResultError(
            f"the lines are of another `{differing[0]}`, {asked.made.get(differing[0])}: begin a "
            "file of its own"
        )
    return structs.replace(asked, made=made)


def history_of(begun: CheckedSearch, asked: SearchLine) -> History:
    """What the checkout says of the commits, and which of them the release notes name."""
    question = begun.search.question
    first, last = question.commits[0].sha, question.commits[-1].sha
    log = ["log", "--first-parent", "--format=%H %cs"]
    repository = Path(question.repository)
    said = source.ask([*log, f"{first}..{last}"], repository, must=True).splitlines()
    zero = source.ask([*log, "-1", first], repository, must=True)
    notes = source.ask(["show", f"{last}:{NOTES.format(release=asked.release)}"], repository)
    return History(
        between=len(said),
        dates=dict(line.split() for line in (*said, zero)),
        released=tuple(NAMED.findall(notes)),
    )


def again(search: Bisection, at: CountSearch, index: int) -> Bisection:
    """The search with one more count of a commit, made here."""
    search, side = builds.build(search, index, at)
    search = runner.counted(search, at, index, side)
    runner.keep(search, at)
    return search


def refuse_others(search: Bisection) -> None:
    """Raises ResultError where counts of this machine are not those of the lines.

    Counts of one machine differ in a step or two, those of another in most.
    """
    steps, others = search.counts[0].steps, atlas_lines.differing(search.counts[0])
    if 2 * len(others) > len(steps):
        step = steps[others[0]]
        raise ResultError(
            f"step `{others[0]}` of the good commit has {step.counts[-1]:,.0f} instructions here, "
            f"{step.counts[0]:,.0f} in the lines: count on a machine like theirs"
        )


def main() -> int:
    """Searches, or makes the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    searching = commands.add_parser("search", help="go on with a search")
    searching.add_argument("lines", type=Path, help="its lines")
    searching.add_argument("source", help="a checkout of PostgreSQL")
    searching.add_argument("--minutes", type=float, default=bisect.MINUTES)
    searching.add_argument("--jobs", type=int)
    searching.add_argument("--out", type=Path, default=Path("results"))
    commands.add_parser("page", help="make docs/atlas.md")
    options = parser.parse_args()
    if options.command == "search":
        return searched(options)
    PAGE.write_text(atlas_page.page(atlases()), encoding="utf-8")
    return 0


def searched(options: argparse.Namespace) -> int:
    """Searches until its minutes are over, or somebody ends it; returns the exit status."""
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return search(options)
    except DynoError as error:
        print(f"atlas: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, typer.Exit):
        return INTERRUPTED


def atlases() -> list[Atlas]:
    """Those of the repository, the newest release first."""
    files = sorted(LINES.glob("*.jsonl"), key=lambda path: -int(path.stem))
    return [atlas_lines.read(path) for path in files]


if __name__ == "__main__":
    sys.exit(main())
