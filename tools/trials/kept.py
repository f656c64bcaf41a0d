"""The file of a trial: one JSON line for each run that has ended, so that a trial goes on."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from dbdyno.model.error import ResultError
from trials.trial import Kept, Side


def read(path: Path) -> list[Kept]:
    """The runs that have ended; of a line that was cut off as it was written, nothing.

    Raises ResultError where a line is no run.
    """
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    *lines, torn = text.split("\n")
    if torn:
        os.truncate(path, len(text.removesuffix(torn).encode()))
    try:
        return [Kept(**json.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise ResultError(f"{path}: a line is no run of a trial ({error}): remove it") from None


def append(path: Path, run: Kept) -> None:
    """Keeps a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run), ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def refuse_others(path: Path, runs: list[Kept], sides: list[Side]) -> None:
    """Raises ResultError where a side's runs are of another commit than it is now."""
    commits = {side.name: side.commit for side in sides}
    for run in runs:
        if commits.get(run.side, run.commit) != run.commit:
            raise ResultError(
                f"{path}: `{run.side}` was {run.commit} there and is {commits[run.side]}: "
                "name another folder by --out, or remove the file"
            )
