"""The events of a step's load: all there, once, of one story; and the histograms in them."""

from collections import Counter
from typing import NamedTuple

from msgspec.structs import asdict

from dbdyno.evidence import raw_files
from dbdyno.model.error import ResultError
from dbdyno.model.job import SETTLE_S_DEFAULT
from dbdyno.stats import amounts
from dbdyno.stats.response_times import Histogram
from dbdyno.store import StepFolder

EARLY = ("hello", "started")
"""Events that older results, and other programs, may lack."""
ONCE = (*EARLY, "window_open", "window_close", "done")
"""The events that a load has once."""
WORDS = {
    "count": "operations",
    "rows": "rows",
    "errors": "errors",
    "operations": "operations and statements",
}
"""What totals count in ticks."""


def whole(folder: StepFolder) -> raw_files.LoadReport:
    """The events of a step that ended well, which have to be all there."""
    load = read(folder)
    lacking = [name for name in ONCE if name not in load.names and name not in EARLY]
    if lacking:
        raise ResultError(
            f"{folder.path}/events.jsonl: has no {' and no '.join(lacking)}, though the step is "
            "said to be done: it is cut off or missing; restore it from a copy"
        )
    doubled = [name for name in ONCE if load.names.get(name, 0) > 1]
    if doubled:
        raise ResultError(
            f"{folder.path}/events.jsonl: has {' and '.join(doubled)} more than once: lines of two "
            "runs, or doubled ones; restore it from a copy"
        )
    if load.disordered:
        raise ResultError(
            f"{folder.path}/events.jsonl: ticks of the role `{load.disordered[0]}` go back or "
            "stand twice: lines were copied or moved; restore it from a copy"
        )
    _refuse_other_sums(folder, load)
    return load


def _refuse_other_sums(folder: StepFolder, load: raw_files.LoadReport) -> None:
    """Raises ResultError where ticks do not add up to what the generator had counted."""
    for role, totals in load.totals.items():
        if totals.in_ticks is None:
            continue
        sums = load.in_ticks.get(role, {})
        for key, amount in asdict(totals.in_ticks).items():
            if sums.get(key, 0) != amount:
                raise ResultError(
                    f"{folder.path}/events.jsonl: ticks of the role `{role}` add up to "
                    f"{sums.get(key, 0):,} {WORDS[key]}, and the load generator counted "
                    f"{amount:,}: lines are missing, doubled or changed; restore it from a copy"
                )


def read(folder: StepFolder) -> raw_files.LoadReport:
    """The events of a step that may have ended anywhere. Raises ResultError."""
    job = folder.job()
    return raw_files.load(folder.events(), SETTLE_S_DEFAULT if job is None else job.settle_s)


class WindowHistograms(NamedTuple):
    """The histograms of a window."""

    response: dict[tuple[str, str], Histogram]  # by role and operation
    service: dict[tuple[str, str], Histogram]
    queues: dict[str, Histogram]  # by role: how long requests and replies lay in the generator
    lags: dict[str, Histogram]  # by role: how late the generator itself sent


def histograms(folder: StepFolder, load: raw_files.LoadReport) -> WindowHistograms:
    """The ticks' histograms, merged; of a load that tells those of its window only, these.

    The longest response is told exactly, the longest service by three digits: no more than that.
    Raises ResultError where histograms hold another number of operations than the ticks.
    """
    counts: Counter[tuple[str, str]] = Counter()
    response: dict[tuple[str, str], list[str]] = {}
    service: dict[tuple[str, str], list[str]] = {}
    longest_us: dict[tuple[str, str], int | None] = {}
    queues: dict[str, list[str]] = {}
    lags: dict[str, list[str]] = {}
    for tick in load.ticks:
        if tick.queue is not None:
            queues.setdefault(tick.role, []).append(tick.queue)
        if tick.lag is not None:
            lags.setdefault(tick.role, []).append(tick.lag)
        for name, part in tick.operations.items():
            # A fill's rows have an empty histogram, and not every load tells one.
            if part.count and part.response is not None:
                key = tick.role, name
                counts[key] += part.count
                response.setdefault(key, []).append(part.response)
                if part.service is not None:
                    service.setdefault(key, []).append(part.service)
                longest_us[key] = amounts.longest([longest_us.get(key, 0), part.max_us])
    for role, times in load.window.items():
        for name, whole in times.items():
            response.setdefault((role, name), []).append(whole.response)
            if whole.service is not None:
                service.setdefault((role, name), []).append(whole.service)
            longest_us[role, name] = whole.max_us
    texts = (response, service, queues, lags)
    # All at once: a decoding costs as much as the texts of a role.
    wholes = iter(Histogram.of_each([group for groups in texts for group in groups.values()]))
    decoded = WindowHistograms(
        response={key: next(wholes) for key in response},
        service={key: next(wholes) for key in service},
        queues={role: next(wholes) for role in queues},
        lags={role: next(wholes) for role in lags},
    )
    for key, count in counts.items():
        held = decoded.response[key].count
        if held not in (0, count):
            raise ResultError(
                f"{folder.path}/events.jsonl: histograms of `{key[1]}` hold {held:,} operations, "
                f"the ticks {count:,}: lines were changed; restore it from a copy"
            )
    for key, histogram in decoded.response.items():
        histogram.max_us = histogram.max_us if (most := longest_us[key]) is None else most
    for key, histogram in decoded.service.items():
        if (most := longest_us[key]) is not None:
            same = response[key] == service[key]
            histogram.max_us = most if same else min(histogram.max_us, most)
    return decoded
