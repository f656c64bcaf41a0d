"""The charts of a step by the second: what each kind did, the longest responses, host, clients.

Arms, blocks and clients become lines here; how lines are drawn is chart.py's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.findings.fairness import show as fairness
from dbdyno.findings.fairness.facts import FairnessFacts
from dbdyno.model import BackgroundFacts, StepComparison, StepRun
from dbdyno.parts import number
from dbdyno.parts.part import CHART_BLOCKS_MAX, Chart, Group, Line, Lines, Section, Subject

CLIENT_LINES_MAX = 16
"""So many clients are drawn in a panel; of more some from the slowest to the fastest."""

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
_CLIENTS: dict[str, str] = {
    "query": "Queries per second of each client",
    "insert": "Rows inserted per second by each client",
    "delete": "Rows deleted per second by each client",
    "other": "Operations per second of each client",
}


def charts(step: StepComparison, prefix: str) -> Iterable[Chart]:
    """A chart for each quantity that a run has, all clients together."""
    for name, (title, logarithmic, scale) in _SERIES.items():
        lines = tuple(
            Line(
                arm=run.arm,
                block=run.block,
                series=run.series[name],
                spans=run.of(BackgroundFacts).spans,
            )
            for run in _drawn(step)
            if name in run.series and run.series[name].x_s
        )
        if lines:
            yield Chart(
                name=f"{prefix}-{name.replace('.', '-').replace('_', '-')}",
                title=f"{title}{', log scale' if logarithmic else ''}",
                describe=_describe(lines, title, scale),
                of=step.step,
                data=Lines(logarithmic=logarithmic, scale=scale, lines=lines),
            )


def client_charts(step: StepComparison, prefix: str) -> Iterable[Chart]:
    """A chart with a line for each client, for kinds of whose clients there is something to say."""
    roles = fairness.told(step)
    kinds = {
        fair.kind
        for run in _drawn(step)
        for fair in run.of(FairnessFacts).fairness
        if fair.role in roles
    }
    for kind, title in _CLIENTS.items():
        if kind not in kinds:
            continue
        lines = tuple(line for run in _drawn(step) for line in _client_lines(run, kind))
        if lines:
            yield Chart(
                name=f"{prefix}-{kind}-clients",
                title=title,
                describe=_describe(lines, title, 1.0),
                of=step.step,
                data=Lines(logarithmic=False, scale=1.0, lines=lines),
            )


def _drawn(step: StepComparison) -> Iterable[StepRun]:
    return (run for result in step.cells for run in result.runs[:CHART_BLOCKS_MAX])


def _client_lines(run: StepRun, kind: str) -> Iterable[Line]:
    """A run's clients by number; of very many as many as fit, evenly from slow to fast."""
    start, end = f"{kind}.client.", ".rate"
    found = {
        int(name.removeprefix(start).removesuffix(end)): series
        for name, series in run.series.items()
        if name.startswith(start) and name.endswith(end) and series.x_s
    }
    by_rate = sorted(found, key=lambda client: sum(found[client].y))
    last = len(by_rate) - 1
    if len(by_rate) > CLIENT_LINES_MAX:
        places = {round(turn * last / (CLIENT_LINES_MAX - 1)) for turn in range(CLIENT_LINES_MAX)}
        by_rate = [by_rate[place] for place in sorted(places)]
    for client in sorted(by_rate):
        yield Line(
            arm=run.arm,
            block=run.block,
            series=found[client],
            spans=run.of(BackgroundFacts).spans,
            label=f"client {client}",
        )


def _describe(lines: Sequence[Line], title: str, scale: float) -> str:
    """The range of each arm in words, for readers who cannot see the chart."""
    words = []
    for arm in dict.fromkeys(line.arm for line in lines):
        values = [y * scale for line in lines if line.arm == arm for y in line.series.y]
        words.append(f"{arm} {number.number(min(values))} to {number.number(max(values))}")
    return f"{title}: {'; '.join(words)}"


def note(step: StepComparison, found: Sequence[Chart]) -> str:
    """Explains the charts and their marks, in sentences."""
    if not found:
        return ""
    kinds = {span.kind for facts in step.each(BackgroundFacts) for span in facts.spans}
    most = max((len(result.runs) for result in step.cells), default=0)
    columns = ", one column per block" if most > 1 else ""
    lines = (line for chart in found if isinstance(chart.data, Lines) for line in chart.data.lines)
    each = any(line.label for line in lines)
    whose = "All clients together" + (", unless the title says “each”." if each else ".")
    notes = [f"One row per arm{columns}, on one scale; time in seconds. {whose}"]
    if "checkpoint" in kinds:
        notes.append("Shaded: a checkpoint.")
    if "autovacuum" in kinds:
        notes.append("Thick line at the foot: autovacuum.")
    if most > CHART_BLOCKS_MAX:
        notes.append(f"The charts show the first {CHART_BLOCKS_MAX} of {most} blocks.")
    return " ".join(notes)


def _parts(subject: Subject) -> Iterable[Group]:
    step, anchor = subject.step, subject.anchor
    whole, each = list(charts(step, anchor)), list(client_charts(step, anchor))
    told = note(step, (*whole, *each))
    if whole:
        yield Group(
            name=f"{anchor}-graphs",
            title="Per second",
            parts=tuple(
                replace(chart, note=told, depth="report" if place < OPEN_MAX else "detail")
                for place, chart in enumerate(whole)
            ),
            note=told,
            entry="seconds",
            look="graphs",
            fold="more charts by the second",
        )
    if each:
        yield Group(
            name=f"{anchor}-clients",
            title="Each client per second",
            parts=tuple(replace(chart, note=told) for chart in each),
            note="One line per client, in the colour of its arm.",
            entry="",
            look="graphs",
            joins=f"{anchor}-fairness",
        )


SECTION = Section("step", _parts)
