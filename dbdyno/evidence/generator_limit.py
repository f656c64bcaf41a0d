"""Where the load generator itself limited a step: its rate is then "at least", and ratios follow.

A step is never dropped for it: the server can do at least what it was seen to do.

The generator's own delay is in every response time: a request waits to be sent, a reply lies
unread. Where it is more than a share of them, response times are "at most": the server answered
sooner. A rate is held back by it only while the server has nothing else to do: with a host whose
processors are all busy, what the generator leaves unread takes no work from the server, and the
rate stays exact.
"""

from collections.abc import Iterable, Mapping, Sequence

from dbdyno.evidence import own_queue
from dbdyno.evidence.evidence import Evidence
from dbdyno.model import Bound, ResponseFacts, StepRun, metric

BUSY_SHARE_MAX = 0.70
"""Of a thread's time: above it, replies wait for the generator and not only for the server."""
LAG_MS_P99_MAX = 1.0
"""The generator's own delay before it sends; above it, it is part of what is measured."""
OWN_SHARE_MAX = 0.10
"""Of service times, that the generator's own queue may be, and of a thread's time, that it may wait
for a processor. The queue is an upper bound and on average about half as large, so above it
response times are some 5 % too long; a thread without a processor leaves each reply unread that
comes meanwhile, so above it more than one reply in ten."""
HOST_BUSY_PCT_MIN = 95.0
"""From here on the host's processors are what the generator waits for, not its own threads."""
LAG_OPERATIONS_MIN = 1_000
"""Of a role: with fewer, the slowest 1 % are a handful, and one late waking of a thread decides."""
MORE_THREADS = "give it more `generator.threads`"


def limits(evidence: Evidence, metrics: Mapping[str, float | None]) -> tuple[str, ...] | None:
    """Why the rate of a step is "at least", in words with figures; empty where it is exact.

    None where the load does not say how late it sends, and was not seen to be busy: then it is not
    known.
    """
    busy = tuple(_busy(evidence))
    if not evidence.tells_lateness and not busy:
        return None
    # Where clients share the processors of their sessions, one of the two is always at work.
    shares = _is_crowded(metrics) or bool(evidence.job.processors)
    held_back = () if shares else delays(evidence, metrics)
    return (*busy, *_late(evidence, metrics), *held_back)


def delays(evidence: Evidence, metrics: Mapping[str, float | None]) -> tuple[str, ...]:
    """Why response times are "at most", in words with figures; empty where they are exact."""
    return (*_queued(evidence, metrics), *_without_processor(evidence))


def _queued(evidence: Evidence, metrics: Mapping[str, float | None]) -> Iterable[str]:
    """The generator's own queue, beside the mean and beside the slowest of service times."""
    share, service_us = metrics.get("queue_share"), metrics.get("service_p99_us")
    if share is None or service_us is None:
        return
    queue = own_queue.of_headline(evidence)
    queue_us = queue.percentile_us(0.99)
    if share > 100 * OWN_SHARE_MAX:
        yield (
            f"requests and replies lay in the generator for up to {share:.0f} % of service times,"
            f" 1 % of them for up to {queue_us:,.0f} µs and more ({MORE_THREADS})"
        )
    elif queue.count >= LAG_OPERATIONS_MIN and queue_us > OWN_SHARE_MAX * service_us:
        yield (
            f"1 % of requests and replies lay in the generator for up to {queue_us:,.0f} µs and"
            f" more, beside a service time p99 of {service_us:,.0f} µs ({MORE_THREADS})"
        )


def _without_processor(evidence: Evidence) -> Iterable[str]:
    threads = evidence.load.threads
    share = max((thread.runnable_share or 0.0 for thread in threads), default=0.0)
    remedy = "use fewer clients or more cores"
    if evidence.job.processors:
        remedy = 'it shares them with the sessions: placement = "together"'
    if share > OWN_SHARE_MAX:
        yield (
            f"one of its threads waited {100 * share:.0f} % of the time for a processor, while"
            f" replies lay unread ({remedy})"
        )


def _busy(evidence: Evidence) -> Iterable[str]:
    if not evidence.load.threads:
        return
    thread = max(evidence.load.threads, key=lambda thread: thread.busy_share)
    busy, host = thread.busy_share, thread.host
    if busy > BUSY_SHARE_MAX:
        where = "" if host is None else f", on {host},"
        yield f"its busiest thread{where} was busy {100 * busy:.0f} % of the time ({MORE_THREADS})"


def _late(evidence: Evidence, metrics: Mapping[str, float | None]) -> Iterable[str]:
    lag_us = metrics.get("lag_us_p99")
    elsewhere = any(thread.host is not None for thread in evidence.load.threads)
    if lag_us is not None and lag_us > LAG_MS_P99_MAX * 1e3:
        busy_pct = metrics.get("cpups") or 0.0
        crowded = (
            f"the host's processors were {busy_pct:.0f} % busy: use fewer clients or more cores"
        )
        remedy = crowded if _is_crowded(metrics) and not elsewhere else MORE_THREADS
        late = (
            f"the generator itself sent operations late, 1 % of them by over {lag_us / 1e3:.1f} ms"
        )
        yield f"{late} ({remedy})"


def _is_crowded(metrics: Mapping[str, float | None]) -> bool:
    """Whether the processors of the server's host were all busy."""
    return (metrics.get("cpups") or 0.0) >= HOST_BUSY_PCT_MIN


def value_bound(runs: Sequence[StepRun]) -> Bound:
    """What the mean of these runs is to what the server can do: of a rate at least, of a time
    at most. Of calls too slow to count the rate is at most.
    """
    if _is_time(runs):
        return time_bound(runs)
    limited = any(run.window.limited for run in runs)
    slow = any(run.window.slow for run in runs)
    return _both("at least" if limited else "exact", "at most" if slow else "exact")


def time_bound(runs: Sequence[StepRun]) -> Bound:
    """What response times of these runs are to those of the server: at most where the generator's
    own delay is more than a share of them, at least where histograms end before them.
    """
    if any(run.window.limited or run.window.delayed for run in runs):
        return "at most"
    times = (times for run in runs for times in run.of(ResponseFacts).response)
    return "at least" if any(some.at_least for some in times) else "exact"


def _is_time(runs: Sequence[StepRun]) -> bool:
    """Whether less of the headline is better."""
    return any(metric.less_is_better(run.facts.headline) for run in runs)


def ratio_bound(base: Sequence[StepRun], other: Sequence[StepRun]) -> Bound:
    """What the ratio of `other` to the base is to the ratio of what the servers can do."""
    return _both(_limits_of_both(base, other), slow_bound(base, other))


def _limits_of_both(base: Sequence[StepRun], other: Sequence[StepRun]) -> Bound:
    is_time = _is_time([*base, *other])
    limited, base_limited = (
        time_bound(runs) != "exact" if is_time else any(run.window.limited for run in runs)
        for runs in (other, base)
    )
    if limited == base_limited:
        return "unknown" if limited else "exact"
    return "at least" if limited != is_time else "at most"


def slow_bound(base: Sequence[StepRun], other: Sequence[StepRun]) -> Bound:
    """The same where calls of an arm were too slow to count: the ratio of rates is at most.

    Where calls of both filled their turns in a block, both rates are at most by the same little:
    what settled. Their ratio counts as exact. Where the server ended a call of either, it says
    nothing.
    """
    bases = {run.block: run.window.slow for run in base}
    pairs = [(run.window.slow, bases.get(run.block, "")) for run in other]
    bound: Bound = "exact"
    for own, base_own in pairs:
        if own and base_own:
            bound = _both(bound, "unknown" if "ended" in (own, base_own) else "exact")
        elif own or base_own:
            bound = _both(bound, "at most" if own else "at least")
    return bound


def _both(first: Bound, second: Bound) -> Bound:
    """What is known of a number that is bounded by two reasons."""
    if "exact" in (first, second):
        return second if first == "exact" else first
    return first if first == second else "unknown"
