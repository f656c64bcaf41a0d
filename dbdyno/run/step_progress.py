"""How a running step does, from the ticks so far: what the person who watches is shown.

Progress is computed once a second, while the window is open, so it has to be cheap: some tenths of
a millisecond, nearly all of it for the histograms of the headline's role.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dbdyno.model import Json, Step
from dbdyno.model.events import Tick, TickPart
from dbdyno.model.headlines import scale_of, unit_of
from dbdyno.model.job import amounts
from dbdyno.model.step_files import HeadlineWork
from dbdyno.run.progress import Pulse
from dbdyno.stats.few_operations import Claim, for_edges_s, for_scatter_s
from dbdyno.stats.response_times import Histogram

NS_PER_S = 1_000_000_000
COUNT_WHERE_BEGUN = ("loadgen", "pgbench")
"""Drivers whose operations have no edges (Evidence.edge_share)."""
TIMED_MIN = 4
"""So many lengths of operations tell about how much these scatter."""


@dataclass
class WorkProgress:
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
    timed: int = 0  # operations of the window whose lengths are known
    sum_us: float = 0.0  # of these lengths
    squares: float = 0.0  # the sum of their squares

    def add(self, tick: Tick, statements: frozenset[str], named: tuple[str, ...] = ()) -> None:
        """Takes a tick of the role; `statements` are the names of those, not of transactions.

        `named`: what the headline names of its operations.
        """
        seconds = tick.active_ns / NS_PER_S
        self.second = amounts(tick, statements, named)
        self.elapsed_s += seconds
        self.operations += self.second["operations"]
        self.errors += sum(client.errors for client in tick.per_client)
        self.retries += sum(part.retries or 0 for part in tick.operations.values())
        if tick.measured:
            self.measured_s += seconds
            for what, amount in self.second.items():
                self.amounts[what] = self.amounts.get(what, 0) + amount

    def time(self, parts: Iterable[TickPart]) -> None:
        """Takes the lengths of whole operations of a second of the window."""
        for part in parts:
            if part.sums_us is not None:
                self.timed += part.count
                self.sum_us += part.sums_us.response[0]
                self.squares += part.sums_us.response[1]

    @property
    def scatter(self) -> float:
        """The variance of an operation's length by the square of its mean; 0: none is known."""
        if self.timed < TIMED_MIN or not self.sum_us:
            return 0.0
        variance = self.timed * self.squares / self.sum_us**2 - 1
        return max(0.0, variance) * self.timed / (self.timed - 1)

    def rate(self, what: str) -> float | None:
        """Operations, rows or statements per second of the window so far."""
        return self.amounts.get(what, 0) / self.measured_s if self.measured_s else None


class StepMeter:
    """Takes the ticks of one step, in their order."""

    def __init__(self, step: Step, claim: Claim | None = None) -> None:
        """`claim`: what the step's operations have to be enough for; None: for nothing."""
        self.step, self.claim = step, claim
        self.counts: dict[str, WorkProgress] = {}
        self.response = Histogram()
        headline = step.headline
        roles = [role.name for role in step.job.roles]
        self.named = headline.operations if headline else ()
        self.what = "named" if self.named else headline.count if headline else ""
        self.leader = headline.role if headline else roles[0] if roles else "fill"
        self.timed = step.job.timed_operations()
        self.statements = step.job.statement_names

    def take(self, tick: Tick) -> Pulse | None:
        """Counts a tick; returns how the step does where it is one of the headline's role."""
        named = self.named if tick.role == self.leader else ()
        self.counts.setdefault(tick.role, WorkProgress()).add(tick, self.statements, named)
        if tick.role != self.leader or not tick.active_ns:
            return None
        rates = self.rates(tick)
        second = self.merged(tick) if rates["unit"] else Histogram()
        if tick.measured:
            self.response.merge(second)
            self.counts[self.leader].time(self.whole(tick))
        return Pulse(
            **rates,
            p99_us=p99_us(second),
            p99_so_far_us=p99_us(self.response),
            **self.against_target(),
            errors=sum(count.errors for count in self.counts.values()),
            retries=sum(count.retries for count in self.counts.values()),
            elapsed_s=self.counts[self.leader].elapsed_s,
            share=self.share(),
            enough_s=self.enough_s(),
        )

    def merged(self, tick: Tick) -> Histogram:
        """The response times of a second: of whole operations, not of a transaction's parts."""
        (histogram,) = Histogram.of_each(
            [[part.response for part in self.whole(tick) if part.response is not None]]
        )
        return histogram

    def whole(self, tick: Tick) -> list[TickPart]:
        """Operations of a second, without a transaction's parts."""
        return [
            part
            for name, part in tick.operations.items()
            if part.count and (not self.timed or name in self.timed)
        ]

    def rates(self, tick: Tick) -> Json:
        """The headline's rates; work that is told as a whole (an index's rows) has none so far."""
        headline = self.step.headline
        if headline is None or headline.is_whole:
            return {"unit": "", "rate": None, "rate_so_far": None}
        count = self.counts[self.leader]
        each = scale_of(headline)
        so_far = count.rate(self.what)
        return {
            "unit": unit_of(headline),
            "rate": count.second[self.what] * each * NS_PER_S / tick.active_ns,
            "rate_so_far": None if so_far is None else so_far * each,
        }

    def counted(self) -> HeadlineWork:
        """The work of the headline's role in the window so far, and the seconds since it opened."""
        count = self.counts.get(self.leader, WorkProgress())
        return HeadlineWork(seconds=count.measured_s, **count.amounts)

    def against_target(self) -> Json:
        """The step's target, and what its role achieved so far."""
        sla = self.step.sla
        if sla is None:
            return {"target": None, "achieved": None}
        count = self.counts.get(sla.role)
        return {"target": sla.rows_per_s, "achieved": count.rate("rows") if count else None}

    def enough_s(self) -> float | None:
        """The seconds of a window that would have enough operations for the claim.

        None where the step's window has enough, as far as can be foretold; where the rate is none
        of operations that follow one another; or before the window opened.
        """
        job, headline, counted = self.step.job, self.step.headline, self.counted()
        role, seconds = job.role(self.leader), job.stop.seconds
        if self.claim is None or role is None or not role.does_what_it_can or not seconds:
            return None
        if headline is None or headline.has_work or headline.each or not counted.seconds:
            return None
        connections = job.connections_of(role)
        ended = counted.operations or connections  # none ended yet: at most one each
        operations = ended * seconds / counted.seconds
        scatter = self.counts[self.leader].scatter
        enough_s = for_scatter_s(seconds, scatter / operations, self.claim)
        if job.driver not in COUNT_WHERE_BEGUN:
            edges = 2 * connections / operations  # of two arms alike
            if edges > self.claim.margin:
                enough_s = max(enough_s, for_edges_s(seconds, edges, self.claim.margin))
        return enough_s if enough_s > seconds else None

    def share(self) -> float | None:
        """The share of the step that is done: of its quotas, its fill's rows, else its time."""
        job = self.step.job
        if job.stop.seconds:
            whole_s = job.stop.warmup_s + job.stop.seconds
            return float(min(1.0, self.counts[self.leader].elapsed_s / whole_s))
        if job.fills:
            rows = [fill.expected_rows * len(job.table_names(fill.table)) for fill in job.fills]
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
