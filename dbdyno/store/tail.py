"""Reads the events that a running step has added since the last call."""

from __future__ import annotations

from pathlib import Path

import orjson

from dbdyno.model import Json
from dbdyno.store.folder import StepFolder

READ_BYTES_MAX = 64 << 20
"""So much is read at once; the rest the next time."""


class Tail:
    """The events of one step, in their order, as far as they are written."""

    def __init__(self, step: StepFolder) -> None:
        self._path: Path = step.path / "events.jsonl"
        self._offset = 0

    def more(self) -> list[Json]:
        """The events since the last call; a line that is not ended yet comes when it is.

        A line that is damaged is passed over: reports name it.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read(READ_BYTES_MAX)
        except OSError:
            return []
        whole, _, _ = text.rpartition(b"\n")
        if not whole:
            return []
        self._offset += len(whole) + 1
        return [event for line in whole.split(b"\n") if (event := _event(line)) is not None]


def _event(line: bytes) -> Json | None:
    try:
        value = orjson.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
