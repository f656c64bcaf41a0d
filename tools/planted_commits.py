"""Makes a git repository of PostgreSQL in which one commit, or none, burns CPU in the executor.

    python tools/planted_commits.py postgresql-18.6.tar.bz2 FOLDER --at 13 --turns 135

The tarball is the commit with the tag `good`; 20 commits follow, the last with the tag `bad`. Each
adds a comment, or a function that nobody calls, to another file: it compiles a little and moves
code, as real commits do. Commit 13 adds a loop of so many turns to IndexNext, which a point query
calls twice. At 1 ns a turn, 135 are 0.27 µs: 3 % of the 9 µs that a server of this kind spends on a
query if it shares a processor with its client, and 1 % of the 25 µs if it does not. The same
arguments make the same commits, so that builds kept by commit are found.

    python tools/planted_commits.py postgresql-18.6.tar.bz2 FOLDER --commits 24 \\
        --change 0:standard_ExecutorStart:200 --change 5:IndexNext:97 --change 10:_bt_first:46 \\
        --change 15:standard_ExecutorStart:65 --change 20:IndexNext:0

`--change AT:FUNCTION:TURNS` makes commit AT give a function's loop so many turns: 0 takes the loop
out, and says that it reverts the commit which put it in. At 0 the loop is in the good commit. A
turn is six instructions: of the 39,000 of a point query these are +3 %, +0.7 %, −2 % and −3 %.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILES = (
    "optimizer/path/costsize", "utils/adt/varlena", "storage/lmgr/lock", "parser/parse_clause",
    "executor/execUtils", "access/nbtree/nbtinsert", "commands/explain", "utils/cache/relcache",
    "storage/ipc/procarray", "optimizer/plan/planner", "access/heap/pruneheap", "libpq/pqcomm",
    "nodes/bitmapset", "utils/mmgr/aset", "catalog/namespace", "parser/parse_expr",
    "executor/nodeAgg", "utils/cache/plancache", "storage/buffer/freelist",
    "rewrite/rewriteHandler",
)  # fmt: skip
"""Where the harmless commits go, under src/backend, one after the other and again from the first:
all there since PostgreSQL 12."""
COMMENT = """
/*
 * Note {number}: the order of the declarations above is that of their first use.
 */
"""
FUNCTION = """
/*
 * Whether note {number} holds, for a debugger; nothing calls it.
 */
extern bool note_{number}_holds(int level);

bool
note_{number}_holds(int level)
{{
	return level > {number} && (level & 1) == 0;
}}
"""
BROKEN = """
#error "note {number} is not finished"
"""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where in a function a loop goes."""

    file: str
    head: str  # the function's first line, with the brace
    before: str  # what the loop stands before: the first after the head
    argument: str  # whose address is mixed
    what: str  # that is, in words
    subject: str  # of the commit that puts the loop in


PLACES: Mapping[str, Place] = {
    "IndexNext": Place(
        file="src/backend/executor/nodeIndexscan.c",
        head="\nIndexNext(IndexScanState *node)\n{",
        before="\t/*\n\t * extract necessary information from index scan node\n",
        argument="node",
        what="the scan",
        subject="Mix the address of an index scan",
    ),
    "_bt_first": Place(
        file="src/backend/access/nbtree/nbtsearch.c",
        head="\n_bt_first(IndexScanDesc scan, ScanDirection dir)\n{",
        before="\tAssert(!BTScanPosIsValid(so->currPos));\n",
        argument="scan",
        what="the descent",
        subject="Mix the address of a descent",
    ),
    "standard_ExecutorStart": Place(
        file="src/backend/executor/execMain.c",
        head="\nstandard_ExecutorStart(QueryDesc *queryDesc, int eflags)\n{",
        before="\t/* sanity checks: queryDesc must not be started already */\n",
        argument="queryDesc",
        what="the query",
        subject="Mix the address of a query",
    ),
}
"""By function: a point query calls IndexNext twice, the others once."""
GUILTY_FILE = PLACES["IndexNext"].file
GUILTY_HEAD, GUILTY_BEFORE = PLACES["IndexNext"].head, PLACES["IndexNext"].before
GUILTY = """\
	{{
		uint64		mixed = (uint64) (uintptr_t) {argument};

		/* Mixes the address of {what}, for nothing. */
		for (int turn = 0; turn < {turns}; turn++)
			mixed = (mixed ^ (mixed >> 29)) * UINT64CONST(0x9E3779B97F4A7C15);
		__asm__ volatile("" : : "r" (mixed));
	}}

"""
TURNS = re.compile(r"turn < \d+;")
DAY = "2026-01-{day:02d}T12:00:00Z"


@dataclass(frozen=True, kw_only=True)
class LoopChange:
    """A commit that gives the loop of a function so many turns."""

    at: int  # the commit; 0: the good one
    function: str
    turns: int  # 0: the loop goes, as in a revert

    @staticmethod
    def read(text: str) -> LoopChange:
        """The change that is written as AT:FUNCTION:TURNS. ValueError where it is none."""
        at, function, turns = text.split(":")
        if function not in PLACES:
            raise ValueError(f"`{function}`: there are {', '.join(PLACES)}")
        return LoopChange(at=int(at), function=function, turns=int(turns))


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the commits after the good one are. ValueError of a number that is no commit's."""

    commits: int = 20
    at: int | None = None  # burns CPU; None: none does
    turns: int = 135  # of its loop
    broken: tuple[int, ...] = ()  # do not compile; the next one mends it
    changes: tuple[LoopChange, ...] = ()

    def __post_init__(self) -> None:
        if not all(1 <= one <= self.commits for one in [*self.broken, self.at or 1]):
            raise ValueError(f"commits are 1 to {self.commits}")
        if not all(0 <= change.at <= self.commits for change in self.changes):
            raise ValueError(f"changes are at 0 to {self.commits}")


def make(tarball: Path, folder: Path, wish: Wish) -> tuple[str, ...]:
    """The commits of the repository that it makes in `folder`, the good one first.

    ValueError where the source is not as expected.
    """
    _unpack(tarball, folder)
    changes = {change.at: change for change in wish.changes}
    put_in: dict[str, str] = {}  # by function: the commit that put its loop in
    if 0 in changes:
        _plant(folder, changes[0])
    _git(folder, "init", "--quiet", "--initial-branch=main")
    made = [_commit(folder, 0, f"PostgreSQL as in {tarball.name}")]
    _git(folder, "tag", "good")
    for number in range(1, wish.commits + 1):
        if number - 1 in wish.broken:
            _mend(folder, number - 1)
        if number == wish.at:
            changes[number] = LoopChange(at=number, function="IndexNext", turns=wish.turns)
        change = changes.get(number)
        if change is None:
            subject = _harmless(folder, number)
        else:
            subject = _changed(folder, change, put_in.get(change.function))
        if number in wish.broken:
            _append(_harmless_file(folder, number), BROKEN.format(number=number))
        made.append(_commit(folder, number, subject))
        if change is not None:
            put_in[change.function] = made[-1]
    _git(folder, "tag", "bad")
    return tuple(made)


def _unpack(tarball: Path, folder: Path) -> None:
    """Puts what the tarball's one folder holds into a folder that is not there yet, or empty."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        subprocess.run(["tar", "--no-same-owner", "-xf", tarball, "-C", place], check=True)
        (top,) = Path(place).iterdir()
        top.rename(folder)


def _changed(folder: Path, change: LoopChange, put_in: str | None) -> str:
    """Changes a function's loop; the message of the commit that does."""
    place = PLACES[change.function]
    path = folder / place.file
    before, head, after = path.read_text().partition(place.head)
    loop = TURNS.search(after)
    if loop is None:
        return _plant(folder, change)
    if change.turns:
        path.write_text(before + head + TURNS.sub(f"turn < {change.turns};", after, count=1))
        return f"{place.subject} less often"
    turns = int(loop[0].removeprefix("turn < ").rstrip(";"))
    path.write_text(before + head + after.replace(_loop(place, turns), "", 1))
    said = f"\n\nThis reverts commit {put_in}." if put_in else ""
    return f'Revert "{place.subject}"{said}'


def _plant(folder: Path, change: LoopChange) -> str:
    """Adds a loop to a function; the commit's subject."""
    place = PLACES[change.function]
    path = folder / place.file
    before, head, after = path.read_text().partition(place.head)
    start, mark, rest = after.partition(place.before)
    if not mark:
        raise ValueError(f"`{place.file}` has no {change.function} as PostgreSQL's has")
    path.write_text(before + head + start + _loop(place, change.turns) + mark + rest)
    return place.subject


def _loop(place: Place, turns: int) -> str:
    """A loop of so many turns."""
    return GUILTY.format(turns=turns, argument=place.argument, what=place.what)


def _harmless(folder: Path, number: int) -> str:
    """Adds a comment or a function to the file whose turn it is; the commit's subject."""
    path = _harmless_file(folder, number)
    _append(path, (FUNCTION if number % 2 else COMMENT).format(number=number))
    return f"Note {number} in {path.name}"


def _harmless_file(folder: Path, number: int) -> Path:
    """The file of that commit, if it is a harmless one."""
    path = folder / "src" / "backend" / f"{FILES[(number - 1) % len(FILES)]}.c"
    if not path.is_file():
        raise ValueError(f"`{path}` is missing: no source of PostgreSQL 12 or later")
    return path


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def _mend(folder: Path, number: int) -> None:
    """Takes out what keeps that commit from compiling."""
    path = _harmless_file(folder, number)
    path.write_text(path.read_text().removesuffix(BROKEN.format(number=number)))


def _commit(folder: Path, number: int, subject: str) -> str:
    """Commits all there is, on a day of its own; the commit's name."""
    _git(folder, "add", "--all", "--force")
    hours, day = divmod(number, 28)
    date = DAY.format(day=day + 1).replace("T12", f"T{hours:02d}")
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    _git(folder, "commit", "--quiet", "--no-verify", "--message", subject, **dates)
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *arguments: str, **environment: str) -> str:
    """What git says; nobody's own settings change the commits."""
    person = ["-c", "user.name=planted", "-c", "user.email=planted@example.invalid"]
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **environment}
    done = subprocess.run(
        ["git", *person, "-c", "gc.auto=0", "-C", str(folder), *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **own},
    )
    return done.stdout.strip()


def main() -> None:
    """Makes what the command line asks for and prints its commits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tarball", type=Path)
    parser.add_argument("folder", type=Path, help="made; it must not be there, or be empty")
    parser.add_argument("--commits", type=int, default=Wish.commits)
    parser.add_argument("--at", type=int, help="the commit that burns CPU; without it none does")
    parser.add_argument("--turns", type=int, default=Wish.turns, help="of its loop, 1 to 2 ns each")
    parser.add_argument("--broken", type=int, nargs="*", default=[], help="do not compile")
    parser.add_argument("--change", type=LoopChange.read, action="append", default=[])
    asked = parser.parse_args()
    wish = Wish(
        commits=asked.commits, at=asked.at, turns=asked.turns, broken=tuple(asked.broken),
        changes=tuple(asked.change),
    )  # fmt: skip
    changes = {change.at: change for change in wish.changes}
    made = make(asked.tarball, asked.folder, wish)
    for number, commit in enumerate(made):
        marks = "  burns CPU" * (number == asked.at) + "  does not compile" * (
            number in asked.broken
        )
        if number in changes:
            marks += f"  {changes[number].function}: {changes[number].turns} turns"
        print(f"{number:3}  {commit}{marks}")


if __name__ == "__main__":
    main()
