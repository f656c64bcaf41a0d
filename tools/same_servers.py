"""Shows that commits which no search builds have the server of the commit before them.

    python tools/same_servers.py ../postgresql --good 2652835d3e --bad 9cfd19bc10 --sample 8

Of the commits between the two that touch nothing of the server (docs/bisect.md, "Builds"), a sample
is built: each the last before another one that does, after a commit that is built already. Compared
are the sections that are loaded, of the server's program, of initdb and of its libraries, and all
files of `share` by their bytes. Exits with 1 where one differs.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from dbdyno.builds import commits
from dbdyno.builds.worktree import Worktree
from dbdyno.cli.source_arm import CommitBuilds
from dbdyno.model.bisection import Commit

OF_BUILD = ".note.gnu.build-id"
"""The section that is made of all others, those for debuggers included."""


def contents(build: Path) -> dict[str, str]:
    """A hash of all that a server of a build loads, by file and section."""
    programs = [build / "bin" / name for name in ("postgres", "initdb")]
    libraries = sorted((build / "lib").rglob("*.so*"))
    files = sorted(path for path in (build / "share").rglob("*") if path.is_file())
    parts = {str(path.relative_to(build)): path.read_bytes() for path in files}
    for path in (*programs, *libraries):
        with path.open("rb") as stream:
            for section in ELFFile(stream).iter_sections():
                if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section.name != OF_BUILD:
                    parts[f"{path.name} {section.name}"] = section.data()
    return {name: hashlib.sha256(content).hexdigest() for name, content in parts.items()}


def pairs(worktree: Worktree, good: str, bad: str) -> Iterator[tuple[Commit, Commit]]:
    """The built commits that may change the server, each with the last before the next that may."""
    between = commits.between(worktree.repository, good, bad)
    serving = commits.serving(worktree.repository, between, worktree.serves)
    for place, following in pairwise(between.index(commit) for commit in serving):
        if following - place > 1 and worktree.is_there(between[place].sha):
            yield between[place], between[following - 1]


def main() -> int:
    """Compares a sample; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", type=Path, help="a checkout of PostgreSQL")
    parser.add_argument("--good", required=True)
    parser.add_argument("--bad", required=True)
    parser.add_argument("--sample", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    repository = commits.checkout(str(options.source))
    worktree = CommitBuilds(texts=()).worktree(repository, "postgres")
    known = [*pairs(worktree, options.good, options.bad)]
    drawn, status = random.Random(options.seed), 0
    for built, left_out in drawn.sample(known, min(options.sample, len(known))):
        before = contents(worktree.build(built.sha, print))
        after = contents(worktree.build(left_out.sha, print))
        names = sorted(before.keys() | after.keys())
        differing = [name for name in names if before.get(name) != after.get(name)]
        said = f"{len(differing)} differ {differing[:5]}" if differing else "none differs"
        print(f"{built.short} and {left_out.short} “{left_out.subject}”: of {len(names)} {said}")
        status = status or bool(differing)
    return status


if __name__ == "__main__":
    sys.exit(main())
