"""A configuration file of one's own, in place of a preset: what all engines' have in common.

Only what stands in the file itself is read: directives that include others are refused, as the
result has to say what a server ran with.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.model.error import PlanError

ENDINGS = (".conf", ".cnf")


def is_file(config: str) -> bool:
    """Whether an arm's `config` is a file's path; else it is a preset's name."""
    return "/" in config or config.endswith(ENDINGS)


def lines_of(text: str, comments: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers from 1."""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and stripped[0] not in comments:
            yield number, stripped


def includes(source: str, number: int, directive: str) -> PlanError:
    """The error for a directive that includes another file."""
    return PlanError(
        f"{source}: line {number}: `{directive}` reads another file: copy its settings here"
    )
