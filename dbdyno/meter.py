"""How a running step does, from the ticks so far: what the person who watches is shown.

It is worked out once a second, while the window is open, so it has to be cheap: some tenths of a
millisecond, nearly all of it for the histograms of the headline's role.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from hdrh.histogram import HdrHistogram

from dbdyno.model import Json, Step
from dbdyno.progress import Pulse

NS_PER_S = 1_000_000_000
HIGHEST_US = 3_600_000_000
SIGNIFICANT_DIGITS = 3


@dataclass
class Count:
    """What a role did so far."""

    elapsed_s: float = 0.0
    measured_s: float = 0.0
    operations: int = 0  # with warm-up: a quota counts them
    amounts: dict[str, int] = field(default_factory=lambda: {"operations": 0, "rows": 0})
    errors: int = 0
    retries: int = 0

    def add(self, tick: Json) -> None:
        """Takes a tick of the role."""
        seconds = tick["active_ns"] / NS_PER_S
        operations, rows, errors, _ = (
            sum(column) for column in zip(*tick["per_client"], strict=True)
        )
        self.elapsed_s += seconds
        self.operations += operations
        self.errors += errors
        self.retries += sum(part["retries"] for part in tick["operations"].values())
        if tick["measured"]:
            self.measured_s += seconds
            self.amounts["operations"] += operations
            self.amounts["rows"] += rows

    def rate(self, what: str) -> float | None:
        """Operations or rows per second of the window so far."""
        return self.amounts[what] / self.measured_s if self.measured_s else None


class Meter:
    """Takes the ticks of one step, in their order."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.counts: dict[str, Count] = {}
        self.response = histogram()
        headline = step.headline
        roles = [role["name"] for role in step.job["roles"]]
        self.leader = headline.role if headline else roles[0] if roles else "fill"
        self.timed = whole_operations(step.job)

    def take(self, tick: Json) -> Pulse | None:
        """Counts a tick; returns how the step does where it is one of the headline's role."""
        self.counts.setdefault(tick["role"], Count()).add(tick)
        if tick["role"] != self.leader or not tick["active_ns"]:
            return None
        rates = self.rates(tick)
        second = self.merged(tick) if rates["unit"] else histogram()
        if tick["measured"]:
            self.response.add(second)
        return Pulse(
            **rates,
            p99_us=percentile_us(second, 0.99),
            p99_so_far_us=percentile_us(self.response, 0.99),
            **self.against_target(),
            errors=sum(count.errors for count in self.counts.values()),
            retries=sum(count.retries for count in self.counts.values()),
            elapsed_s=self.counts[self.leader].elapsed_s,
            share=self.share(),
        )

    def merged(self, tick: Json) -> HdrHistogram:
        """The response times of a second: of whole operations, not of a transaction's parts."""
        found = histogram()
        for name, part in tick["operations"].items():
            if part["count"] and (not self.timed or name in self.timed):
                found.decode_and_add(part["response"])
        return found

    def rates(self, tick: Json) -> Json:
        """The headline's rates; work that is told beforehand (an index's rows) has none so far."""
        headline = self.step.headline
        if headline is None or headline.work is not None:
            return {"unit": "", "rate": None, "rate_so_far": None}
        column = 1 if headline.count == "rows" else 0
        amount = sum(client[column] for client in tick["per_client"])
        return {
            "unit": "rows/s" if headline.count == "rows" else "queries/s",
            "rate": amount * NS_PER_S / tick["active_ns"],
            "rate_so_far": self.counts[self.leader].rate(headline.count),
        }

    def against_target(self) -> Json:
        """The step's target, and what its role achieved so far."""
        sla = self.step.sla
        if sla is None:
            return {"target": None, "achieved": None}
        count = self.counts.get(sla.role)
        return {"target": sla.rows_per_s, "achieved": count.rate("rows") if count else None}

    def share(self) -> float | None:
        """What of the step is done: of its quotas, of its fill's rows, else of its time."""
        job = self.step.job
        if job["stop"]["seconds"]:
            whole_s = job["stop"]["warmup_s"] + job["stop"]["seconds"]
            return float(min(1.0, self.counts[self.leader].elapsed_s / whole_s))
        if job["fills"]:
            rows = [fill["rows"] * job["tables"][fill["table"]] for fill in job["fills"]]
            return self.done("fill", sum(rows))
        quotas: list[Json] = [role for role in job["roles"] if role["name"] in job["stop"]["roles"]]
        shares = [self.done(role["name"], quota(job, role)) for role in quotas if role["stop"]]
        return min(shares, default=None)

    def done(self, role: str, operations: int) -> float:
        """What share of `operations` a role has done."""
        count = self.counts.get(role)
        return min(1.0, count.operations / operations) if count and operations else 0.0


def quota(job: Json, role: Json) -> int:
    """How many operations a role has to do, all clients together."""
    clients = job["clients"] if role["per"] == "client" else 1
    return int(role["stop"]["operations"]) * int(clients)


def whole_operations(job: Json) -> set[str]:
    """The names under which whole operations are timed: a transaction's, not its statements'."""
    names = set()
    for program in job["programs"]:
        sends = [index for verb, index in program["code"] if verb == "send"]
        single = len(sends) == 1
        names.add(job["statements"][sends[0]]["name"] if single else program["name"])
    return names


def histogram() -> HdrHistogram:
    """An empty histogram of the contract's form."""
    return HdrHistogram(1, HIGHEST_US, SIGNIFICANT_DIGITS)


def percentile_us(found: HdrHistogram, quantile: float) -> float | None:
    """The nearest rank, in microseconds; None where nothing was counted.

    The library's own way walks all cells in Python, which takes milliseconds for long times.
    """
    if not found.total_count:
        return None
    cumulated = np.cumsum(np.ctypeslib.as_array(found.counts))
    cell = int(np.searchsorted(cumulated, math.ceil(quantile * found.total_count - 1e-9)))
    value = found.get_highest_equivalent_value(found.get_value_from_index(cell))
    return float(min(value, found.max_value))
