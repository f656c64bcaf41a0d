"""commits.json.gz: the commits between the builds of a result's arms (docs/results.md)."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from dbdyno.model.form import Natural
from dbdyno.model.suspects import CommitBetween, CommitsBetween
from dbdyno.store.file import read_json_if_there, write_atomically

FUNCTIONS = {"*": [str]}
FORM = {
    "between": [
        {
            **dict.fromkeys(("arm", "base", "arm_commit", "base_commit"), str),
            "missing": (None, str),
            "defined": FUNCTIONS,
            "commits": [
                {"commit": str, "unix_s": Natural, "subject": str, "of": str, "touched": FUNCTIONS}
            ],
        }
    ]
}


def write(path: Path, found: Sequence[CommitsBetween]) -> None:
    """Writes the file, or replaces it."""
    text = msgspec.json.encode({"between": [asdict(one) for one in found]})
    write_atomically(path, gzip.compress(text, mtime=0))


def read(path: Path) -> tuple[CommitsBetween, ...]:
    """The pairs of builds that the file tells of; none without it. Raises ResultError."""
    found = read_json_if_there(path, FORM)
    if found is None:
        return ()
    return tuple(
        CommitsBetween(
            arm=one["arm"],
            base=one["base"],
            arm_commit=one["arm_commit"],
            base_commit=one["base_commit"],
            missing=one["missing"],
            defined={file: tuple(names) for file, names in one["defined"].items()},
            commits=tuple(
                CommitBetween(
                    commit=commit["commit"],
                    unix_s=commit["unix_s"],
                    subject=commit["subject"],
                    of="arm" if commit["of"] == "arm" else "base",
                    touched={file: tuple(names) for file, names in commit["touched"].items()},
                )
                for commit in one["commits"]
            ),
        )
        for one in found["between"]
    )
