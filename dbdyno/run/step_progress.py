"""How a running step does, from the ticks so far: what the person who watches is shown.

Progress is computed once a second, while the window is open, so it has to be cheap: some tenths of
a millisecond, nearly all of it for the histograms of the headline's role.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dbdyno.model import Headline, Json, Step, metric
from dbdyno.model.events import Tick
from dbdyno.model.job import amounts
from dbdyno.model.step_files import Counted
from dbdyno.run.progress import Pulse
from dbdyno.stats.response_times import Histogram

NS_PER_S = 1_000_000_000


@dataclass
class Count:
    """The work of a role so far."""

    elapsed_s: float = 0.0
    measured_s: float = 0.0
    operations: int = 0  # with warm-up: a quota counts them
    amounts: dict[str, int] = field(
        default_factory=lambda: {"operations": 0, "rows": 0, "statements": 0}
    )
    second: dict[str, int] = field(default_factory=dict)  # the same of the last tick alone
    errors: int = 0
    retries: int = 0

    def add(self, tick: Tick, statements: frozenset[str]) -> None:
        """Takes a tick of the role; `statements` are the names of those, not of transactions."""
        seconds = tick.active_ns / NS_PER_S
        self.second = amounts(tick, statements)
        self.elapsed_s += seconds
        self.operations += self.second["operations"]
        self.errors += sum(client.errors for client in tick.per_client)
        self.retries += sum(part.retries or 0 for part in tick.operations.values())
        if tick.measured:
            self.measured_s += seconds
            for what, amount in self.second.items():
                self.amounts[what] += amount

    def rate(self, what: str) -> float | None:
        """Operations, rows or statements per second of the window so far."""
        return self.amounts[what] / self.measured_s if self.measured_s else None


class Meter:
    """Takes the ticks of one step, in their order."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.counts: dict[str, Count] = {}
        self.response = Histogram()
        headline = step.headline
        roles = [role.name for role in step.job.roles]
        self.leader = headline.role if headline else roles[0] if roles else "fill"
        self.timed = step.job.timed_operations()
        self.statements = step.job.statement_names

    def take(self, tick: Tick) -> Pulse | None:
        """Counts a tick; returns how the step does where it is one of the headline's role."""
        self.counts.setdefault(tick.role, Count()).add(tick, self.statements)
        if tick.role != self.leader or not tick.active_ns:
            return None
        rates = self.rates(tick)
        second = self.merged(tick) if rates["unit"] else Histogram()
        if tick.measured:
            self.response.merge(second)
        return Pulse(
            **rates,
            p99_us=p99_us(second),
            p99_so_far_us=p99_us(self.response),
            **self.against_target(),
            errors=sum(count.errors for count in self.counts.values()),
            retries=sum(count.retries for count in self.counts.values()),
            elapsed_s=self.counts[self.leader].elapsed_s,
            share=self.share(),
        )

    def merged(self, tick: Tick) -> Histogram:
        """The response times of a second: of whole operations, not of a transaction's parts."""
        whole = [(name, part) for name, part in tick.operations.items() if part.count]
        (histogram,) = Histogram.of_each(
            [
                [
                    part.response
                    for name, part in whole
                    if part.response is not None and (not self.timed or name in self.timed)
                ]
            ]
        )
        return histogram

    def rates(self, tick: Tick) -> Json:
        """The headline's rates; work that is told as a whole (an index's rows) has none so far."""
        headline = self.step.headline
        if headline is None or headline.is_whole:
            return {"unit": "", "rate": None, "rate_so_far": None}
        count, each = self.counts[self.leader], headline.each or 1
        so_far = count.rate(headline.count)
        return {
            "unit": unit(headline),
            "rate": count.second[headline.count] * each * NS_PER_S / tick.active_ns,
            "rate_so_far": None if so_far is None else so_far * each,
        }

    def counted(self) -> Counted:
        """The work of the headline's role in the window so far, and the seconds since it opened."""
        count = self.counts.get(self.leader, Count())
        return Counted(seconds=count.measured_s, **count.amounts)

    def against_target(self) -> Json:
        """The step's target, and what its role achieved so far."""
        sla = self.step.sla
        if sla is None:
            return {"target": None, "achieved": None}
        count = self.counts.get(sla.role)
        return {"target": sla.rows_per_s, "achieved": count.rate("rows") if count else None}

    def share(self) -> float | None:
        """The share of the step that is done: of its quotas, its fill's rows, else its time."""
        job = self.step.job
        if job.stop.seconds:
            whole_s = job.stop.warmup_s + job.stop.seconds
            return float(min(1.0, self.counts[self.leader].elapsed_s / whole_s))
        if job.fills:
            rows = [fill.rows * len(job.table_names(fill.table)) for fill in job.fills]
            return self.done("fill", sum(rows))
        shares = [
            self.done(role.name, role.stop.operations * job.clients_of(role))
            for role in job.roles
            if role.stop is not None and role.name in job.stop.roles
        ]
        return min(shares, default=None)

    def done(self, role: str, operations: int) -> float:
        """The share of `operations` that a role has done."""
        count = self.counts.get(role)
        return min(1.0, count.operations / operations) if count and operations else 0.0


def p99_us(histogram: Histogram) -> float | None:
    """The p99 in microseconds; None where nothing was counted."""
    return histogram.percentile_us(0.99) if histogram.count else None


def unit(headline: Headline) -> str:
    """The unit of a headline's rate, such as "queries/s"."""
    return metric.by_name(headline.metric).unit
