"""This checkout and another commit of it, each with its package and its load generator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dbdyno.host import program
from dbdyno.model.error import DynoError
from trials.trial import FOLDER, NOW, ROOT, Side

SHORT = 12
BUILT = FOLDER / "cargo"
"""What is compiled for other commits; never where this checkout's own programs lie."""


def now(root: Path = ROOT) -> Side:
    """This checkout as it is, with the generator that is installed."""
    commit = git(root, "describe", "--always", "--dirty", "--exclude=*")
    return Side(name=NOW, commit=commit, package=root, generator=program.find("dyno-loadgen"))


def at(commit: str, root: Path = ROOT, folder: Path = FOLDER) -> Side:
    """Another commit, in a worktree; its generator is compiled where that is not done yet.

    Raises DynoError where there is no such commit, or where it does not compile.
    """
    sha = git(root, "rev-parse", "--verify", f"{commit}^{{commit}}")[:SHORT]
    tree = folder / sha
    if not (tree / "dbdyno").is_dir():
        git(root, "worktree", "prune")
        git(root, "worktree", "add", "--force", "--detach", str(tree), sha)
    generator = tree / "target" / "dyno-loadgen"
    if not generator.exists():
        compiled(tree, generator)
    described = git(tree, "describe", "--always", "--exclude=*")
    return Side(name=commit, commit=described, package=tree, generator=generator)


def compiled(tree: Path, to: Path) -> None:
    """Compiles the generator of a worktree."""
    words = ["cargo", "build", "--locked", "--release", "--quiet", "--bin", "dyno-loadgen"]
    said(tree, *words, "--target-dir", str(BUILT))
    to.parent.mkdir(exist_ok=True)
    part = to.with_suffix(".part")
    shutil.copy2(BUILT / "release" / "dyno-loadgen", part)
    part.rename(to)


def git(root: Path, *words: str) -> str:
    """What git says. Raises DynoError in its last line."""
    return said(root, "git", *words)


def said(folder: Path, *words: str) -> str:
    """What a program says that is run in a folder. Raises DynoError where it fails."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DynoError(f"`{' '.join(words)}` failed: {last_line(done.stderr.splitlines())}")
    return done.stdout.strip()


def last_line(lines: Sequence[str]) -> str:
    """The last line that says anything."""
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
