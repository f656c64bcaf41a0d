"""The rows of each second, from the raw lines: what was done, by client, and what it cost.

A step at a time is in memory, never a whole result.
"""

from collections.abc import Callable
from itertools import pairwise

from dbdyno.evidence import iostat, raw_files
from dbdyno.evidence.raw_files import NS_PER_S, WindowTick
from dbdyno.model import Json
from dbdyno.model.host_reading import HostReading, OwnerCounters, growth
from dbdyno.model.metric.device import DEVICES
from dbdyno.model.processor import BUSY
from dbdyno.report.export.source import ExportPlace, ExportSource
from dbdyno.report.export.step_rows import Rows
from dbdyno.stats.response_times import Histogram

# --- The load --------------------------------------------------------------------------------


def load(source: ExportSource, place: ExportPlace) -> Rows:
    """The rows of `ticks` and `clients` of a step."""
    step = place.folder.step()
    key = source.step_key(place, step)
    job = place.folder.job()
    timed = set() if job is None else job.timed_operations()
    by_client = job is None or job.driver != "command"
    for tick in raw_files.load(place.folder.events()).ticks:
        common = key | {
            "role": tick.role,
            "kind": step.roles.get(tick.role, "other"),
            "second": tick.end_s,
            "seconds": tick.seconds,
        }
        yield "ticks", common | _tick(tick, timed)
        each = tick.clients if by_client else ()  # else one row is of all clients together
        for number, client in enumerate(each):
            yield (
                "clients",
                common
                | {
                    "client": number,
                    "operations": client.count,
                    "rows": client.rows,
                    "errors": client.errors,
                    "max_us": client.max_us,
                },
            )


def _tick(tick: WindowTick, timed: set[str]) -> Json:
    parts = [
        part.response
        for name, part in tick.operations.items()
        if part.count and part.response is not None and (not timed or name in timed)
    ]
    (times,) = Histogram.of_each([parts])
    if tick.max_us is not None:
        times.max_us = min(times.max_us, tick.max_us)
    known = times.count > 0  # a fill's rows have an empty histogram
    return {
        "operations": tick.count,
        "rows": tick.rows,
        "errors": tick.errors,
        "retries": tick.retries,
        "skipped": tick.skipped,
        "over_limit": tick.over_limit,
        "p50_us": times.percentile_us(0.5) if known else None,
        "p99_us": times.percentile_us(0.99) if known else None,
        "max_us": tick.max_us if tick.count else None,
        "late_us_max": tick.late_us_max,
        "backlog": tick.backlog,
    }


# --- The machine -----------------------------------------------------------------------------


def host(source: ExportSource, place: ExportPlace) -> Rows:
    """The rows of `samples`, `device_samples` and `owner_samples` of a step."""
    key = source.step_key(place, place.folder.step())
    host = raw_files.host(place.folder.host())
    if host.open is None:  # no window, so there is no time to count from
        return
    readings = host.readings
    opened_ns = host.open.mono_ns - (host.open.delay_ns or 0)
    devices = {device: host.open.of(device).device for device in DEVICES}
    for before, after in pairwise(readings):
        seconds = (after.mono_ns - before.mono_ns) / NS_PER_S
        if seconds <= 0:
            continue
        second = (after.mono_ns - opened_ns) / NS_PER_S
        common = key | {"second": second, "seconds": seconds}
        yield "samples", common | _sample(before, after, seconds)
        for device, name in devices.items():
            if name:
                which = {"holds": DEVICES[device], "device": name}
                gauge = {"in_flight": after.of(device).in_flight}
                figures = iostat.figures(before, after, device)
                yield "device_samples", common | which | figures | gauge
        for owner, grown in growth(before.owners, after.owners).items():
            yield "owner_samples", common | {"owner": owner} | _owner(grown, seconds)


def _sample(before: HostReading, after: HostReading, seconds: float) -> dict[str, float | None]:
    spent_us = raw_files.cpu_us(before, after)
    whole_us = raw_files.plus(spent_us.values())

    def share(*states: str) -> float | None:
        us = raw_files.plus(spent_us[state] for state in states)
        return raw_files.scaled(raw_files.per(us, whole_us), 100.0)

    def per_s(counter: Callable[[HostReading], float | None]) -> float | None:
        return raw_files.per(raw_files.moved(counter(before), counter(after)), seconds)

    memory = after.host.memory_bytes
    return {
        "cpu_busy_pct": share(*BUSY),
        "cpu_iowait_pct": share("iowait"),
        "cpu_steal_pct": share("steal"),
        "context_switches_per_s": per_s(lambda reading: reading.host.context_switches),
        "running": after.host.running,
        "memory_available_bytes": memory.available,
        "memory_cached_bytes": memory.cached,
        "memory_dirty_bytes": memory.dirty,
        "memory_writeback_bytes": memory.writeback,
        "swap_in_pages_per_s": per_s(lambda reading: reading.host.swap_pages.into),
        "swap_out_pages_per_s": per_s(lambda reading: reading.host.swap_pages.out),
        "rss_bytes": after.rss_bytes,
    }


def _owner(grown: OwnerCounters, seconds: float) -> dict[str, float | None]:
    """An owner that was not there at the reading before had spent nothing until then."""
    switches = raw_files.plus_all([grown.voluntary, grown.involuntary])
    return {
        "cpu_cores": raw_files.scaled(raw_files.per(grown.cpu_ns, seconds), 1 / NS_PER_S),
        "context_switches_per_s": raw_files.per(switches, seconds),
        "read_bytes_per_s": raw_files.per(grown.read_bytes, seconds),
        "write_bytes_per_s": raw_files.per(grown.write_bytes, seconds),
        "processes": grown.processes,
    }
