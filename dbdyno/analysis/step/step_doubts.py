"""Reasons to doubt a step's figures: what its own files tell."""

import math
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.evidence import evidence as basis
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.role_seconds import headline_rates
from dbdyno.findings.failures import metrics as failures
from dbdyno.findings.fairness.facts import Fairness, FairnessFacts
from dbdyno.findings.owners import step as owners
from dbdyno.findings.statements.facts import StatementFacts, StatementUse
from dbdyno.model import StepRun, Target, TargetFacts, Window
from dbdyno.model.comparison import FOUND_MIN
from dbdyno.model.disturbance import PERCENT, Cause, Disturbance, of_window
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.job import first_words
from dbdyno.model.job.role import RatePace
from dbdyno.model.plan import Void
from dbdyno.parts import owner
from dbdyno.parts.number import listed
from dbdyno.stats import rate_shape

GENERATOR_SHARE_MAX = 10.0
"""CPU of the load generator as percent of the server's in a step that only writes."""
LATE_MS_MAX = 1_000.0
DISTURBED = Void(foreign=0.0, stolen=0.02, swap=True)
"""Above what a disturbance from outside is one; of foreign load the plan decides."""
LAB_SHARE_MAX = 5.0
UNKNOWN_SHARE_MAX = 1.0
"""Of CPU, in percent: with more of which nobody knows whose it is, it is said."""
END_SPREAD_MAX = 0.02
JAIN_MIN = 0.95
"""Of the rates of the headline's clients; of two clients, one has 1.6 times the other's rate."""
READING_DELAY_MS_MAX = 50.0
DISTURBANCES: Mapping[Cause, DoubtSubject] = {
    "foreign": DoubtSubject.FOREIGN,
    "stolen": DoubtSubject.STOLEN,
    "swap": DoubtSubject.SWAP,
    "slept": DoubtSubject.SLEPT,
}


def doubts(
    evidence: Evidence, metrics: Mapping[str, float | None], run: StepRun, window: Window
) -> tuple[Doubt, ...]:
    """All doubts of a step that ended well."""
    return (
        *(_at_limits(window) if evidence.step.measured else ()),
        *_beyond_histograms(evidence),
        *_clients(evidence),
        *_short_sessions(evidence),
        *_untold(evidence, window),
        *_generator(evidence, metrics),
        *_nothing(evidence),
        *_misses(evidence, run.of(StatementFacts).statements),
        *_schedule(evidence, run.of(TargetFacts).targets),
        *_limits(evidence),
        *_deletes(run.of(TargetFacts).targets),
        *_disturbed(evidence, metrics),
        *owners.doubts(evidence),
        *_unknown(evidence, metrics),
        *_errors(evidence, metrics),
        *(_level(evidence) if window.shape not in (None, "flat") else ()),
        *_ends(evidence, window.end_spread),
        *_uneven(evidence, run.of(FairnessFacts).fairness, window.end_spread),
        *_checks(evidence),
        *_not_told(evidence),
    )


def _at_limits(window: Window) -> Iterable[Doubt]:
    """The load generator's limits, which bound figures."""
    for subject, reasons in (
        (DoubtSubject.AT_LIMIT, window.limited or ()),
        (DoubtSubject.AT_MOST, window.delayed),
    ):
        yield from (subject.doubt(reason) for reason in reasons)


def _level(evidence: Evidence) -> Iterable[Doubt]:
    """The largest change of a rate's plateau in a long timed step: its mean is of neither."""
    changes = rate_shape.changes([rate for _, rate in headline_rates(evidence)])
    largest = max(changes, key=lambda change: abs(change.after - change.before))
    more = f"; {len(changes) - 1} more such changes" if len(changes) > 1 else ""
    yield DoubtSubject.LEVEL.doubt(
        f"from {largest.before:,.0f} to {largest.after:,.0f} per second after "
        f"{largest.after_s} s{more}"
    )


def _beyond_histograms(evidence: Evidence) -> Iterable[Doubt]:
    """Times that are longer than what histograms tell apart, from which percentiles are."""
    for (role, operation), histogram in evidence.histograms.items():
        if histogram.times().at_least:
            size_us, unit = (3.6e9, "h") if histogram.cells_max_us >= 3.6e9 else (1e6, "s")
            yield DoubtSubject.PERCENTILES.doubt(
                f"operations of `{role}.{operation}` took up to"
                f" {histogram.max_us / size_us:,.1f} {unit}, and histograms end at"
                f" {histogram.cells_max_us / size_us:,.1f} {unit}"
            )


def _generator(evidence: Evidence, metrics: Mapping[str, float | None]) -> Iterable[Doubt]:
    """The load generator's share of CPU; beside a cheap query it says little."""
    headline, share = evidence.step.headline, metrics.get("generator_share")
    if headline is None or headline.metric != "ips":
        return
    if share is not None and share > GENERATOR_SHARE_MAX:
        yield DoubtSubject.GENERATOR_CPU.doubt(f"{share:.1f} % of the server's", share)


def _clients(evidence: Evidence) -> Iterable[Doubt]:
    """The arm's own program makes the load: a ratio compares both together."""
    job = evidence.job
    if job.pgbench is not None and job.pgbench.program == "own":
        yield DoubtSubject.TWO_PROGRAMS.doubt(
            f"each arm's own {job.program} makes its load, here {job.version}; use one for"
            " all arms to compare the servers alone"
        )


def _short_sessions(evidence: Evidence) -> Iterable[Doubt]:
    """Sessions that last no longer than an operation, so that their owners are not known."""
    if evidence.job.connects_each:
        yield DoubtSubject.CONNECTION_EACH.doubt(
            "the owners of sessions are unknown, so CPU per operation covers all connections"
        )


def _untold(evidence: Evidence, window: Window) -> Iterable[Doubt]:
    """The values that a program as the load does not report."""
    job, ticks = evidence.job, evidence.load.ticks
    if job.driver == "loadgen" or job.restore is not None:
        return
    name = f"`{job.program}`"
    parts = [part for tick in ticks for part in tick.operations.values()]
    if window.limited is None:
        yield DoubtSubject.LIMIT_UNKNOWN.doubt(
            f"{name} does not report its lateness, so either the server or the load may have"
            " set the rate"
        )
    if not evidence.load.in_seconds:
        yield DoubtSubject.NO_SECONDS.doubt(
            f"{name} reports the window as a whole, so no shape, no stall and no chart over time"
        )
    of_each = " of each second" if (done := evidence.load.done) is not None and done.window else ""
    untold = {
        f"response times{of_each}": any(part.response is None for part in parts),
        "rows": any(tick.rows is None for tick in ticks),
        "retries": any(tick.retries is None for tick in ticks),
        "which sessions are its own (CPU is of all connections)": not evidence.names_sessions,
        "what it costs itself": "generator" not in evidence.owners,
    }
    if missing := [what for what, lacking in untold.items() if lacking]:
        yield DoubtSubject.NOT_REPORTED.doubt(
            f"{listed(missing)} by {name}; figures that need it are missing"
        )


def _nothing(evidence: Evidence) -> Iterable[Doubt]:
    """A window of which not one of the headline's operations counts: it says nothing of a rate."""
    headline, seconds = evidence.step.headline, evidence.load.seconds
    if headline is None or not seconds:
        return
    if any(tick.count for tick in evidence.load.of([headline.role])):
        return
    if evidence.slow_calls is not None:
        yield DoubtSubject.RATE_AT_MOST.doubt(
            f"each call of `{headline.role}` took longer than a turn had for it, so that none"
            " counts; turns (`schedule.turn_s`) that are longer than a call count it"
        )
        return
    longer = "give the step more `seconds`"
    if evidence.load.pauses:
        longer += ", and turns (`schedule.turn_s`) that are longer than an operation"
    yield DoubtSubject.NO_OPERATION.doubt(
        f"none of `{headline.role}` began in the {seconds:,.1f} s that count; {longer}"
    )


def _misses(evidence: Evidence, statements: Iterable[StatementUse]) -> Iterable[Doubt]:
    """Statements that found no row: fast, and of no use. What they did is their rows."""
    verbs = {"DELETE": "deleted", "UPDATE": "updated", "INSERT": "inserted", "SELECT": "returned"}
    words = {each.name: first_words(each) for each in evidence.job.statements}
    for use in statements:
        if use.found is not None and use.found < FOUND_MIN:
            verb = next((verbs[word] for word in words[use.name] if word in verbs), "affected")
            missed = 100 * (1 - use.found)
            yield DoubtSubject.NO_ROW.doubt(
                f"{missed:.1f} % of `{use.name}`; its {use.per_s:,.0f}/s really {verb}"
                f" {use.rows_per_s:,.0f} rows/s",
                missed,
            )


def _schedule(evidence: Evidence, targets: Sequence[Target]) -> Iterable[Doubt]:
    """Paced roles that fell behind, and the target rate that was missed."""
    paced = {role.name for role in evidence.job.roles if isinstance(role.pace, RatePace)}
    ticks = evidence.load.of(paced)
    late_ms = max((tick.late_us_max or 0 for tick in ticks), default=0) / 1e3
    if late_ms > LATE_MS_MAX:
        backlog = max(tick.backlog or 0 for tick in ticks)
        yield DoubtSubject.BEHIND.doubt(
            f"up to {late_ms / 1e3:.1f} s late, up to {backlog:,} waiting", late_ms / 1e3
        )
    if targets and not targets[0].met:
        inserts = targets[0]
        missed = f"{inserts.achieved_per_s:,.0f} of {inserts.target_per_s:,.0f} rows/s inserted"
        yield DoubtSubject.TARGET_MISSED.doubt(missed)


def _limits(evidence: Evidence) -> Iterable[Doubt]:
    """Operations over their latency limit, or skipped because of it."""
    for role in evidence.job.roles:
        ticks = evidence.load.of([role.name])
        done, over = sum(tick.count for tick in ticks), sum(tick.over_limit for tick in ticks)
        skipped, limit_ms = sum(tick.skipped for tick in ticks), role.latency_limit_ms
        of = f" of `{role.name}`"
        if skipped:
            failed = sum(failures.of_tick(tick) for tick in ticks)
            said = failures.share(skipped, done + failed + skipped)
            yield DoubtSubject.OPERATIONS_SKIPPED.doubt(
                f"{said}{of}, never sent: already past the latency limit when a connection"
                " was free",
                skipped,
            )
        if over and limit_ms is not None:
            said = failures.share(over, done)
            yield DoubtSubject.OVER_LIMIT.doubt(
                f"{said} operations{of} took over {limit_ms:g} ms", over
            )


def _deletes(targets: Sequence[Target]) -> Iterable[Doubt]:
    """Deletes behind inserts that held their rate: the table grows, which inserts do not show."""
    for target in targets:
        if target.kind == "delete" and not target.met and targets[0].met:
            yield DoubtSubject.DELETES_MISSED.doubt(
                f"{target.achieved_per_s:,.0f} of {target.target_per_s:,.0f} rows/s deleted,"
                " though inserts held it"
            )


def _disturbed(evidence: Evidence, metrics: Mapping[str, float | None]) -> Iterable[Doubt]:
    """Disturbances of the machine from outside the arm, and of its readings."""
    host = evidence.host
    if host.open is None or host.closed is None:
        yield DoubtSubject.COUNTERS_MISSING.doubt(
            "host.jsonl lacks a reading at the window's start or end"
        )
    else:
        # In whose turn others took CPU is not known: both readings are of the whole window.
        for disturbance in of_window(host.open, host.closed, DISTURBED):
            if disturbance.cause != "foreign" or not evidence.remote:
                yield _disturbance(disturbance)
    lab = metrics.get("lab_cpu_share")
    if lab is not None and lab > LAB_SHARE_MAX:
        yield DoubtSubject.LAB.doubt(f"{lab:.1f} % of all cores' time", lab)
    for end, reading in (("start", host.open), ("end", host.close)):
        delay_ms = (0 if reading is None else reading.delay_ns or 0) / 1e6
        if delay_ms > READING_DELAY_MS_MAX:
            yield DoubtSubject.READ_LATE.doubt(
                f"{delay_ms:.0f} ms after the window's {end}", delay_ms
            )


def _disturbance(of: Disturbance) -> Doubt:
    spent = [f"{name} {PERCENT * share:.1f} %" for name, _, share in of.processes]
    return DISTURBANCES[of.cause].doubt(
        ": ".join(filter(None, (of.words, ", ".join(spent)))),
        of.amount * (1.0 if of.cause in ("swap", "slept") else PERCENT),
    )


def _unknown(evidence: Evidence, metrics: Mapping[str, float | None]) -> Iterable[Doubt]:
    """CPU of which it is not known whether the headline's operations took it."""
    cpu, operations = metrics.get("cpu_per_op"), evidence.operations
    if not operations or evidence.step.headline is None:
        return
    ended = 100 * basis.without_owner(evidence)
    if ended > UNKNOWN_SHARE_MAX and (cpu or ended > 100 * basis.WITHOUT_OWNER_MAX):
        subject = DoubtSubject.UNIDENTIFIED if cpu else DoubtSubject.CPU_WITHHELD
        yield subject.doubt(
            f"{ended:.1f} % of the server's CPU is of processes that ended before a reading"
            " identified their owner; CPU per operation "
            + ("excludes it" if cpu else "is withheld"),
            ended,
        )
    if not cpu:
        return
    headline = evidence.headline_role
    others = [f"`{role}`" for role in evidence.step.roles if role != headline]
    helpers = 100 * basis.helpers_cpu_us(evidence) / operations / cpu
    if others and helpers > UNKNOWN_SHARE_MAX:
        costs = (evidence.owners.get(name) for name in basis.HELPERS)
        names = [owner.words(cost.owner) for cost in costs if cost is not None and cost.cpu_us]
        yield DoubtSubject.HELPERS.doubt(
            f"{helpers:.1f} % of the CPU per operation of `{headline}` is of {listed(names)},"
            f" counted in full, although {listed(others)} may share it",
            helpers,
        )


def _errors(evidence: Evidence, metrics: Mapping[str, float | None]) -> Iterable[Doubt]:
    errors, retries = metrics.get("errors") or 0.0, metrics.get("retries") or 0.0
    if errors:
        classes = failures.by_class(evidence)
        known = [
            f"{classes[name]:,} {name}" for name in failures.CLASSES if classes and classes[name]
        ]
        by_class = f": {listed(known)}" if known else ""
        yield DoubtSubject.ERRORS.doubt(f"{errors:,.0f} operations failed{by_class}", errors)
    if retries:
        retried = metrics.get("retried")
        of = f", of {retried:,.0f} operations" if retried else ""
        yield DoubtSubject.RETRIES.doubt(f"{retries:,.0f} statements were sent again{of}", retries)
    logged = [event for event in evidence.log_events if event.name == "error"]
    if logged:
        count = f"{len(logged)}, the first: " if len(logged) > 1 else ""
        yield DoubtSubject.LOGGED.doubt(f"{count}{logged[0].text}", len(logged))


def _ends(evidence: Evidence, end_spread: float | None) -> Iterable[Doubt]:
    """Clients that ended apart: the rate of the time in which all worked, beside the published."""
    if end_spread is None or end_spread <= END_SPREAD_MAX:
        return
    text = f"by {end_spread:.1%} of the window"
    common = common_rate(evidence)
    if common is not None:
        whole = (evidence.operations or 0.0) / (evidence.load.seconds or math.inf)
        rate, seconds = common
        text += f"; {whole:,.0f}/s over all of it, {rate:,.0f}/s in the {seconds} s common to all"
    yield DoubtSubject.ENDED_APART.doubt(text, 100 * end_spread)


def _uneven(
    evidence: Evidence, fairness: Iterable[Fairness], end_spread: float | None
) -> Iterable[Doubt]:
    """Clients of the headline's role that were served unevenly although they ended together."""
    if end_spread is not None and end_spread > END_SPREAD_MAX:
        return
    role = None if evidence.step.headline is None else evidence.step.headline.role
    for fair in fairness:
        if fair.role == role and fair.jain is not None and fair.jain < JAIN_MIN:
            yield DoubtSubject.UNEVEN.doubt(
                f"{min(fair.rates):,.0f} to {max(fair.rates):,.0f} {fair.unit}/s, Jain index"
                f" {fair.jain:.3f}",
                fair.jain,
            )


def common_rate(evidence: Evidence) -> tuple[float, int] | None:
    """The headline's rate in the whole seconds in which every client worked, and those seconds.

    None where there is no such second or the headline does not count what ticks count.
    """
    load = evidence.load
    if not evidence.counts_in_seconds or load.open_ns is None:
        return None
    seconds = math.floor((min(load.clients_end_ns) - load.open_ns) / 1e9)
    if seconds < 1:
        return None
    ticks = load.of([evidence.headline_role])
    amount = sum(evidence.counted(tick) or 0 for tick in ticks if tick.end_s < seconds + 0.001)
    return amount / seconds, seconds


def _checks(evidence: Evidence) -> Iterable[Doubt]:
    """Affected rows and whatever else was checked after the step."""
    for check in () if evidence.done is None else evidence.done.checks:
        if check.ok:
            continue
        what, expected, actual = check.what, check.expected, check.actual
        if isinstance(expected, int) and isinstance(actual, int) and actual < expected:
            yield DoubtSubject.FEWER.doubt(f"{what}: {actual:,} of {expected:,}", actual)
        else:
            yield DoubtSubject.UNEXPECTED.doubt(f"{what}: {actual} in place of {expected}")


def _not_told(evidence: Evidence) -> Iterable[Doubt]:
    """What the lab could not learn while it measured."""
    for words in () if evidence.done is None else evidence.done.warnings:
        yield DoubtSubject.NOT_TOLD.doubt(words)
