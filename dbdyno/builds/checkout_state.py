"""A checkout as it stands, its changes included, as a commit that its repository does not know.

So a tree with changes is built as any commit is: from what the one before left compiled, and found
again by its content. The objects of that commit lie in a folder of dyno's own; the checkout's
files, its index and its repository stay as they are.
"""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.builds import cache, source
from dbdyno.host import place

FOLDER = "changes"
SUBJECT = "as it stands"
PERSON = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (
        ("NAME", "dyno"),
        ("EMAIL", "dyno@localhost"),
        ("DATE", "2000-01-01T00:00:00Z"),
    )
}
"""The same for every such commit, so that one content is one commit."""


@dataclass(frozen=True, kw_only=True)
class CheckoutState:
    """What a checkout holds."""

    commit: str
    changed: int = 0  # files and new folders that differ from HEAD


def folder_of(repository: Path, root: Path | None = None) -> Path:
    """Where dyno keeps objects of a repository's changes; `root`: of the cache, None: the usual."""
    key = cache.key_of({"repository": str(repository)})
    return (root or place.cache_root()) / FOLDER / key


def of(checkout: Path, into: Path, *, without: Sequence[Path] = ()) -> CheckoutState:
    """What a checkout holds now, but for what its .gitignore names, or is dyno's.

    `into`: the folder that takes the objects of its changes, made where it is missing. `without`:
    files that are no part of it either. Raises ServerError.
    """
    head = source.ask(["rev-parse", "--verify", "HEAD"], checkout, must=True)
    left_out = {path.absolute() for path in without}
    names = [name for name in source.changed_names(checkout) if (checkout / name) not in left_out]
    if not names:
        return CheckoutState(commit=head)
    into.mkdir(parents=True, exist_ok=True)
    index = checkout / source.ask(["rev-parse", "--git-path", "index"], checkout, must=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index"
        if index.is_file():
            shutil.copy2(index, copy)
        environment = {
            "GIT_INDEX_FILE": str(copy),
            "GIT_OBJECT_DIRECTORY": str(into),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(source.objects_of(checkout)),
        }
        paths = [source.literal(name) for name in names]
        source.ask(["add", "--all", "--", *paths], checkout, must=True, **environment)
        tree = source.ask(["write-tree"], checkout, must=True, **environment)
        made = ["commit-tree", tree, "-p", head, "-m", SUBJECT]
        commit = source.ask(made, checkout, must=True, **environment, **PERSON)
    return CheckoutState(commit=commit, changed=len(names))
