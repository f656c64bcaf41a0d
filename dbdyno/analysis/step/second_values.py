"""What is sampled in each second of a window, beside the rate: of the host, server and sessions.

Names: `cpu_per_op`, `ready_per_op` (ready without a core) in µs and `pages_per_op` (read into the
server's cache), of each operation that the headline counts; `role.NAME` operations, `errors` and
`retries` by second; `cpu.OWNER` in percent of a core, `steal` in percent of all cores, `swap` pages
by second; of the devices `disk` and `wal_disk` `.read_mbps`, `.write_mbps` and, for a request,
`.read_ms` and `.write_ms`; `wait.KIND` and `wait.KIND: EVENT`, sessions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dbdyno.analysis.step import raw_files, waits
from dbdyno.analysis.step.evidence import HELPERS, NS_PER_US, US_PER_S, Evidence
from dbdyno.analysis.step.raw_files import NS_PER_S, Tick
from dbdyno.analysis.step.role_seconds import full_seconds
from dbdyno.model.host_reading import Device, OwnerCounters, Reading
from dbdyno.model.metric.device import DEVICES
from dbdyno.model.processor import BUSY, CPU_STATES

Numbers = npt.NDArray[np.float64]

MB = 1e6
COST_SHARE_MIN = 0.02
"""Of a cost of an operation: it need not change by more than this to be told."""
SHARE_MIN = 0.1
"""Of any other value, which are many and near 0."""


@dataclass(frozen=True, kw_only=True)
class SecondValues:
    """A value of each second; NaN where it was not sampled."""

    name: str
    values: Numbers
    least: float  # a smaller difference is not told, in the value's unit,
    share: float = SHARE_MIN  # nor a smaller share of the higher plateau


def second_values(evidence: Evidence, ticks: Sequence[Tick], rates: Numbers) -> list[SecondValues]:
    """All values of the seconds of these ticks, in which the headline had these rates."""
    begins = np.array([tick.end_s - tick.seconds for tick in ticks])
    ends = np.array([tick.end_s for tick in ticks])
    values = [*_of_roles(evidence, ends), *_of_waits(evidence, ends)]
    host = evidence.server_host
    if host.open is not None and host.close is not None:
        begun_ns = host.open.mono_ns
        at_s = [(reading.mono_ns - begun_ns) / NS_PER_S for reading in host.readings]

        def by_second(counter: ByReading) -> Numbers | None:
            """A counter's growth by second, even between readings; None: one does not tell it."""
            read = [counter(reading) for reading in host.readings]
            counts = [count for count in read if count is not None]
            if len(counts) < len(read):
                return None
            return _growth(begins, ends, at_s, counts)

        values += _costs(evidence, by_second, rates)
        values += _of_owners(evidence, by_second)
        values += _of_machine(by_second)
    values += _pages(evidence, begins, ends, rates)
    return values


ByReading = Callable[[Reading], float | None]
BySecond = Callable[[ByReading], "Numbers | None"]


# --- The host's counters ----------------------------------------------------------------------


def _costs(evidence: Evidence, by_second: BySecond, rates: Numbers) -> Iterator[SecondValues]:
    """What an operation cost: its sessions and their helpers, as of CPU per operation."""
    if not evidence.led:
        return
    role = evidence.headline_role
    names = (f"role:{role}", f"parallel:{role}", *HELPERS)

    def owners(reading: Reading) -> Iterator[OwnerCounters]:
        return (reading.owners[name] for name in names if name in reading.owners)

    counters: dict[str, ByReading] = {
        "cpu_per_op": lambda reading: raw_files.plus(own.cpu_ns for own in owners(reading)),
        "ready_per_op": lambda reading: raw_files.plus(own.run_delay_ns for own in owners(reading)),
    }
    for name, counter in counters.items():
        spent = by_second(counter)
        if spent is not None:
            yield _per_operation(name, spent / NS_PER_US, rates, least=0.1)


def _per_operation(name: str, spent: Numbers, rates: Numbers, *, least: float) -> SecondValues:
    values = _quotient(spent, rates)
    return SecondValues(name=name, values=values, least=least, share=COST_SHARE_MIN)


def _of_owners(evidence: Evidence, by_second: BySecond) -> Iterator[SecondValues]:
    """CPU of the server's background by kind, of dyno, and of the machine beside all owners."""
    closed = evidence.server_host.close
    owners = [] if closed is None else list(closed.owners)
    for owner in owners:
        if owner.startswith(("background:", "lab")) and owner not in HELPERS:
            # An owner that was not there yet had spent nothing.
            spent = by_second(partial(_spent_us, owners=[owner]))
            if spent is not None:
                yield _of_a_core(f"cpu.{owner}", spent)
    busy = by_second(partial(_cpu_us, states=BUSY))
    known = by_second(partial(_spent_us, owners=owners))
    if busy is not None and known is not None:
        yield _of_a_core("cpu.rest", busy - known)


def _spent_us(reading: Reading, owners: Sequence[str]) -> float:
    known = [reading.owners[owner] for owner in owners if owner in reading.owners]
    return sum(owner.cpu_ns or 0.0 for owner in known) / NS_PER_US


def _cpu_us(reading: Reading, states: Sequence[str]) -> float | None:
    return raw_files.plus(reading.host.cpu_us.get(state) for state in states)


def _of_a_core(name: str, spent_us: Numbers) -> SecondValues:
    return SecondValues(name=name, values=spent_us / US_PER_S * 100, least=1.0)


def _of_machine(by_second: BySecond) -> Iterator[SecondValues]:
    """Time that other machines took, swap, and what the devices did."""
    stolen = by_second(partial(_cpu_us, states=("steal",)))
    whole = by_second(partial(_cpu_us, states=CPU_STATES))
    if stolen is not None and whole is not None:
        yield SecondValues(name="steal", values=_quotient(100 * stolen, whole), least=0.5)
    swapped = by_second(_swapped_pages)
    if swapped is not None:
        yield SecondValues(name="swap", values=swapped, least=10.0)
    for device in DEVICES:
        for way in ("read", "write"):
            moved, took_ms, count = (
                by_second(partial(_of_device, device=device, counter=f"{way}{ending}"))
                for ending in ("_bytes", "_ms", "s")
            )
            if moved is not None:
                yield SecondValues(name=f"{device}.{way}_mbps", values=moved / MB, least=0.5)
            if took_ms is not None and count is not None:
                each = _quotient(took_ms, count)
                yield SecondValues(name=f"{device}.{way}_ms", values=each, least=0.05)


def _swapped_pages(reading: Reading) -> float | None:
    pages = reading.host.swap_pages
    return raw_files.plus([pages.into, pages.out])


def _of_device(reading: Reading, device: Device, counter: str) -> float | None:
    amount: float | None = getattr(reading.of(device), counter)
    return amount


# --- The load and the server ------------------------------------------------------------------


def _of_roles(evidence: Evidence, ends: Numbers) -> Iterator[SecondValues]:
    """What the other roles did, and what went wrong in all of them."""
    errors, retries = np.zeros(len(ends)), np.zeros(len(ends))
    headline = evidence.headline_role
    places = {end_s: place for place, end_s in enumerate(ends.tolist())}
    for role in [role.name for role in evidence.job.roles]:
        done = np.zeros(len(ends))
        for tick in full_seconds(evidence, role):
            if (place := places.get(tick.end_s)) is not None:
                done[place] += tick.count / tick.seconds
                errors[place] += tick.errors
                retries[place] += tick.retries or 0
        if role != headline:
            yield SecondValues(name=f"role.{role}", values=done, least=0.1)
    yield SecondValues(name="errors", values=errors, least=0.1)
    yield SecondValues(name="retries", values=retries, least=0.1)


def _of_waits(evidence: Evidence, ends: Numbers) -> Iterator[SecondValues]:
    """Sessions by what they waited for; those on the CPU follow the rate and say no more."""
    samples = np.zeros(len(ends))
    seen: dict[str, Numbers] = defaultdict(lambda: np.zeros(len(ends)))
    looks = () if evidence.waits is None else evidence.waits.looks
    for at_s, look in waits.within(looks, evidence.load):
        place = int(np.searchsorted(ends, at_s))
        if place == len(ends):
            continue
        samples[place] += 1
        for doing in look.sessions:
            if doing.activity != "CPU":
                words = f"{doing.activity}: {doing.event}" if doing.event else doing.activity
                seen[f"wait.{words}"][place] += doing.count
    for name, sessions in sorted(seen.items()):
        yield SecondValues(name=name, values=_quotient(sessions, samples), least=0.1)


def _pages(
    evidence: Evidence, begins: Numbers, ends: Numbers, rates: Numbers
) -> Iterator[SecondValues]:
    """Pages that the server read from outside of its cache, where samples of waits tell them."""
    pages = waits.blocks_read(evidence)
    if len(pages) > 1:
        moved = _growth(begins, ends, [at_s for at_s, _ in pages], [read for _, (read, _) in pages])
        if moved is not None:
            yield _per_operation("pages_per_op", moved, rates, least=0.001)


def _growth(
    begins: Numbers, ends: Numbers, at_s: Sequence[float], counts: Sequence[float]
) -> Numbers | None:
    """A counter's growth by second, even between its readings; None where it was set back.

    NaN before the first reading and after the last: a sampler that ended saw nothing stand still.
    """
    first, last = (
        np.interp(moments, at_s, counts, left=np.nan, right=np.nan) for moments in (begins, ends)
    )
    moved: Numbers = np.subtract(last, first)
    return None if (moved < 0).any() else moved / (ends - begins)


def _quotient(amounts: Numbers, counts: Numbers) -> Numbers:
    """The amounts by the counts; NaN in seconds that count nothing."""
    none = np.full(len(counts), np.nan)
    quotient: Numbers = np.divide(amounts, counts, out=none, where=counts > 0)
    return quotient
