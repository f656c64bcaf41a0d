"""The charts of a step by the second: what each kind did, the longest responses, host, devices."""

from collections.abc import Iterable
from dataclasses import replace

from dbdyno.model import StepComparison
from dbdyno.parts import over_time
from dbdyno.parts.drawing import Lines
from dbdyno.parts.part import Chart, Group, Section, Subject

OPEN_MAX = 2
"""The first charts are of what the throughput counts: the rate, and the longest response."""

_SERIES: dict[str, tuple[str, bool, float]] = {
    "query.rate": ("Queries per second", False, 1.0),
    "query.max_us": ("Longest response of a query in each second, ms", True, 1e-3),
    "other.rate": ("Queries per second", False, 1.0),
    "other.max_us": ("Longest response of an operation in each second, ms", True, 1e-3),
    "insert.rate": ("Rows inserted per second", False, 1.0),
    "insert.max_us": ("Longest response of an insert in each second, ms", True, 1e-3),
    "delete.rate": ("Rows deleted per second", False, 1.0),
    "delete.max_us": ("Longest response of a delete in each second, ms", True, 1e-3),
    "host.cpu_pct": ("CPU of the whole machine, %", False, 1.0),
    "disk.read_mbps": ("Read from the device, MB/s", False, 1.0),
    "disk.write_mbps": ("Written to the device, MB/s", False, 1.0),
    "disk.r_await": ("Time of a read on the device (r_await), ms", False, 1.0),
    "disk.w_await": ("Time of a write on the device (w_await), ms", False, 1.0),
    "disk.aqu_sz": ("Requests in flight on the device (aqu-sz)", False, 1.0),
    "disk.util_pct": ("Utilisation of the device (%util), %", False, 1.0),
    "wal_disk.write_mbps": ("Written to the log's device, MB/s", False, 1.0),
    "wal_disk.w_await": ("Time of a write on the log's device (w_await), ms", False, 1.0),
    "wal_disk.aqu_sz": ("Requests in flight on the log's device (aqu-sz)", False, 1.0),
    "wal_disk.util_pct": ("Utilisation of the log's device (%util), %", False, 1.0),
    "lag.seconds": ("Replay lag of the standby, seconds", False, 1.0),
    "lag.mb": ("Replay lag of the standby, MB", False, 1.0),
    "blocks.read": ("Pages read into the server's cache, per second", False, 1.0),
    "blocks.hit": ("Pages found in the server's cache, per second", False, 1.0),
}


def charts(step: StepComparison, prefix: str) -> Iterable[Chart]:
    """A chart for each quantity that a run has, all clients together."""
    for name, (title, logarithmic, scale) in _SERIES.items():
        lines = tuple(
            over_time.line(run, run.series[name])
            for run in over_time.drawn(step)
            if name in run.series and run.series[name].x_s
        )
        if lines:
            place = f"{prefix}-{name.replace('.', '-').replace('_', '-')}"
            data = Lines(logarithmic=logarithmic, scale=scale, lines=lines)
            yield over_time.chart(step, place, title, data)


def _parts(subject: Subject) -> Iterable[Group]:
    whole = [
        replace(chart, depth="report" if place < OPEN_MAX else "detail")
        for place, chart in enumerate(charts(subject.step, subject.anchor))
    ]
    if whole:
        yield Group(
            name=f"{subject.anchor}-graphs",
            title="Per second",
            parts=tuple(whole),
            note=whole[0].note,
            entry="seconds",
            look="graphs",
            fold="more charts by the second",
        )


SECTION = Section("step", _parts)
