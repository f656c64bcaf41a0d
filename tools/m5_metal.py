"""Shows a run of the m5.metal study: its curve, its log beside the model, what points lack.

    python tools/m5_metal.py RESULT --write docs/studies/m5-metal.md

writes the tables anew between the two marks of the page; without --write it prints them. A gate is
a condition under which the study's figures mean something; a point that fails one is marked, and
shown all the same. What a result does not tell is said to be unknown.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.analysis.step import assemble
from dbdyno.evidence import raw_files
from dbdyno.model import StepRun
from dbdyno.model.error import DynoError
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.host_reading import OwnerCounters
from dbdyno.model.snapshot import Snapshot, number
from dbdyno.store import Results, StepFolder

BEGIN = "<!-- made by tools/m5_metal.py: begin -->"
END = "<!-- made by tools/m5_metal.py: end -->"
PAGE_BYTES = 8192
FREE_SHARE_MIN = 0.2
STEADY_OFF_MAX = 0.1
SPREAD_MAX = 0.05
CLIENT_SHARE_MAX = 0.2
EARLY, LATE = (1 / 15, 1 / 3), (2 / 3, 1.0)
"""Of the window: minutes 2 to 10 and 20 to 30 of the study's 30."""
ACCOUNTS = "pgbench_accounts"


@dataclass(frozen=True, kw_only=True)
class Point:
    """One arm with one number of clients in one block: its figures, and the gates that it fails."""

    arm: str
    clients: int
    block: int
    run: StepRun
    warm: Mapping[str, tuple[int, int]]  # relation -> its bytes, and those in shared_buffers
    failed: tuple[str, ...]
    unknown: tuple[str, ...]  # gates that the result does not tell

    def metric(self, name: str) -> float | None:
        """A metric of the table."""
        return self.run.metrics.get(name)

    @property
    def tps(self) -> float | None:
        """Transactions per second."""
        return self.metric("qps")


# --- Gates -----------------------------------------------------------------------------------


Gate = tuple[str, bool | None]
"""What fails where it is False; None: the result does not tell."""


def gates(run: StepRun, folder: StepFolder, host: HostFacts) -> Iterator[Gate]:
    """The conditions of a point by itself (spec pgbench-cbc-ybio.md 5.6)."""
    yield f"it {run.ending.status}: {run.ending.reason}", run.ending.status == "ok"
    yield from checkpoints(run.metrics)
    yield free_space(folder.after(), host)
    yield huge_pages(host)
    readings = raw_files.host(folder.host())
    swapped = raw_files.plus_all(
        [
            readings.moved(lambda reading: reading.host.swap_pages.into),
            readings.moved(lambda reading: reading.host.swap_pages.out),
        ]
    )
    yield "pages were swapped", None if swapped is None else swapped == 0
    yield steady(rates(run))
    yield client_share(readings)
    yield "the clock source is not recorded", host.clock_source is not None


def checkpoints(metrics: Mapping[str, float | None]) -> Iterator[Gate]:
    """At least one that the clock began, and none that the log's size did."""
    every, asked = metrics.get("checkpoints"), metrics.get("checkpoints_requested")
    if every is None or asked is None:
        yield "checkpoints", None
        return
    yield "no timed checkpoint", every - asked >= 1
    yield f"wal-bound: {asked:.0f} requested checkpoints", asked == 0


def free_space(after: Snapshot | None, host: HostFacts) -> Gate:
    """What was left of the log's device at the end of the step, by what lay there before it all."""
    storage = host.wal or host.data
    keys = ("wal_dir_bytes",) if host.wal else ("data_dir_bytes", "wal_dir_bytes")
    taken = raw_files.plus_all(number(after.sizes if after else None, key) for key in keys)
    free, total = storage.free_bytes, storage.total_bytes
    if free is None or not total or taken is None:
        return "the room on the log's device", None
    share = (free - taken) / total
    return f"{share:.0%} of the log's device free", share > FREE_SHARE_MIN


def huge_pages(host: HostFacts) -> Gate:
    """Whether there are any: whether the server has them is its own setting `on` to say."""
    total = host.huge_page_pool.total
    return "no huge pages", None if total is None else total > 0


def steady(per_s: Sequence[float]) -> Gate:
    """The rate early in the window and late in it."""
    early, late = (
        per_s[round(begin * len(per_s)) : round(end * len(per_s))] for begin, end in (EARLY, LATE)
    )
    if not early or not late or not statistics.fmean(late):
        return "steadiness", None
    off = statistics.fmean(early) / statistics.fmean(late) - 1
    return f"not steady: early {off:+.0%} beside late", abs(off) < STEADY_OFF_MAX


def client_share(readings: raw_files.Host) -> Gate:
    """The generator's part of the host's processors."""
    spent_ns = readings.moved(
        lambda reading: reading.owners.get("generator", OwnerCounters()).cpu_ns
    )
    whole_us = raw_files.plus(readings.cpu_us.values())
    if spent_ns is None or not whole_us:
        return "the client's processor time", None
    share = spent_ns / 1e3 / whole_us
    return f"the client took {share:.0%} of the host", share < CLIENT_SHARE_MAX


def spread(points: Sequence[Point]) -> Gate:
    """The coefficient of variation of one point over blocks."""
    known = [point.tps for point in points if point.tps]
    if len(known) < 2:
        return "the spread of repeats (one block)", None
    share = statistics.stdev(known) / statistics.fmean(known)
    return f"repeats differ by {share:.0%}", share < SPREAD_MAX


# --- The log beside the model ----------------------------------------------------------------


def images(pages: float, updates: float, checkpoints: float) -> float:
    """Full-page images that so many updates of uniformly drawn pages make.

    After each checkpoint a page's first change is logged whole: M (1 - exp(-n / M)) of M pages with
    n updates since it (spec pgbench-cbc-ybio.md 5.4). Checkpoints are taken to lie evenly.
    """
    spans = checkpoints + 1
    return spans * pages * (1 - math.exp(-updates / spans / pages))


def modelled(point: Point) -> float | None:
    """Images for a transaction, of accounts alone; None where their size or rate is unknown."""
    size, _ = point.warm.get(ACCOUNTS, (None, None))
    tps, seconds = point.tps, point.run.window.seconds
    count = point.metric("checkpoints")
    if size is None or not tps or seconds is None or count is None:
        return None
    return images(size / PAGE_BYTES, tps * seconds, count) / (tps * seconds)


# --- Reading ---------------------------------------------------------------------------------


def rates(run: StepRun) -> list[float]:
    """Transactions in each second of the window."""
    found = next((one for name, one in run.series.items() if name.endswith(".rate")), None)
    return [] if found is None else [value for value in found.y if value is not None]


def points(results: Results) -> Iterator[Point]:
    """Each measured script of each arm and block that was done."""
    host = results.host() or HostFacts()
    for block in results.blocks():
        for arm in block.runs() if block.state == "done" else ():
            for folder in arm.steps():
                run = assemble.step_run(folder)
                if run.facts.headline is None:
                    continue
                judged = list(gates(run, folder, host))
                done, job = folder.done(), folder.job()
                warm = None if done is None else done.warm
                yield Point(
                    arm=arm.arm,
                    clients=0 if job is None else job.connections,
                    block=run.block,
                    run=run,
                    warm={
                        relation.name: (relation.bytes, relation.resident_bytes)
                        for relation in (warm.resident or () if warm else ())
                    },
                    failed=tuple(what for what, met in judged if met is False),
                    unknown=tuple(what for what, met in judged if met is None),
                )


def main(arguments: Sequence[str]) -> int:
    """Prints the tables, or writes them into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--write", type=Path, help="the page whose tables are written anew")
    given = parser.parse_args(arguments)
    try:
        found = list(points(Results.open(given.result)))
    except DynoError as error:
        print(f"m5_metal: {error}", file=sys.stderr)
        return 1
    text = "\n".join(page(found))
    if given.write is None:
        print(text)
        return 0
    before, _, rest = given.write.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    given.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    return 0


# --- The tables ------------------------------------------------------------------------------


def page(found: Sequence[Point]) -> Iterator[str]:
    """All tables in Markdown."""
    yield from (
        "Transactions per second, the median of blocks (least to most). ✗: a gate fails.",
        "",
    )
    yield from curve(found)
    yield from ("", "The log of each point, and what was in shared_buffers before it:", "")
    yield from log(found)
    yield from ("", "Gates that points fail, and those that this result cannot tell:", "")
    yield from complaints(found)


def curve(found: Sequence[Point]) -> Iterator[str]:
    """Clients down, arms across; then where each arm peaks, and what is left with most clients."""
    arms = list(dict.fromkeys(point.arm for point in sorted(found, key=lambda one: one.arm)))
    by = grouped(found)
    yield row(["clients", *arms])
    yield row(["---:"] * (len(arms) + 1))
    counts = sorted({point.clients for point in found})
    for clients in counts:
        yield row([str(clients), *(rate(by.get((arm, clients), [])) for arm in arms)])
    if len(counts) > 1:
        yield row(["last by best", *(drop([by.get((arm, n), []) for n in counts]) for arm in arms)])


def grouped(found: Sequence[Point]) -> Mapping[tuple[str, int], list[Point]]:
    """The points of each arm and number of clients, by block."""
    by: dict[tuple[str, int], list[Point]] = {}
    for point in found:
        by.setdefault((point.arm, point.clients), []).append(point)
    return by


def rate(its: Sequence[Point]) -> str:
    """A cell of the curve."""
    known = sorted(point.tps for point in its if point.tps is not None)
    if not known:
        return "failed"
    mark = " ✗" if any(point.failed for point in its) or spread(its)[1] is False else ""
    within = f" ({known[0]:,.0f} to {known[-1]:,.0f})" if len(known) > 1 else ""
    return f"{statistics.median(known):,.0f}{within}{mark}"


def drop(column: Iterable[Sequence[Point]]) -> str:
    """The median with the most clients by the best one: the study's drop factor."""
    known = ([point.tps for point in its if point.tps is not None] for its in column)
    medians: list[float] = [statistics.median(one) for one in known if one]
    best = max(medians, default=0.0)
    return f"{medians[-1] / best:.2f}" if best else "–"


def log(found: Sequence[Point]) -> Iterator[str]:
    """WAL, images and checkpoints of each point, with the model and what was prewarmed."""
    heads = ["arm", "clients", "WAL MiB/min", "bytes/transaction", "images/transaction"]
    heads += ["by the model", "checkpoints timed + requested", "resident: accounts, key"]
    yield row(heads)
    yield row(["---", *["---:"] * (len(heads) - 1)])
    for point in found:
        every, asked = point.metric("checkpoints"), point.metric("checkpoints_requested")
        parts = "–" if every is None or asked is None else f"{every - asked:.0f} + {asked:.0f}"
        yield row(
            [
                point.arm,
                str(point.clients),
                shown(point.metric("wal_mib_per_min"), ",.0f"),
                shown(point.metric("wal_bytes_per_op"), ",.0f"),
                shown(point.metric("fpi_per_op"), ".3f"),
                shown(modelled(point), ".3f"),
                parts,
                ", ".join(
                    resident(point.warm.get(name)) for name in (ACCOUNTS, f"{ACCOUNTS}_pkey")
                ),
            ]
        )


def resident(of: tuple[int, int] | None) -> str:
    """How much of a relation was in shared_buffers."""
    return "–" if of is None or not of[0] else f"{of[1] / of[0]:.0%}"


def complaints(found: Sequence[Point]) -> Iterator[str]:
    """A line for each point that fails a gate, and one for what nobody can tell."""
    for point in found:
        runs = point.metric("autovacuum_runs")
        noted = f"; autovacuum ran {runs:.0f} times" if runs else ""
        words = "; ".join(point.failed) or "none"
        yield f"- {point.arm}, {point.clients} clients, block {point.block}: {words}{noted}"
    for (arm, clients), its in grouped(found).items():
        what, met = spread(its)
        if met is False:
            yield f"- {arm}, {clients} clients: {what}"
    unknown = dict.fromkeys(what for point in found for what in point.unknown)
    if any(spread(its)[1] is None for its in grouped(found).values()):
        unknown["the spread of repeats (one block)"] = None
    if unknown:
        yield f"- not known of some: {', '.join(unknown)}"


def shown(value: float | None, form: str) -> str:
    """A figure; a dash where there is none."""
    return "–" if value is None else format(value, form)


def row(cells: Iterable[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
