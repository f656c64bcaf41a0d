"""The counters of an example step: the host's and the database's (see result_planted)."""

import math
from collections.abc import Iterator

from dbdyno.model import Json
from result_planted import CLIENTS, CORES, MONO_NS, SECOND_NS, UNIX_NS, Planted


def host(planted: Planted) -> Iterator[Json]:
    """host.jsonl: `second` readings at 0.4 s, 1.4 s …, `open` and `close` exactly at the ends."""
    yield {**_reading(planted, "start", -2.0), "pss_bytes": planted.rss_bytes}
    yield {**_reading(planted, "open", 0.0), "delay_ns": 0}
    for second in range(math.ceil(planted.seconds - 0.4)):
        yield _reading(planted, "second", second + 0.4)
    yield {**_reading(planted, "close", planted.seconds), "delay_ns": 0}
    yield {**_reading(planted, "end", planted.seconds + 2.0), "pss_bytes": planted.rss_bytes}


def _owners_us_per_s(planted: Planted) -> dict[str, float]:
    """CPU of each owner in microseconds a second."""
    owners = {
        f"role:{role}": planted.role_cpu_us.get(role, 0.0) * rate
        for role, rate in planted.roles.items()
    }
    for role, cost in planted.parallel_cpu_us_per_s.items():
        owners[f"parallel:{role}"] = cost
    for kind, cost in planted.background_cpu_us_per_s.items():
        owners[f"background:{kind}"] = cost
    owners["backend:other"] = planted.probe_cpu_us_per_s
    owners["exited"] = planted.exited_cpu_us_per_s
    owners["generator"] = planted.generator_cpu_us_per_s
    owners["lab"] = planted.lab_cpu_us_per_s
    return owners


def _reading(planted: Planted, kind: str, at_s: float) -> Json:
    time_s = at_s + 1_000.0  # counters began long before the window
    busy = sum(_owners_us_per_s(planted).values()) + planted.rest_cpu_us_per_s
    other = planted.iowait_us_per_s + planted.steal_us_per_s
    cpu_us = {
        "user": 0.7 * busy,
        "nice": 0.0,
        "system": 0.2 * busy,
        "idle": CORES * 1e6 - busy - other,
        "iowait": planted.iowait_us_per_s,
        "irq": 0.04 * busy,
        "softirq": 0.06 * busy,
        "steal": planted.steal_us_per_s,
    }
    assert cpu_us["idle"] >= 0, f"{busy} us of CPU a second are more than {CORES} cores have"
    dirty = planted.dirty_bytes[0 if at_s <= 0 else 1]
    return {
        "kind": kind,
        "mono_ns": MONO_NS + round(at_s * SECOND_NS),
        "read_ns": 300_000,
        "delay_ns": None,
        "host": {
            "cpu_us": {name: round(value * time_s) for name, value in cpu_us.items()},
            "context_switches": round(planted.switches_per_s * time_s),
            "running": 2,
            "memory_bytes": {
                "total": 8 << 30,
                "free": 1 << 30,
                "available": 4 << 30,
                "cached": 3 << 30,
                "dirty": dirty * 3 // 4,
                "writeback": dirty // 4,
            },
            "swap_pages": {"in": round(planted.swap_pages_per_s * time_s), "out": 0},
        },
        "disk": _disk(planted, time_s),
        "owners": _owners(planted, time_s),
        "rss_bytes": planted.rss_bytes,
        "led": True,
    }


def _disk(planted: Planted, time_s: float) -> Json:
    reads, writes = planted.reads_per_s * time_s, planted.writes_per_s * time_s
    return {
        "device": "vda",
        "reads": round(reads),
        "read_merges": round(reads * 0.25),
        "read_bytes": round(reads * planted.bytes_per_read),
        "read_ms": round(reads * 0.2),
        "writes": round(writes),
        "write_merges": round(writes * 0.6),
        "write_bytes": round(writes * planted.bytes_per_write),
        "write_ms": round(writes * 0.5),
        "in_flight": 0,
        "io_ms": round(writes * 0.4),
        "weighted_ms": round(writes * 0.6),
        **dict.fromkeys(("discards", "discard_merges", "discard_bytes", "discard_ms"), 0),
        "flushes": round(writes * 0.1),
        "flush_ms": round(writes * 0.12),
    }


def _owners(planted: Planted, time_s: float) -> Json:
    owners: Json = {}
    for owner, us_per_s in _owners_us_per_s(planted).items():
        cpu_ns = round(us_per_s * time_s * 1000)
        if owner == "exited":
            owners[owner] = {"cpu_ns": cpu_ns}
            continue
        rate = planted.roles.get(owner.removeprefix("role:"), 0.0) * planted.role_switches
        owners[owner] = {
            "cpu_ns": cpu_ns,
            "user_us": cpu_ns // 1000,
            "system_us": 0,
            "voluntary": round(rate * 0.75 * time_s),
            "involuntary": round(rate * 0.25 * time_s),
            "read_bytes": 0,
            "write_bytes": 0,
            "processes": CLIENTS if owner.startswith("role:") else 1,
        }
    return owners


def database(planted: Planted, at_s: float) -> Json:
    """before.json (`at_s` 0) or after.json (`at_s` the window's end)."""
    wal_bytes = (1 << 34) + round(planted.wal_bytes_per_s * at_s)
    after = at_s > 0
    tables = {
        f"pi{client + 1}": {"n_live_tup": 1_000, "n_dead_tup": planted.dead_rows // CLIENTS}
        for client in range(CLIENTS)
    }
    return {
        "mono_ns": MONO_NS + round(at_s * SECOND_NS),
        "unix_ns": UNIX_NS + round(at_s * SECOND_NS),
        "version_num": 170006,
        "wal": {
            "position_bytes": wal_bytes,
            "records": wal_bytes // 100,
            "full_page_images": 50 + round(planted.full_page_images_per_s * at_s),
            "bytes": wal_bytes - 1_000,
            "buffers_full": 0,
        },
        "checkpoints": {"timed": 4, "requested": 2 + (len(planted.checkpoints) if after else 0)},
        "background_writer": {"buffers_clean": 0, "maxwritten_clean": 0, "buffers_alloc": 10},
        "database": {"xact_commit": 100},
        "io": None,
        "tables": tables,
        "indexes": {},
        "sizes": {
            "database_bytes": planted.database_bytes,
            "data_dir_bytes": planted.data_dir_bytes,
            "wal_dir_bytes": 1 << 30,
            "wal_files": 64,
        },
        "autovacuum_runs": 7 + (len(planted.autovacuums) if after else 0),
        "buffers": {"dirty": None},
        "explain": {},
        "unavailable": {"io": "not planted"},
    }
