"""Rows of the table of metrics: what `iostat -x` tells of the data's device and of the log's.

A device's figures are the columns of sysstat's iostat 12.6, under its headings and in its order.
"""

from dataclasses import dataclass
from typing import Literal

from dbdyno.model.host_reading import Device
from dbdyno.model.metric import row
from dbdyno.model.metric.over import Over
from dbdyno.model.metric.row import Direction, Metric

DEVICES: dict[Device, str] = {"disk": "data", "wal_disk": "log"}
"""What lies on a device, as a word."""

IN_FLIGHT = "in flight max"
"""The heading of the one column that iostat -x does not have."""

Requests = Literal["reads", "writes", "discards", "flushes", "queue"]


@dataclass(frozen=True, kw_only=True)
class DeviceColumn:
    """A column of iostat, or one beside it."""

    heading: str  # iostat's
    name: str  # the end of the metric's name
    requests: Requests
    unit: str
    digits: int  # after the point, for display
    better: Direction
    title: str
    how: str


def _column(heading: str, requests: Requests, unit: str, digits: int, texts: str) -> DeviceColumn:
    """A column from "title | how"; less of a wait is better, of all else neither."""
    title, how = " ".join(texts.split()).split(" | ")
    return DeviceColumn(
        heading=heading,
        name=_name(heading),
        requests=requests,
        unit=unit,
        digits=digits,
        better="lower" if heading.endswith("await") else "neutral",
        title=title,
        how=how,
    )


def _name(heading: str) -> str:
    """A heading as a name: wrqmps of wrqm/s, util_pct of %util."""
    text = heading.lower().replace("/s", "ps").replace("-", "_").replace(" ", "_")
    return f"{text[1:]}_pct" if text.startswith("%") else text


def _requests(letter: str, requests: Requests, request: str) -> tuple[DeviceColumn, ...]:
    """The columns that iostat has of reads, writes and discards alike."""
    old = ", or before Linux 4.18" if letter == "d" else ""
    none = f"NA without requests (iostat: 0){old}"
    return (
        _column(
            f"{letter}/s", requests, "1/s", 1,
            f"{requests} | {request} requests that ended, after merging, by time",
        ),
        _column(
            f"{letter}MB/s", requests, "MiB/s", 2,
            f"bytes of {requests} | sectors of 512 bytes, by time; iostat's MB is 2^20 bytes",
        ),
        _column(
            f"{letter}rqm/s", requests, "1/s", 1,
            f"merged {requests} | {request} requests merged into a queued one, by time",
        ),
        _column(
            f"%{letter}rqm", requests, "%", 1,
            f"""share of {requests} merged | merged {request} requests by merged and ended ones;
            {none}""",
        ),
        _column(
            f"{letter}_await", requests, "ms", 3,
            f"""time of a {request} | time of {request} requests, in the queue and in the
            device, divided by their number; {none}""",
        ),
        _column(
            f"{letter}areq-sz", requests, "KiB", 1,
            f"size of a {request} | bytes of {requests} divided by {request} requests; {none}",
        ),
    )  # fmt: skip


COLUMNS: tuple[DeviceColumn, ...] = (
    *_requests("r", "reads", "read"),
    *_requests("w", "writes", "write"),
    *_requests("d", "discards", "discard"),
    _column(
        "f/s", "flushes", "1/s", 1,
        """flushes | flush requests of the device's write cache that ended, by time; the kernel
        sends one at a time, which may serve several syncs; NA before Linux 5.5""",
    ),
    _column(
        "f_await", "flushes", "ms", 3,
        """time of a flush | time of flush requests divided by their number; NA without any (iostat:
        0), or before Linux 5.5""",
    ),
    _column(
        "aqu-sz", "queue", "requests", 3,
        """requests in flight, mean | time of all requests, each counted for itself, by time: the
        kernel's weighted milliseconds; avgqu-sz of older versions of iostat""",
    ),
    _column(
        "%util", "queue", "%", 1,
        """utilisation | time with at least one request in flight, by time; a device that serves
        requests in parallel can do more at 100""",
    ),
    _column(
        IN_FLIGHT, "queue", "requests", 0,
        """requests in flight, largest reading | most requests in flight in any reading of the
        window, which comes once a second; iostat -x has only their mean""",
    ),
)  # fmt: skip

PUBLISHED_NAMES = ("rps", "rmbps", "wps", "wmbps")
"""The data device's columns that the Insert Benchmark publishes, under names without a device."""


def name_of(device: Device, column: str) -> str:
    """The name of the metric that is a column of a device."""
    return column if device == "disk" and column in PUBLISHED_NAMES else f"{device}_{column}"


def _row(device: Device, column: DeviceColumn) -> Metric:
    of_iostat = (
        ""
        if column.heading == IN_FLIGHT
        else f"{column.heading} of iostat -x, over exactly the window: "
    )
    how = f"{of_iostat}{column.how}"
    if device == "wal_disk":
        how = f"as {name_of('disk', column.name)}; NA if the data's device holds the log"
    texts = f"{column.title}, the {DEVICES[device]}'s device | {how}"
    over: Over = "largest" if column.heading == IN_FLIGHT else "ratio"
    name = name_of(device, column.name)
    return row.own(name, column.unit, column.better, column.digits, texts, over)


DEVICE: tuple[Metric, ...] = tuple(
    _row(device, column)
    for device in DEVICES
    for column in COLUMNS
    if name_of(device, column.name) not in PUBLISHED_NAMES
)

NAMES = frozenset(name_of(device, column.name) for device in DEVICES for column in COLUMNS)
"""The metrics of both devices, the four published ones of the data's included."""
