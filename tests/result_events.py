"""The events of an example step: what dyno-loadgen and the server's log say in it."""

import math
from collections.abc import Iterator
from typing import Any

from hdrh.histogram import HdrHistogram

from dbdyno.model import Json
from result_planted import CLIENTS, MONO_NS, SECOND_NS, UNIX_NS, Planted


def log_events(planted: Planted) -> Iterator[Json]:
    """Checkpoints (begin and end) and autovacuums (end, duration) as the log has them."""
    for start, end in planted.checkpoints:
        for kind, at, duration in (("starting", start, None), ("complete", end, end - start)):
            at_ms = UNIX_NS // 1_000_000 + round(at * 1000)
            text = f"checkpoint {kind}: time"
            yield {
                "unix_ms": at_ms,
                "kind": f"checkpoint {kind}",
                "text": text,
                "duration_s": duration,
            }
    for start, end in planted.autovacuums:
        at_ms = UNIX_NS // 1_000_000 + round(end * 1000)
        text = 'automatic vacuum of table "ib.public.pi1": index scans: 1'
        yield {
            "unix_ms": at_ms,
            "kind": "automatic vacuum",
            "text": text,
            "duration_s": end - start,
        }


def events(planted: Planted) -> Iterator[Json]:
    """events.jsonl: ticks of one second, the last one shorter where `seconds` is not whole."""
    yield _event(
        "hello", -1.0, protocol=1, version="0.1.0", commit=None, profile="release", pid=4000
    )
    for number, role in enumerate(planted.roles):
        for client in range(CLIENTS):
            pid = 5000 + 10 * number + client
            yield _event("connected", -0.9, role=role, client=client, connection=0, server_pid=pid)
    connections = CLIENTS * len(planted.roles)
    yield _event("ready", -0.8, connections=connections, threads=1, setup_us=1_000)
    yield _event("started", 0.0, unix_ns=UNIX_NS)
    yield _event("window_open", 0.0)
    ticks = math.ceil(planted.seconds - 1e-9)
    for tick in range(1, ticks + 1):
        start, end = tick - 1.0, min(float(tick), planted.seconds)
        for role in planted.roles:
            yield _tick(planted, role, start, end)
    yield from _events_at_end(planted)


def _events_at_end(planted: Planted) -> Iterator[Json]:
    end = planted.seconds
    ends = [MONO_NS + round(_end(planted, client) * SECOND_NS) for client in range(CLIENTS)]
    yield _event(
        "window_close",
        end,
        active_ns=round(end * SECOND_NS),
        ended=dict.fromkeys(planted.roles, ends),
        clients_end_ns=ends,
    )
    totals = {role: _total(planted, role) for role in planted.roles}
    cpu_us = round(planted.generator_cpu_us_per_s * end)
    threads = [{"cpu_us": cpu_us, "busy_share": planted.generator_busy_share}]
    yield _event(
        "done",
        end + 2.0,
        status="ok",
        reason=None,
        totals=totals,
        peak_rss_bytes=20 << 20,
        cpu_us=cpu_us,
        threads=threads,
    )


def _event(event: str, at_s: float, **keys: Any) -> Json:
    return {"event": event, "mono_ns": MONO_NS + round(at_s * SECOND_NS), **keys}


def _end(planted: Planted, client: int) -> float:
    return planted.seconds - (planted.ends_early_s if client == 1 else 0)


def _count(planted: Planted, role: str, client: int, until_s: float) -> int:
    """Operations that a client has completed `until_s` into the window."""
    rate = planted.operations_per_s(role) / CLIENTS
    return math.floor(rate * min(until_s, _end(planted, client)) + 1e-9)


def _total(planted: Planted, role: str) -> Json:
    count = sum(_count(planted, role, client, planted.seconds) for client in range(CLIENTS))
    first = role == next(iter(planted.roles))
    return {
        "count": count,
        "rows": round(count * planted.rows_per_operation(role)),
        "errors": planted.errors + planted.retries if first else 0,
        "retries": planted.retries if first else 0,
    }


def _tick(planted: Planted, role: str, start: float, end: float) -> Json:
    counts = [
        _count(planted, role, client, end) - _count(planted, role, client, start)
        for client in range(CLIENTS)
    ]
    first = start == 0 and role == next(iter(planted.roles))
    slow, slow_us = planted.slow.get(role, (0, 0)) if start == 0 else (0, 0)
    usual_us = planted.response_us(role) if sum(counts) else 0
    rows = planted.rows_per_operation(role)
    per_client = [[count, round(count * rows), 0, usual_us] for count in counts]
    errors = planted.errors + planted.retries if first else 0  # the generator counts both
    per_client[0][2] = errors
    per_client[0][3] = max(usual_us, slow_us)
    encoded = _histogram(sum(counts) - slow, usual_us, slow, slow_us)
    operation = {
        "count": sum(counts),
        "rows": round(sum(counts) * rows),
        "max_us": max(usual_us, slow_us),
        "errors": {"40001": errors} if errors else {},
        "retries": planted.retries if first else 0,
        "response": encoded,
        "service": encoded,
    }
    if role in planted.found:
        operation["empty"] = round(sum(counts) * (1 - planted.found[role]))
    return _event(
        "tick",
        end,
        tick=round(start) + 1,
        active_ns=round((end - start) * SECOND_NS),
        measured=True,
        role=role,
        per_client=per_client,
        operations={role: operation},
        late_us_max=planted.late_us,
        backlog=planted.backlog,
        lag=_histogram(sum(counts), planted.lag_us.get(role, 0), 0, 0),
        queue=_histogram(sum(counts), planted.queue_us.get(role, 0), 0, 0),
        cpu_us=round(planted.generator_cpu_us_per_s * (end - start)),
    )


def _histogram(usual: int, usual_us: int, slow: int, slow_us: int) -> str:
    histogram = HdrHistogram(1, 3_600_000_000, 3)
    for count, value_us in ((usual, usual_us), (slow, slow_us)):
        if count:
            assert histogram.record_value(value_us, count)
    return bytes(histogram.encode()).decode()
