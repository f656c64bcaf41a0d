"""Computes the metrics of dbdyno.model.metric for one step, a family of them at a time."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.evidence import counters, own_queue, plan_choice, raw_files, sums
from dbdyno.evidence import evidence as basis
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.generator_limit import LAG_OPERATIONS_MIN
from dbdyno.evidence.raw_files import per, scaled
from dbdyno.findings.device import metrics as device
from dbdyno.findings.failures import metrics as failures
from dbdyno.findings.fairness.facts import FairnessFacts
from dbdyno.findings.owners import metrics as owners
from dbdyno.findings.replay_lag import metrics as replay_lag
from dbdyno.findings.server_counters import metrics as server_counters
from dbdyno.findings.statements.facts import StatementFacts, StatementUse
from dbdyno.findings.waits import metrics as waits
from dbdyno.findings.waits.facts import WaitFacts
from dbdyno.model import BackgroundFacts, Headline, StepRun, TargetFacts, metric
from dbdyno.model.headlines import kind_of
from dbdyno.model.host_reading import HostReading
from dbdyno.model.job.role import RatePace
from dbdyno.model.metric.primary import UNDISTURBED
from dbdyno.model.snapshot import Figures, Snapshot, number
from dbdyno.stats import amounts, interval
from dbdyno.stats.response_times import Histogram

Metrics = Mapping[str, float | None]

KIB, MIB, GIB = float(1 << 10), float(1 << 20), float(1 << 30)


def metrics(evidence: Evidence, run: StepRun) -> dict[str, float | None]:
    """All metrics by name; None where a step, a machine or a version does not have one.

    `run`: the step with what its findings tell.
    """
    values = {
        **throughput(evidence),
        **apart(evidence, run.of(StatementFacts).statements),
        **scanned(evidence),
        **steadiness(evidence, run),
        **means(evidence),
        **trouble(evidence),
        **own_queue.metrics(evidence),
        **failures.metrics(evidence),
        **device.metrics(evidence),
        **machine(evidence),
        **owners.metrics(evidence),
        **waits.ledger(evidence, run.of(WaitFacts)),
        **server_counters.metrics(evidence),
        **sizes(evidence),
        **writes(evidence, run.of(BackgroundFacts)),
        **replay_lag.metrics(evidence),
        **canary(evidence),
        **counters.metrics(None),  # a profile's, where there is one
        UNDISTURBED: None,  # what is compared is chosen by the base's runs together
    }
    # Of a server that cannot have a metric a 0 would be no count.
    servers = ("all", evidence.servers)
    return {
        name: value if metric.by_name(name).servers in servers else None
        for name, value in values.items()
    }


def throughput(evidence: Evidence) -> Metrics:
    """Rates over the window and what the published tables say of single seconds."""
    seconds, headline = evidence.load.seconds, evidence.step.headline
    queries = raw_files.plus_all(
        evidence.in_window(role, sum(tick.count for tick in evidence.load.of([role])))
        for role in evidence.roles("query")
    )
    rates_of = {
        "ips": per(evidence.rows_inserted, seconds),
        "qps": per(queries, seconds),
        "dps": per(evidence.rows("delete"), seconds),
        **dict.fromkeys(("riops", "opm", "seconds", "mbps")),
    }
    if headline is not None:
        rates_of[headline.metric] = result(evidence, headline.metric)
        rates_of |= beside(evidence, headline)
    rates = per_second(evidence)
    response = evidence.headline_times(evidence.histograms)
    service = evidence.headline_times(evidence.services)
    return {
        **rates_of,
        "p50": interval.published_percentile(rates, 0.5),
        "p99": interval.published_percentile(rates, 0.99),
        "rate_max": max(rates, default=None),
        "maxop": service.max_us / 1e6 if service.count else None,
        "service_p99_us": service.percentile_us(0.99) if service.count else None,
        "service_p999_us": service.percentile_us(0.999) if service.count else None,
        "response_p99_us": response.percentile_us(0.99) if response.count else None,
        "response_us_max": float(response.max_us) if response.count else None,
        "told_latency_ms": raw_files.number(evidence.load.report, "latency_ms"),
    }


def result(evidence: Evidence, headline: str) -> float | None:
    """The headline's value: a rate over the window, or the window's length."""
    seconds = evidence.load.seconds
    if headline == "seconds":
        return seconds
    if headline == "mbps":
        return scaled(per(evidence.work, seconds), 1 / MIB)
    if evidence.slow_calls is not None:
        return evidence.slow_calls.per_s
    return scaled(per(evidence.operations, seconds), kind_of(headline).span_s)


def beside(evidence: Evidence, headline: Headline) -> Metrics:
    """Of a headline in seconds that has work the rate of that: of rows, or else of bytes."""
    if headline.metric != "seconds" or evidence.work is None:
        return {}
    rate = per(evidence.work, evidence.load.seconds)
    return {"ips": rate} if headline.count == "rows" else {"mbps": scaled(rate, 1 / MIB)}


def means(evidence: Evidence) -> Metrics:
    """Exact means and standard deviations of what the headline counts; of lateness at a rate."""
    roles = evidence.headline_roles
    at_rate = {role.name for role in evidence.job.roles if isinstance(role.pace, RatePace)}
    paced = [role for role in roles if role in at_rate]
    response = sums.of_roles(evidence, roles, "response", evidence.headline_operations)
    late = sums.of_roles(evidence, paced, "late")
    return {
        "response_us_mean": response.mean_us if response else None,
        "response_us_sd": response.sd_us if response else None,
        "late_us_mean": late.mean_us if late else None,
        "late_us_sd": late.sd_us if late else None,
        "connect_us_mean": connect_us_mean(evidence),
        "generic_plans": plan_choice.mean(evidence.load.session_ends, evidence.job),
    }


def connect_us_mean(evidence: Evidence) -> float | None:
    """Of the connections that operations of all roles opened; None where none did."""
    opened = [tick.connects for tick in evidence.load.ticks if tick.connects]
    count = sum(connects.count for connects in opened)
    return per(sum(connects.sum_us for connects in opened), count)


def per_second(evidence: Evidence) -> list[float]:
    """The headline's count in each whole second, all clients; empty if not reported."""
    if not evidence.counts_in_seconds:
        return []
    ticks = [tick for tick in evidence.load.of([evidence.headline_role]) if tick.whole]
    counts = [(evidence.counted(tick), tick.seconds) for tick in ticks]
    return [count / seconds for count, seconds in counts if count is not None]


def apart(evidence: Evidence, statements: Iterable[StatementUse]) -> Metrics:
    """The headline role's work, counted as transactions, statements and rows."""
    role = "" if evidence.step.headline is None else evidence.step.headline.role
    own = [statement for statement in statements if statement.role == role]
    transactions = evidence.in_window(role, sum(tick.count for tick in evidence.load.of([role])))
    if not own:
        return dict.fromkeys(("tps", "statements_ps", "control_ps", "rows_ps", "found_share"))
    known = [(use.per_s, use.found) for use in own if use.found is not None]
    matched = math.fsum(per_s * share for per_s, share in known)
    return {
        "tps": per(transactions, evidence.load.seconds),
        "statements_ps": math.fsum(use.per_s for use in own if use.kind == "statement"),
        "control_ps": math.fsum(use.per_s for use in own if use.kind == "control"),
        "rows_ps": math.fsum(use.rows_per_s for use in own),
        "found_share": scaled(per(matched, math.fsum(per_s for per_s, _ in known)), 100.0),
    }


def scanned(evidence: Evidence) -> Metrics:
    """Rows of scans: of all clients, and of one as published; None where nothing is scanned."""
    headline = evidence.step.headline
    if headline is None or headline.metric != "scan":
        return {"scan": None, "scan_krows_client": None}
    rows_ps = per(evidence.operations, evidence.load.seconds)
    of_one = per(rows_ps, evidence.connections_of(headline.role))
    return {"scan": rows_ps, "scan_krows_client": scaled(of_one, 1e-3)}


def steadiness(evidence: Evidence, run: StepRun) -> Metrics:
    """How evenly the headline's clients and seconds were served, and what targets were missed."""
    role = None if evidence.step.headline is None else evidence.step.headline.role
    fair, stall = run.of(FairnessFacts).of(role), run.of(FairnessFacts).stalls_of(role)
    targets = run.of(TargetFacts).targets
    first_targets = {target.kind: target for target in reversed(targets)}  # the first of each kind
    inserts, deletes = first_targets.get("insert"), first_targets.get("delete")
    share = deletes.achieved_per_s / deletes.target_per_s if deletes else None
    return {
        "jain": fair.jain if fair else None,
        "finish_diff_s": fair.diff_s if fair else None,
        "finish_pct": fair.pct if fair else None,
        "stalled_s": float(stall.stalled) if stall else None,
        "stall_longest_s": float(stall.longest_s) if stall else None,
        "target_missed_s": float(inserts.seconds_missed) if inserts else None,
        "dps_share_of_target": scaled(share, 100.0),
    }


def trouble(evidence: Evidence) -> Metrics:
    """Lateness, retries and errors of all roles."""
    ticks = evidence.load.ticks
    retries = amounts.total(tick.retries for tick in ticks)
    late_us = amounts.longest(tick.late_us_max for tick in ticks)
    backlog = amounts.longest(tick.backlog for tick in ticks)
    errors = sum(tick.errors for tick in ticks)  # those that were tried again too
    counts = Counter[str]()
    for tick in ticks:
        counts[tick.role] += tick.count
    many = {role for role, count in counts.items() if count >= LAG_OPERATIONS_MIN}
    return {
        "late_ms_max": None if late_us is None else late_us / 1e3,
        "lag_us_p99": largest_p99_us(lag for role, lag in evidence.lags.items() if role in many),
        "queue_us_p99": largest_p99_us(evidence.queues.values()),
        "backlog_max": None if backlog is None else float(backlog),
        "retries": None if retries is None else float(retries),
        "errors": float(max(errors - (retries or 0), 0)),
    }


def largest_p99_us(by_role: Iterable[Histogram]) -> float | None:
    """The largest p99 of any role's histograms, in microseconds; None where there are none."""
    return max((whole.percentile_us(0.99) for whole in by_role if whole.count), default=None)


def machine(evidence: Evidence) -> Metrics:
    """The whole host: context switches, CPU, memory."""
    host, operations = evidence.server_host, evidence.operations
    switches = host.moved(lambda reading: reading.host.context_switches)
    busy, total = basis.busy_us(host), basis.all_us(evidence.host)
    known = [reading.rss_bytes for reading in host.readings if reading.rss_bytes is not None]
    return {
        "csps": per(switches, host.seconds),
        "cspq": per(switches, operations),
        "cpups": scaled(per(busy, total), 100.0),
        "cpupq": per(busy, operations),
        "steal_share": scaled(per(evidence.host.cpu_us["steal"], total), 100.0),
        "lab_cpu_share": scaled(per(basis.cpu_us(evidence, "lab"), total), 100.0),
        "rss": scaled(max(known, default=None), 1 / GIB),
        "dirty_mb_open": unwritten_mb(host.open),
        "dirty_mb_close": unwritten_mb(host.close),
    }


def unwritten_mb(reading: HostReading | None) -> float | None:
    """Dirty and Writeback of a reading, in MiB."""
    if reading is None:
        return None
    memory = reading.host.memory_bytes
    return scaled(raw_files.plus_all([memory.dirty, memory.writeback]), 1 / MIB)


def sizes(evidence: Evidence) -> Metrics:
    """Sizes and debt after the step."""
    after = Snapshot() if evidence.after is None else evidence.after
    return {
        "dbgb1": scaled(number(after.sizes, "database_bytes"), 1 / GIB),
        "dbgb2": scaled(number(after.sizes, "data_dir_bytes"), 1 / GIB),
        "dead_rows_after": raw_files.plus(
            number(table, "n_dead_tup") for table in (after.tables or {}).values()
        ),
    }


def writes(evidence: Evidence, background: BackgroundFacts) -> Metrics:
    """WAL, checkpoints and autovacuum, from before the step to after it."""
    before, after = evidence.before or Snapshot(), evidence.after or Snapshot()

    def moved(first: Figures | None, last: Figures | None, name: str) -> float | None:
        return raw_files.moved(number(first, name), number(last, name))

    timed = moved(before.checkpoints, after.checkpoints, "timed")
    requested = moved(before.checkpoints, after.checkpoints, "requested")
    position_bytes = moved(before.wal, after.wal, "position_bytes")
    checkpoints = None if timed is None or requested is None else timed + requested
    return {
        "wal_bytes_per_op": per(position_bytes, evidence.operations),
        "wal_mib_per_min": scaled(per(position_bytes, evidence.load.seconds), 60 / MIB),
        "fpi_per_op": per(moved(before.wal, after.wal, "full_page_images"), evidence.operations),
        "checkpoints": checkpoints,
        "checkpoints_requested": requested,
        "checkpoint_overlap_s": checkpoint_overlap_s(evidence, background, checkpoints),
        "autovacuum_runs": raw_files.moved(before.autovacuum_runs, after.autovacuum_runs),
    }


def checkpoint_overlap_s(
    evidence: Evidence, background: BackgroundFacts, counted: float | None
) -> float | None:
    """Seconds of the window with a checkpoint running; None where the log says nothing of them.

    Servers before PostgreSQL 15 do not log checkpoints unless told to. The log of a server
    elsewhere is not seen: one that was running all the time is in no counter.
    """
    logged = any(event.name.startswith("checkpoint") for event in evidence.log_events)
    if evidence.load.seconds is None or evidence.remote or (counted != 0 and not logged):
        return None
    return background.overlap_s("checkpoint", evidence.load.seconds)


def canary(evidence: Evidence) -> Metrics:
    """The idle machine: mean of the readings before and after the step."""
    canary = None if evidence.done is None else evidence.done.canary
    both = [] if canary is None else [canary.before, canary.after]
    known = [reading for reading in both if reading is not None]
    return {
        "canary_cpu_us": mean([reading.cpu_us for reading in known]),
        "canary_memory_ns": mean([reading.memory_ns for reading in known]),
        "canary_fsync_us": mean([reading.fsync_us_p50 for reading in known]),
    }


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None
