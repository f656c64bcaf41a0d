"""The commits of a git checkout between two of them, as a search goes through them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dbdyno.builds import source
from dbdyno.model.bisection import Commit, short
from dbdyno.model.error import ServerError

COMMITS_MAX = 100_000


def checkout(written: str) -> Path:
    """The folder of a checkout without changes of its own. Raises ServerError in one line."""
    if source.ADDRESS.match(written):
        raise ServerError(f"SOURCE `{written}`: commits are built from a checkout: git clone it")
    folder = Path(written).expanduser().absolute()
    if not (folder / ".git").exists():
        raise ServerError(f"SOURCE `{written}` is no git checkout: name the folder that has .git")
    changed = source.ask(["status", "--porcelain", "--untracked-files=no"], folder, must=True)
    if changed:
        count = len(changed.splitlines())
        files = f"{count} changed files" if count > 1 else f"a changed file ({changed.split()[-1]})"
        raise ServerError(
            f"SOURCE `{written}` has {files}, of which no commit knows: git commit or git stash"
        )
    return folder


def between(folder: Path, good: str, bad: str) -> tuple[Commit, ...]:
    """The commits from `good` to `bad`, both with them, along first parents.

    A merge is one commit: all that it brings. Those that `good` is no ancestor of are left out.
    Raises ServerError: an unknown ref, or `good` is no ancestor of `bad`.
    """
    first, last = _commit(folder, good, "--good"), _commit(folder, bad, "--bad")
    if first == last:
        raise ServerError(f"--good {good} and --bad {bad} are one commit, {short(first)}")
    common = source.ask(["merge-base", first, last], folder)
    if common == last:
        raise ServerError(f"--bad {bad} is an ancestor of --good {good}: exchange the two")
    if not common:
        raise ServerError(
            f"--good {good} is no ancestor of --bad {bad}: they share no commit; "
            "of a shallow clone: git fetch --unshallow"
        )
    if common != first:
        raise ServerError(
            f"--good {good} is no ancestor of --bad {bad}: they part at "
            f"{short(common)}: name that one, if it is good"
        )
    inside = ["rev-list", "--ancestry-path", f"{first}..{last}"]
    after = set(source.ask(inside, folder, must=True).split())
    listed = ["log", "--first-parent", "--reverse", "--format=%H %s", f"{first}..{last}"]
    lines = source.ask(listed, folder, must=True).split("\n")
    zero = source.ask(["log", "-1", "--format=%H %s", first], folder, must=True)
    words = [line.partition(" ") for line in lines]
    found = [zero.partition(" "), *(word for word in words if word[0] in after)]
    if len(found) > COMMITS_MAX:
        raise ServerError(f"--good {good}: {len(found):,} commits: at most {COMMITS_MAX:,}")
    return tuple(Commit(sha=sha, subject=subject) for sha, _, subject in found)


def serving(
    folder: Path, between: Sequence[Commit], serves: Callable[[str], bool]
) -> tuple[Commit, ...]:
    """The commits that touch a file of the server, and both ends.

    The server of a commit stays as it is up to the next of them.
    """
    first, last = between[0].sha, between[-1].sha
    listed = ["log", "--first-parent", "-m", "--name-only", "--no-renames", "--format=%x01%H"]
    said = source.ask([*listed, f"{first}..{last}"], folder, must=True)
    commits = (lines.splitlines() for lines in said.split("\x01"))
    touching = {lines[0] for lines in commits if any(map(serves, lines[1:]))} | {first, last}
    return tuple(commit for commit in between if commit.sha in touching)


def _commit(folder: Path, ref: str, option: str) -> str:
    """The commit that a ref means. Raises ServerError that names the option."""
    found = source.ask(["rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"], folder)
    if not found or ref.startswith("-"):
        raise ServerError(f"{option} {ref}: {no_such_commit(folder)}")
    return found


def no_such_commit(folder: Path) -> str:
    """That a checkout lacks a commit, and what brings it."""
    shallow = source.ask(["rev-parse", "--is-shallow-repository"], folder) == "true"
    return f"`{folder}` has no such commit; git fetch {'--unshallow ' * shallow}--tags?"
