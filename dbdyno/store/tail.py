"""Reads the events that a running step has added since the last call."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from dbdyno.model import events
from dbdyno.store.folder import StepFolder
from dbdyno.store.regular_file import opened

READ_BYTES_MAX = 64 << 20
"""So much is read at once; the rest the next time."""


class Tail:
    """The events of one step, in their order, as far as they are written."""

    def __init__(self, step: StepFolder) -> None:
        self._path: Path = step.path / "events.jsonl"
        self._offset = 0

    def more(self) -> Iterator[events.AnyEvent | events.UnknownContent]:
        """The events since the last call; a line that is not ended yet comes when it is.

        A line that is damaged is passed over: reports name it.
        """
        try:
            with opened(self._path) as file:
                file.seek(self._offset)
                text = file.read(READ_BYTES_MAX)
        except OSError:
            return
        whole, _, _ = text.rpartition(b"\n")
        if not whole:
            return
        self._offset += len(whole) + 1
        for line in whole.split(b"\n"):
            try:
                yield from events.read(line)
            except msgspec.DecodeError:
                continue
