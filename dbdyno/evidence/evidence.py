"""The files of a step, read once: the basis of its metrics, series and doubts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dbdyno.evidence import load_events, raw_files
from dbdyno.evidence.damaged_files import Damage
from dbdyno.evidence.slow_calls import SlowCalls, ending, slow_calls
from dbdyno.model import OwnerCost, engine, metric
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.error import ResultError
from dbdyno.model.headlines import kind_of
from dbdyno.model.host_reading import OwnerCounters, growth
from dbdyno.model.job import Job
from dbdyno.model.processor import BUSY
from dbdyno.model.snapshot import Snapshot
from dbdyno.model.standby_lag import StandbyLag
from dbdyno.model.step_files import LogEvent, StepDone, StepFailure, StepRecord, Turns
from dbdyno.model.step_run import SERVER_OWNERS
from dbdyno.model.wait_samples import WaitLook, WaitSamples, WaitsBegin, WaitsEnd
from dbdyno.stats import amounts
from dbdyno.stats.response_times import Histogram, merged
from dbdyno.store import StepFolder

KINDS = ("insert", "delete", "query")
NO_JOB = Job(clients=0)
"""The job of a step that came not so far, or whose job.json is damaged."""
NS_PER_US = 1_000
US_PER_S = 1e6
NAMES = frozenset(row.name for row in metric.METRICS)
EXITED = "exited"
"""The owner of processes that ended before a reading knew whose they were."""
WITHOUT_OWNER_MAX = 0.10
"""The largest share of the server's CPU without an owner with which CPU per operation is known."""
HELPERS = (
    *("background:io worker", "background:io read"),
    *("background:parallel read", "background:index build"),
)
"""Owners that do a part of operations for the sessions of all roles, and do not say for which."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The raw values of one step."""

    step: StepRecord
    job: Job
    load: raw_files.LoadReport
    host: raw_files.WindowReadings
    before: Snapshot | None
    after: Snapshot | None
    done: StepDone | None  # of a step that ended well
    failure: StepFailure | None  # of one that did not
    owners: Mapping[str, OwnerCost]
    histograms: Mapping[tuple[str, str], Histogram]  # response times by role and operation
    services: Mapping[tuple[str, str], Histogram]  # service times; none where nobody counted them
    queues: Mapping[str, Histogram] = field(
        default_factory=dict
    )  # by role (load_events.WindowHistograms)
    lags: Mapping[str, Histogram] = field(default_factory=dict)
    waits: WaitSamples | None = None  # waits.jsonl of a step that ended well
    lag: tuple[StandbyLag, ...] = ()  # lag.jsonl
    unusable: tuple[Doubt, ...] = ()  # files without which a part is not known

    @property
    def remote(self) -> bool:
        """Whether the server ran elsewhere, so that the host's counters are not of it."""
        return self.step.remote

    @property
    def log_events(self) -> Sequence[LogEvent]:
        """What the server's log says of the step."""
        end = self.done or self.failure
        return () if end is None else end.log_events

    @property
    def turns(self) -> Turns | None:
        """How the step was interleaved with other arms'; None: it was not."""
        return None if self.done is None else self.done.turns

    @property
    def names_sessions(self) -> bool:
        """Whether it is known which of the server's sessions are whose."""
        if self.job.connects_each:
            return False
        return self.job.driver == "loadgen" or "connected" in self.load.names

    @property
    def tells_lateness(self) -> bool:
        """Whether the load says how late it sends; older results say it in part."""
        return all(tick.late_us_max is not None for tick in self.load.ticks)

    @property
    def servers(self) -> str:
        """Whose metrics the step has (dbdyno.model.metric.row.Servers)."""
        return engine.recorded(self.job.engine).statistics

    @property
    def server_host(self) -> raw_files.WindowReadings:
        """The counters of the server's host; nothing if that is another host."""
        return raw_files.WindowReadings(readings=()) if self.remote else self.host

    def kind(self, role: str) -> str:
        """A role's kind in the published tables."""
        return self.step.roles.get(role, "other")

    def roles(self, work: str) -> list[str]:
        """The roles that do this work."""
        return [role for role, of in self.step.roles.items() if of == work]

    @property
    def headline_roles(self) -> list[str]:
        """The headline's role and others of its kind; none without a headline."""
        headline = self.step.headline
        if headline is None:
            return []
        work = self.kind(headline.role)
        return list(dict.fromkeys([headline.role, *(self.roles(work) if work in KINDS else [])]))

    @property
    def headline_role(self) -> str:
        """The headline's role, of a step that has one."""
        assert self.step.headline is not None
        return self.step.headline.role

    def rows(self, work: str) -> float | None:
        """Rows that the statements of this work affected in the window; None: not told."""
        return raw_files.plus_all(self.role_rows(role) for role in self.roles(work))

    def role_rows(self, role: str) -> float | None:
        """Rows that a role's statements affected in the window; None: not told.

        Rows that a running statement reports count when it does so, whenever it began.
        """
        rows = amounts.total(tick.rows for tick in self.load.of([role]))
        if self.job.reports_progress(role):
            return None if rows is None else float(rows)
        return self.in_window(role, rows)

    def in_window(self, role: str, amount: float | None) -> float | None:
        """What a role's counted operations did, as an amount of the whole window.

        The generator counts the operations that a connection began after settling, and for how long
        it was at them, to the end of the last. Their quotient is the rate without bias, however
        long an operation takes: sum(operations) / sum(time) by Wald's equation, as the number of
        operations begun up to a moment is a stopping time. All connections have that rate for the
        whole window. Where none was idle or began any: 0 of a window that one operation took, None
        in turns. Where operations count in which they ended (other programs), the amount itself.
        """
        counted = self.load.connections.get(role)
        if amount is None or counted is None:
            return None if amount is None else float(amount)
        if counted == 0.0:
            return None if self.load.pauses or self.turns is not None else 0.0
        return amount * self.connections_of(role) / counted

    def connections_of(self, name: str) -> int:
        """The connections of a role of the job, all clients together."""
        role = self.job.role(name)
        assert role is not None, "reading has refused others"
        return self.job.connections_of(role)

    @property
    def counts_in_seconds(self) -> bool:
        """Whether what the headline counts is told of each second, and not of the window alone."""
        headline = self.step.headline
        counted = headline is not None and not (
            kind_of(headline.metric).whole
            or headline.has_work
            or (headline.metric == "scan" and headline.each is not None)
        )
        return counted and self.load.in_seconds

    @property
    def work(self) -> float | None:
        """The work that the headline has in place of what was counted; None: it is not known."""
        headline = self.step.headline
        if headline is not None and headline.work is not None:
            return float(headline.work)
        return None if self.done is None or self.done.work is None else float(self.done.work)

    @cached_property
    def samples(self) -> list[tuple[float, WaitLook]]:
        """The samples of waits in the window, by active seconds; none where nobody sampled."""
        return self.load.sampled(self.waits.looks if self.waits else ())

    @cached_property
    def operations(self) -> float | None:
        """What the headline counts, in the window; None without a headline, or where it is unknown.

        Of `seconds` and `mbps` that is what its role did, as of others without `work`.
        """
        headline = self.step.headline
        if headline is None:
            return None
        if headline.has_work and not kind_of(headline.metric).whole:
            return self.work
        if (slow := self.slow_calls) is not None:  # a call that was ended did a part of its work
            return slow.per_s * (self.load.seconds or 0.0) if slow.how == "filled" else None
        role = headline.role
        counted = amounts.total(map(self.counted, self.load.of([role])))
        if headline.count == "rows" and self.job.reports_progress(role):
            return None if counted is None else float(counted)
        if headline.each is not None and role not in self.load.connections:
            return raw_files.scaled(self._passes(role), headline.each)
        return self.in_window(role, counted)

    @cached_property
    def slow_calls(self) -> SlowCalls | None:
        """What is sure of the rate of a step whose calls were too slow to count."""
        how = ending(self.done, self.failure)
        return slow_calls(self.step, self.job, self.load, how, turns=self.turns is not None)

    @property
    def edge_share(self) -> float | None:
        """The share of the headline's operations that may lie across the edges of the window.

        One for each connection and each turn, where operations count in the window in which they
        end. None where they count where they begin, or where their rate is none of operations.
        """
        headline = self.step.headline
        if headline is None or headline.has_work or headline.each is not None:
            return None
        role = headline.role
        own = self.job.role(role)
        count = sum(tick.count for tick in self.load.of([role]))
        if own is None or not count or not self.job.stop.seconds or role in self.load.connections:
            return None
        return self.job.connections_of(own) * (1 + len(self.load.pauses)) / count

    def _passes(self, role: str) -> float | None:
        """Operations of a role that count where they ended, parts included; None where none ended.

        Of scans of 3 s each a window of 10 s sees three end and cuts the fourth. Their mean
        response time says what was done all the same, as the published scripts have it (spec
        sysbench.md 2.6). Of a role that is not a closed loop for the whole window, what ended.
        """
        mean_us, seconds = self.response([role]).mean_us, self.load.seconds
        count = sum(tick.count for tick in self.load.of([role]))
        if not count or not mean_us or not seconds:
            return None
        own = self.job.role(role)
        if own is None or not own.does_what_it_can or not self.job.stop.seconds:
            return float(count)
        return self.job.connections_of(own) * seconds * US_PER_S / mean_us

    def counted(self, tick: raw_files.WindowTick) -> int | None:
        """What the headline counts in a second of its role: rows, operations or statements.

        Of operations those that it names, where it does.

        Where each operation is so much work, those that ended in it count. Of headlines of the
        window operations do: rows are their work. None where the load does not tell its rows.
        """
        headline = self.step.headline
        assert headline is not None
        count = "operations" if kind_of(headline.metric).whole else headline.count
        if count == "statements":
            parts = tick.operations.items()
            return sum(part.count for name, part in parts if name in self.statements)
        if headline.operations:
            parts = tick.operations.items()
            return sum(part.count for name, part in parts if name in headline.operations)
        amount = tick.rows if count == "rows" else tick.count
        return None if amount is None else amount * (headline.each or 1)

    @cached_property
    def statements(self) -> frozenset[str]:
        """The names of the job's statements."""
        return self.job.statement_names

    @property
    def rows_inserted(self) -> float | None:
        """Rows inserted in the window; in a step whose work is told (l.x), that work."""
        headline = self.step.headline
        if headline is not None and headline.metric == "ips":
            return self.operations or 0.0
        rows = self.rows("insert")
        return None if rows is None else float(rows)

    def response(self, roles: list[str]) -> Histogram:
        """Response times of what these roles do, each operation once, however it is made up."""
        return self.of_roles(self.histograms, roles)

    def service(self, roles: list[str]) -> Histogram:
        """The same of service times."""
        return self.of_roles(self.services, roles)

    @property
    def headline_operations(self) -> frozenset[str]:
        """The operations whose times are the headline's; empty: all, however they are made up."""
        headline = self.step.headline
        named = () if headline is None else headline.operations
        return frozenset(named) or frozenset(self.job.timed_operations())

    def headline_times(self, histograms: Mapping[tuple[str, str], Histogram]) -> Histogram:
        """The response or service times of what the headline counts."""
        roles, wanted = self.headline_roles, self.headline_operations
        return merged(
            histogram
            for (role, operation), histogram in histograms.items()
            if role in roles and (not wanted or operation in wanted)
        )

    def of_roles(
        self, histograms: Mapping[tuple[str, str], Histogram], roles: list[str]
    ) -> Histogram:
        """The times of what these roles do, each operation once."""
        timed = self.job.timed_operations()
        return merged(
            histogram
            for (role, operation), histogram in histograms.items()
            if role in roles and (not timed or operation in timed)
        )


def read(folder: StepFolder) -> Evidence:
    """Reads a step's folder; what is missing is empty.

    Raises ResultError where a file is damaged or missing without which nothing can be said of a
    step that ended well. What only lacks a part is shown without it, with a doubt.
    """
    step = folder.step()
    failure = folder.failed()
    done = None if failure is not None else folder.done()
    lost = Damage(folder.path)
    if done is not None:
        job, load = _job(folder, step), load_events.whole(folder)
    else:  # it may have ended anywhere
        job = lost.usable(folder.job) or NO_JOB
        load = lost.usable(lambda: load_events.read(folder)) or raw_files.load([])
    host = lost.usable(lambda: raw_files.host(folder.host())) or raw_files.WindowReadings(
        readings=()
    )
    has = lost.needed if done is not None and "clock" in engine.recorded(job.engine).can else None
    before, after = (
        has(read, name) if has else lost.usable(read)
        for read, name in ((folder.before, "before.json"), (folder.after, "after.json"))
    )
    waits = lost.usable(lambda: _waits(folder)) if done is not None else None
    times = (
        load_events.histograms(folder, load)
        if done is not None
        else load_events.WindowHistograms({}, {}, {}, {})
    )
    return Evidence(
        step=step,
        job=job,
        load=load,
        host=host,
        before=before,
        after=after,
        done=done,
        failure=failure,
        owners=owners(host),
        histograms=times.response,
        services=times.service,
        queues=times.queues,
        lags=times.lags,
        waits=waits,
        lag=lost.usable(lambda: tuple(folder.lag())) or (),
        unusable=tuple(
            [DoubtSubject.LEFT_OUT.doubt(line) for line in lost.lines]
            + [DoubtSubject.NEWER.doubt(line) for line in load.unknown]
        ),
    )


def _job(folder: StepFolder, step: StepRecord) -> Job:
    """The job of a step that ended well, which has to be the one that step.json speaks of."""
    job = folder.job()
    if job is None:
        raise ResultError(f"{folder.path}/job.json: is missing; restore it from a copy")
    headline = step.headline
    if headline is not None and headline.metric not in NAMES:
        raise ResultError(
            f"{folder.path}/step.json: `headline.metric` is {headline.metric!r}, which is no "
            "metric of this version; restore it from a copy, or use the version that wrote it"
        )
    if headline is not None and headline.each is not None and job.role(headline.role) is None:
        raise ResultError(
            f"{folder.path}/job.json: has no role `{headline.role}`, which step.json names; "
            "restore both from a copy"
        )
    sends = [number for program in job.programs for number in program.sends]
    if max(sends, default=-1) >= len(job.statements):
        raise ResultError(
            f"{folder.path}/job.json: a program sends a statement that is not there; restore it "
            "from a copy"
        )
    return job


def _waits(folder: StepFolder) -> WaitSamples | None:
    """The samples of waits, of which a step that ended well has the first and the last line."""
    match tuple(folder.waits()):
        case ():
            return None
        case (WaitsBegin() as begin, *looks, WaitsEnd() as end):
            return WaitSamples(
                begin, tuple(look for look in looks if isinstance(look, WaitLook)), end
            )
    raise ResultError(
        f"{folder.path}/waits.jsonl: lacks its first or last line; restore it from a copy"
    )


# --- Owners ----------------------------------------------------------------------------------


def busy_us(host: raw_files.WindowReadings) -> float | None:
    """CPU time of all cores in the window in which they were not idle, in microseconds."""
    return raw_files.plus_all(host.cpu_us[state] for state in BUSY)


def all_us(host: raw_files.WindowReadings) -> float | None:
    """Time of all cores in the window, in microseconds."""
    return raw_files.plus(host.cpu_us.values())


def owners(host: raw_files.WindowReadings) -> dict[str, OwnerCost]:
    """The cost of each owner in the window, and `rest`: the host's busy time less theirs.

    `rest` may be a little below 0, as the host's time has a coarser clock; so the sum stays true.
    """
    if host.open is None or host.close is None:
        return {}
    grown = growth(host.open.owners, host.close.owners)
    costs = {owner: _cost(owner, counters, spent_ns) for owner, counters in grown.items()
             if (spent_ns := counters.cpu_ns) is not None}  # fmt: skip
    busy = busy_us(host)
    if busy is not None:
        spent = math.fsum(cost.cpu_us for cost in costs.values())
        costs["rest"] = OwnerCost(owner="rest", cpu_us=busy - spent)
    return costs


def _cost(owner: str, grown: OwnerCounters, cpu_ns: float) -> OwnerCost:
    return OwnerCost(
        owner=owner,
        cpu_us=cpu_ns / NS_PER_US,
        context_switches=raw_files.plus_all([grown.voluntary, grown.involuntary]),
        read_bytes=grown.read_bytes,
        write_bytes=grown.write_bytes,
        run_delay_us=raw_files.scaled(grown.run_delay_ns, 1 / NS_PER_US),
    )


def cpu_us(evidence: Evidence, *starts: str) -> float | None:
    """CPU time in the window of the owners whose names start so; None where nothing was read."""
    if not evidence.owners or (evidence.remote and set(starts) & set(SERVER_OWNERS)):
        return None
    return math.fsum(
        cost.cpu_us for owner, cost in evidence.owners.items() if owner.startswith(starts)
    )


def without_owner(evidence: Evidence) -> float:
    """The share of the server's CPU of processes that ended before a reading knew their owner."""
    server_us = cpu_us(evidence, *SERVER_OWNERS)
    return (cpu_us(evidence, EXITED) or 0.0) / server_us if server_us else 0.0


def connections_cpu_us(evidence: Evidence) -> float | None:
    """CPU time in the window of all connections but the lab's, ended ones and what they led too.

    None where it is known which are the headline's: that is better known.
    """
    if evidence.names_sessions:
        return None
    return cpu_us(evidence, "role:", "parallel:", "backend:", "exited")


def helpers_cpu_us(evidence: Evidence) -> float:
    """CPU time in the window of what helps the sessions of all roles."""
    known = [evidence.owners.get(owner) for owner in HELPERS]
    return math.fsum(cost.cpu_us for cost in known if cost is not None)


def operations_cpu_us(evidence: Evidence, role: str) -> float | None:
    """CPU time in the window of a role's operations: its sessions and all that help them."""
    own = roles_cpu_us(evidence, [role])
    if own is None:
        return None
    parallel = evidence.owners.get(f"parallel:{role}")
    return own + (0.0 if parallel is None else parallel.cpu_us) + helpers_cpu_us(evidence)


def roles_cpu_us(evidence: Evidence, roles: list[str]) -> float | None:
    """CPU time in the window of the server processes of these roles; None where none was read."""
    known = [evidence.owners.get(f"role:{role}") for role in roles]
    return raw_files.plus(cost.cpu_us for cost in known if cost is not None)
