"""Histories of heads that a farm has measured in pairs: their unpaired changes are not marked."""

from collections.abc import Sequence
from dataclasses import replace

from dbdyno.analysis.across.history import History

SAID = (
    "A farm has measured these heads beside each other, so this history marks no change. The "
    "farm's page says what changed."
)


def without_changes(history: History, farms: Sequence[str]) -> History:
    """A history without the change points and plateaus of lines that a farm follows.

    `farms`: what begins the keys of their results; an empty one begins all.
    """
    beginnings = tuple(f"{key}/" if key else "" for key in farms)
    lines = tuple(
        replace(line, changes=(), plateaus=())
        if any(point.side.result.startswith(beginnings) for point in line.points)
        else line
        for line in history.lines
    )
    return replace(history, lines=lines)
