"""A checkout as it stands, its changes included, as a commit that no ref names.

So a tree with changes is built as any commit is: from what the one before left compiled, and found
again by its content. Its files and its index stay as they are.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dbdyno.builds import source

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
    changed: int = 0  # files that differ from HEAD, new ones included


def of(checkout: Path) -> CheckoutState:
    """What a checkout holds now, without the files that its .gitignore names.

    Raises ServerError.
    """
    head = source.ask(["rev-parse", "--verify", "HEAD"], checkout, must=True)
    changed = source.ask(["status", "--porcelain"], checkout, must=True).splitlines()
    if not changed:
        return CheckoutState(commit=head)
    index = Path(source.ask(["rev-parse", "--git-path", "index"], checkout, must=True))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index"
        if (checkout / index).is_file():
            shutil.copy2(checkout / index, copy)
        place = {"GIT_INDEX_FILE": str(copy)}
        source.ask(["add", "--all"], checkout, must=True, **place)
        tree = source.ask(["write-tree"], checkout, must=True, **place)
    made = ["commit-tree", tree, "-p", head, "-m", SUBJECT]
    commit = source.ask(made, checkout, must=True, **PERSON)
    return CheckoutState(commit=commit, changed=len(changed))
