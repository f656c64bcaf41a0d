"""The transaction log of pgbench, all threads' files together, as the ticks of a window.

Each line is a transaction (PostgreSQL's manual, pgbench, "Per-Transaction Logging"): client,
number, time in µs or why there is none, script, seconds and µs of its end since 1970, with a rate
how late it began, with several tries how many more there were. The numbers of a window are sums
over lines, so files and parts of them can be added in any order.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.error import GeneratorError
from dbdyno.model.events import ClientCounts, Tick, TickPart
from dbdyno.stats.hdr_histogram import CELLS, MICROSECONDS, encoded

Table = NDArray[np.int64]
CHUNK_BYTES = 8 << 20
"""So much of a file is read at once."""
CLIENT, TIME, SCRIPT, SECONDS, MICROS, COLUMNS = 0, 2, 3, 4, 5, 6
WHY = (b"skipped", b"failed", b"serialization", b"deadlock", b"other")
"""Words in place of a time: not sent, as it was too late already (-L); an error."""
SKIPPED = -1
"""How a table has the first of them as a time; the next is one less."""
US_PER_S = 1_000_000
NS_PER_US = 1_000


@dataclass(frozen=True, kw_only=True)
class LogShape:
    """The form of lines beside the common columns, and how clients and scripts count."""

    role: str
    scripts: Sequence[str]  # the names of operations
    clients: int  # of the job
    connections: int  # of each of them
    lag: bool
    retries: bool

    @property
    def columns(self) -> int:
        """Of a line."""
        return COLUMNS + self.lag + self.retries


@dataclass(frozen=True, kw_only=True)
class LogWindow:
    """From where to where transactions count that begin, by the log's clock."""

    open_us: int  # since 1970
    open_ns: int  # the same moment, by CLOCK_MONOTONIC
    seconds: float

    @property
    def ticks(self) -> int:
        """How many seconds it has; the last may be shorter. What ends later is one more tick."""
        return math.ceil(self.seconds)

    def end_s(self, tick: int) -> float:
        """The end of a tick, numbered from 0, in seconds after the window's beginning."""
        return min(tick + 1.0, self.seconds)

    def active_ns(self, tick: int) -> int:
        """How long a tick is."""
        return max(0, round((self.end_s(tick) - tick) * 1e9))


class LogTally:
    """The counts of a log, so far: of the whole of it, and of each second of the window."""

    def __init__(self, shape: LogShape, window: LogWindow) -> None:
        self.ended = 0  # transactions of the whole run that ended well
        self.errors = 0  # answers of the whole run that were errors
        self.skipped = 0
        self.retries = 0
        self._shape = shape
        self._window = window
        ticks, scripts = window.ticks + 1, len(shape.scripts)
        # By connection: the end of what it had begun before the window, and of what it began last.
        self._from_us, self._until_us = np.zeros((2, shape.clients * shape.connections), np.int64)
        # By tick and client, by tick and script: what ended, errors, the longest.
        self._clients = [np.zeros((ticks, shape.clients), dtype=np.int64) for _ in range(3)]
        self._scripts = [np.zeros((ticks, scripts), dtype=np.int64) for _ in range(3)]
        self._retries = np.zeros((ticks, scripts), dtype=np.int64)
        self._why = np.zeros((ticks, scripts, len(WHY)), dtype=np.int64)
        self._late_us = np.zeros(ticks, dtype=np.int64)
        self._responses = Cells(ticks * scripts)
        self._services = Cells(ticks * scripts) if shape.lag else self._responses

    def add(self, lines: Table) -> None:
        """Adds lines of the log."""
        shape, window = self._shape, self._window
        well, sent = lines[:, TIME] >= 0, lines[:, TIME] != SKIPPED
        again = lines[:, -1] if shape.retries else np.zeros(len(lines), dtype=np.int64)
        self.ended += int(well.sum())
        self.errors += int(again.sum()) + int((~well & sent).sum())
        self.skipped += int((~sent).sum())
        self.retries += int(again.sum())
        passed_us = lines[:, SECONDS] * US_PER_S + lines[:, MICROS] - window.open_us
        begun_us = passed_us - np.maximum(lines[:, TIME], 0)
        if shape.lag:
            begun_us += np.where(well, lines[:, COLUMNS], 0)
        np.maximum.at(self._from_us, lines[begun_us < 0, CLIENT], passed_us[begun_us < 0])
        within = (begun_us >= 0) & (begun_us < round(window.seconds * US_PER_S))
        lines, well, sent, again = lines[within], well[within], sent[within], again[within]
        passed_us = passed_us[within]
        np.maximum.at(self._until_us, lines[:, CLIENT], passed_us)
        tick = np.where(
            passed_us < round(window.seconds * US_PER_S), passed_us // US_PER_S, window.ticks
        )
        client = lines[:, CLIENT] // shape.connections
        script = lines[:, SCRIPT]
        wrong = again + (~well & sent)
        for (ended, errors, longest), of in ((self._clients, client), (self._scripts, script)):
            np.add.at(ended, (tick, of), well)
            np.add.at(errors, (tick, of), wrong)
            np.maximum.at(longest, (tick, of), lines[:, TIME])
        np.add.at(self._retries, (tick, script), again)
        np.add.at(self._why, (tick[~well], script[~well], -1 - lines[~well, TIME]), 1)
        place = tick[well] * len(shape.scripts) + script[well]
        times_us = lines[well, TIME]
        self._responses.add(place, times_us)
        if shape.lag:
            lag_us = lines[:, COLUMNS]
            np.maximum.at(self._late_us, tick, lag_us)
            self._services.add(place, times_us - lag_us[well])

    def ticks(self) -> Iterator[Tick]:
        """The window's ticks (contract/README.md); null is what no line tells."""
        responses = self._responses.encoded()
        services = self._services.encoded() if self._shape.lag else responses
        window_us = round(self._window.seconds * US_PER_S)
        until_us = np.maximum(self._until_us, window_us)
        connection_us = int(np.maximum(until_us - self._from_us, 0).sum())
        for tick in range(self._window.ticks + 1):
            last = tick == self._window.ticks
            yield Tick(
                mono_ns=self._window.open_ns + round(self._window.end_s(tick) * 1e9),
                tick=tick + 1,
                active_ns=self._window.active_ns(tick),
                measured=True,
                role=self._shape.role,
                per_client=[
                    ClientCounts(count, None, errors, longest)
                    for count, errors, longest in zip(
                        *(client[tick].tolist() for client in self._clients), strict=True
                    )
                ],
                operations={
                    name: self._operation(tick, number, responses, services)
                    for number, name in enumerate(self._shape.scripts)
                },
                late_us_max=int(self._late_us[tick]) if self._shape.lag else None,
                backlog=None,
                connection_ns=connection_us * NS_PER_US if last else None,
            )

    def _operation(
        self, tick: int, script: int, responses: Sequence[str], services: Sequence[str]
    ) -> TickPart:
        count, _, longest = (int(counts[tick, script]) for counts in self._scripts)
        place = tick * len(self._shape.scripts) + script
        skipped, *others = self._why[tick, script].tolist()
        why = zip(WHY[1:], others, strict=True)
        return TickPart(
            count=count,
            rows=None,
            retries=int(self._retries[tick, script]),
            retried=None,
            errors={word.decode(): times for word, times in why if times},
            skipped=skipped,
            over_limit=None,
            max_us=longest,
            response=responses[place],
            service=services[place],
        )


class Cells:
    """Histograms side by side, of which only the cells in use take memory."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._parts: list[tuple[Table, Table]] = []  # keys and their counts

    def add(self, places: Table, times_us: Table) -> None:
        """Counts each time in the histogram of its place."""
        keys, counts = np.unique(
            places * CELLS + MICROSECONDS.cells_of(times_us), return_counts=True
        )
        self._parts.append((keys, counts))

    def encoded(self) -> list[str]:
        """Each histogram, as the contract has it."""
        none = np.zeros(0, dtype=np.int64)
        keys, where = np.unique(
            np.concatenate([none, *(part[0] for part in self._parts)]), return_inverse=True
        )
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, where, np.concatenate([none, *(part[1] for part in self._parts)]))
        ends = np.searchsorted(keys, np.arange(self._places + 1) * CELLS)
        return [
            encoded(keys[begin:end] % CELLS, counts[begin:end])
            for begin, end in pairwise(ends.tolist())
        ]


def tables(path: Path, shape: LogShape) -> Iterator[Table]:
    """The lines of a file, in parts; a word in place of a time is -1 less its place in WHY.

    Raises GeneratorError where a line is none of a log.
    """
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield table(chunk + file.readline(), shape, path.name)


def table(text: bytes, shape: LogShape, name: str) -> Table:
    """The numbers of whole lines; `name` is the file's. Raises GeneratorError."""
    for number, word in enumerate(WHY):
        text = text.replace(b" " + word + b" ", b" %d " % (-1 - number))
    count = text.count(b"\n")
    strange = text.translate(None, b"0123456789- \n")
    numbers = np.fromstring(b"" if strange else text, dtype=np.int64, sep=" ")
    whole = count > 0 and numbers.size == count * shape.columns
    lines = numbers.reshape(count, -1) if whole else None
    if lines is None or not _known(lines, shape):
        raise GeneratorError(
            f"`pgbench` wrote a log that cannot be read (`{name}`): not each of {count:,} lines is "
            f"{shape.columns} whole numbers of its clients and scripts"
        )
    return lines


def _known(lines: Table, shape: LogShape) -> bool:
    clients, scripts = lines[:, CLIENT], lines[:, SCRIPT]
    return bool(
        min(clients.min(), scripts.min()) >= 0
        and clients.max() < shape.clients * shape.connections
        and scripts.max() < len(shape.scripts)
    )
