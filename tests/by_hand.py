"""A step's figures from its raw lines by plain Python, as one would do it by hand.

Written beside `dbdyno.analysis` and not with it: nothing of it is imported, so that a mistake has
to be made twice to stay unseen. Slow and without care for what is missing: the steps are good ones.
"""

import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

MEBI, GIBI = 1024**2, 1024**3
UPPER_US = (256, 1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000)


class Raw:
    """The files of a step's folder, as they lie there."""

    def __init__(self, folder: Path) -> None:
        def read(name: str) -> Any:
            path = folder / name
            return json.loads(path.read_text()) if path.exists() else None

        def lines(name: str) -> list[Any]:
            return [json.loads(line) for line in (folder / name).read_text().splitlines()]

        self.step, self.job, self.after = read("step.json"), read("job.json"), read("after.json")
        events = lines("events.jsonl")
        self.opened = next(e for e in events if e["event"] == "window_open")["mono_ns"]
        self.close = next(e for e in events if e["event"] == "window_close")
        self.operations = [e for e in events if e["event"] == "operation"]
        self.window = self.close["active_ns"] / 1e9
        self.ticks = [e for e in events if e["event"] == "tick" and e["measured"]]
        host = lines("host.jsonl")
        kinds = [line["kind"] for line in host]
        self.host = host[kinds.index("open") : kinds.index("close") + 1]

    def of(self, *roles: str) -> list[Any]:
        return [tick for tick in self.ticks if tick["role"] in roles]

    def roles(self, kind: str) -> list[str]:
        return [role for role, its in self.step["roles"].items() if its == kind]

    def amount(self, column: int, *roles: str) -> int:
        """Column 0 of per_client is operations, 1 rows."""
        return sum(client[column] for tick in self.of(*roles) for client in tick["per_client"])

    def moved(self, *path: str) -> float | None:
        """The difference of a counter of the host between the window's two readings.

        None where the machine has no such counter (a container may hide its disk).
        """
        first, last = self.host[0], self.host[-1]
        for key in path:
            first, last = (first or {}).get(key), (last or {}).get(key)
        return None if first is None or last is None else float(last - first)


def whole(raw: Raw, role: str, amount: float) -> float:
    """What a role would have done if all its connections had been at it for the whole window."""
    (connections,) = [
        one["connections"] * (raw.job["clients"] if one["per"] == "client" else 1)
        for one in raw.job["roles"]
        if one["name"] == role
    ]
    time_ns = sum(tick["connection_ns"] for tick in raw.of(role) if "connection_ns" in tick)
    return float(amount / (time_ns / 1e9) * connections * raw.window)


def divided(amount: float | None, by: float | None) -> float | None:
    return None if amount is None or not by else amount / by


# --- The published columns -------------------------------------------------------------------


def published(raw: Raw) -> dict[str, float | None]:
    """The twenty columns of the published tables."""
    headline = raw.step["headline"]
    inserted = sum(whole(raw, role, raw.amount(1, role)) for role in raw.roles("insert"))
    operations = None if headline is None else operations_of(raw)
    if headline is not None and headline["metric"] == "ips":
        inserted = operations or 0.0
    queries: float | None = sum(
        whole(raw, role, raw.amount(0, role)) for role in raw.roles("query")
    )
    if headline is not None and headline["metric"] == "qps":
        queries = operations
    figures = {
        "ips": inserted / raw.window,
        "qps": divided(queries, raw.window),
        **of_host(raw, operations, inserted),
        "dbgb1": raw.after and raw.after["sizes"]["database_bytes"] / GIBI,
        "dbgb2": raw.after and raw.after["sizes"]["data_dir_bytes"] / GIBI,
        **of_seconds(raw),
    }
    served = response(raw, headline_roles(raw), "service")
    figures["maxop"] = None if served is None else served["max_us"] / 1e6
    return figures


def operations_of(raw: Raw) -> float:
    """What the headline counts in the window."""
    headline = raw.step["headline"]
    if headline["work"]:
        return float(headline["work"])
    role = headline["role"]
    if headline["count"] == "statements":
        return whole(raw, role, sum(sent(raw, tick) for tick in raw.of(role)))
    amount = raw.amount(1 if headline["count"] == "rows" else 0, role)
    return whole(raw, role, amount * (headline.get("each") or 1))


def headline_roles(raw: Raw) -> list[str]:
    """The headline's role and others of its kind, where that is a published one."""
    if raw.step["headline"] is None:
        return []
    role = raw.step["headline"]["role"]
    kind = raw.step["roles"][role]
    return raw.roles(kind) if kind in ("insert", "delete", "query") else [role]


def of_host(raw: Raw, operations: float | None, inserted: float) -> dict[str, float | None]:
    seconds = (raw.moved("mono_ns") or 0.0) / 1e9
    reads, writes = raw.moved("disk", "reads"), raw.moved("disk", "writes")
    read, written = raw.moved("disk", "read_bytes"), raw.moved("disk", "write_bytes")
    switches = raw.moved("host", "context_switches")
    spent = {
        part: raw.moved("host", "cpu_us", part) or 0.0 for part in raw.host[0]["host"]["cpu_us"]
    }
    busy = sum(spent[part] for part in ("user", "nice", "system", "irq", "softirq"))
    whole = busy + spent["idle"] + spent["iowait"] + spent["steal"]
    resident = [line["rss_bytes"] for line in raw.host if line["rss_bytes"] is not None]
    return {
        "rps": divided(reads, seconds),
        "rmbps": divided(read, MEBI * seconds),
        "wps": divided(writes, seconds),
        "wmbps": divided(written, MEBI * seconds),
        "rpq": divided(reads, operations),
        "rkbpq": divided(read, 1024 * (operations or 0)),
        "wpi": divided(writes, inserted),
        "wkbpi": divided(written, 1024 * inserted),
        "csps": divided(switches, seconds),
        "cpups": divided(100 * busy, whole),
        "cspq": divided(switches, operations),
        "cpupq": divided(busy, operations),
        "rss": max(resident) / GIBI if resident else None,
    }


def of_seconds(raw: Raw) -> dict[str, float | None]:
    """p50 and p99: the rate of the second at that place, the fastest first."""
    headline = raw.step["headline"]
    none: dict[str, float | None] = {"p50": None, "p99": None}
    if headline is None or headline["work"] or headline.get("each"):
        return none
    rates = whole_seconds(raw, headline["role"], headline["count"])
    rates.sort(reverse=True)
    if len(rates) < 10:
        return none
    return {"p50": rates[round(0.5 * len(rates)) - 1], "p99": rates[round(0.99 * len(rates)) - 1]}


def whole_seconds(raw: Raw, role: str, counted: str) -> list[float]:
    """The rate of each whole second of a role, all clients."""
    column = 1 if counted == "rows" else 0

    def amount(tick: Any) -> int:
        if counted == "statements":
            return sent(raw, tick)
        return sum(client[column] for client in tick["per_client"])

    return [
        amount(tick) / (tick["active_ns"] / 1e9)
        for tick in raw.of(role)
        if tick["active_ns"] >= 999_000_000
    ]


# --- Statements ------------------------------------------------------------------------------


def sent(raw: Raw, tick: Any) -> int:
    """Statements of a second, BEGIN and COMMIT with them; transactions have names of their own."""
    names = [statement["name"] for statement in raw.job["statements"]]
    return sum(tick["operations"][name]["count"] for name in names if name in tick["operations"])


def statements(raw: Raw) -> list[dict[str, Any]]:
    """Each statement of each role: how often, with how many rows, how many of them had any."""
    found = []
    for role in raw.job["roles"]:
        for statement in raw.job["statements"]:
            seconds = [tick["operations"].get(statement["name"]) for tick in raw.of(role["name"])]
            if None in seconds or not seconds:
                continue
            count, rows = (sum(second[key] for second in seconds) for key in ("count", "rows"))
            control = statement["pieces"] in (["BEGIN"], ["COMMIT"])
            share = None
            if statement["rows"] and count and not control and "empty" in seconds[0]:
                share = 1 - sum(second["empty"] for second in seconds) / count
            found.append(
                {
                    "role": role["name"],
                    "name": statement["name"],
                    "kind": "control" if control else "statement",
                    "per_s": whole(raw, role["name"], count) / raw.window,
                    "rows_per_s": whole(raw, role["name"], rows) / raw.window,
                    "found": share,
                }
            )
    return found


def apart(raw: Raw) -> dict[str, float | None]:
    """The headline's role: transactions, statements, BEGIN and COMMIT, rows, misses, scans."""
    headline = raw.step["headline"]
    if headline is None:
        return {}
    own = [one for one in statements(raw) if one["role"] == headline["role"]]
    counts = {one["name"]: one["per_s"] * raw.window for one in own if one["found"] is not None}
    hits = sum(counts[one["name"]] * one["found"] for one in own if one["name"] in counts)
    scans = operations_of(raw) / raw.window if headline["metric"] == "scan" else None
    return {
        "tps": whole(raw, headline["role"], raw.amount(0, headline["role"])) / raw.window,
        "statements_ps": sum(one["per_s"] for one in own if one["kind"] == "statement"),
        "control_ps": sum(one["per_s"] for one in own if one["kind"] == "control"),
        "rows_ps": sum(one["rows_per_s"] for one in own),
        "found_share": 100 * hits / sum(counts.values()) if counts else None,
        "scan": scans,
        "scan_krows_client": None if scans is None else scans / raw.job["clients"] / 1000,
        "wpq": divided(raw.moved("disk", "writes"), operations_of(raw)),
        "wkbpq": divided(raw.moved("disk", "write_bytes"), 1024 * operations_of(raw)),
    }


# --- Response times --------------------------------------------------------------------------


def response(raw: Raw, roles: Iterable[str], which: str = "response") -> dict[str, Any] | None:
    """The published buckets and percentiles of what these roles did, from all histograms.

    `which`: `service` times are from when an operation was sent, and the longest of an
    operation is no longer than its longest response.
    """
    roles = list(roles)
    values: list[tuple[float, float, int]] = []  # smallest, largest time of a cell, how many
    longest: dict[tuple[str, str], list[int]] = {}  # of an operation: each tick's, each cell's
    for tick in raw.of(*roles):
        for name, operation in tick["operations"].items():
            if operation["count"] and name not in parts_of_transactions(raw):
                own = cells(operation[which])
                times_us = longest.setdefault((tick["role"], name), [0, 0])
                times_us[0] = max(times_us[0], operation["max_us"])
                times_us[1] = max(times_us[1], *(math.ceil(largest) for _, largest, _ in own))
                values += own
    if not values:
        return None
    if which == "service":
        return times(values, max(min(of_ticks, cell) for of_ticks, cell in longest.values()))
    return times(values, max(c[3] for tick in raw.of(*roles) for c in tick["per_client"]))


def moments(raw: Raw, roles: Iterable[str], which: str) -> list[float]:
    """Mean and standard deviation by the histograms' cells, each time at its cell's middle."""
    values = [
        one
        for tick in raw.of(*roles)
        for name, operation in tick["operations"].items()
        if operation["count"] and name not in parts_of_transactions(raw)
        for one in cells(operation[which])
    ]
    count = sum(times for *_, times in values)
    mean = sum((low + high) / 2 * times for low, high, times in values) / count
    squares = sum(((low + high) / 2 - mean) ** 2 * times for low, high, times in values)
    return [mean, math.sqrt(squares / count)]


def parts_of_transactions(raw: Raw) -> set[str]:
    """Statements that are sent with others, so that the whole is what a client waits for."""
    names = [statement["name"] for statement in raw.job["statements"]]
    sends = [[number for what, number in one["code"] if what == "send"] for one in programs(raw)]
    return {names[number] for one in sends for number in one if len(one) > 1}


def programs(raw: Raw) -> list[Any]:
    found: list[Any] = raw.job["programs"]
    return found


@cache
def cells(encoded: str) -> list[tuple[float, float, int]]:
    """Smallest and largest time of each cell that holds any, in microseconds, and how many.

    A histogram whose lowest time is 4 counts nanoseconds (contract/README.md).

    The library's own iterator makes an object of every cell, whether or not it holds any.
    """
    histogram = HdrHistogram.decode(encoded)
    unit_us = 1e-3 if histogram.lowest_trackable_value == 4 else 1
    holding = {
        histogram.get_value_from_index(index): count
        for index, count in enumerate(histogram.counts)
        if count
    }
    return [
        (
            histogram.get_lowest_equivalent_value(value) * unit_us,
            histogram.get_highest_equivalent_value(value) * unit_us,
            count,
        )
        for value, count in holding.items()
    ]


def times(values: list[tuple[float, float, int]], longest_us: int) -> dict[str, Any]:
    values.sort()
    count = sum(many for _, _, many in values)
    buckets = in_buckets(smallest for smallest, _, many in values for _ in range(many))

    def percentile(percent: float) -> float:
        rank, seen = -(-count * percent // 100), 0
        for _, largest, many in values:
            seen += many
            if seen >= rank:
                return longest_us if seen == count == rank else min(largest, longest_us)
        raise AssertionError

    return {
        "count": count,
        "buckets": tuple(buckets),
        "p50_us": percentile(50),
        "p90_us": percentile(90),
        "p99_us": percentile(99),
        "p999_us": percentile(99.9),
        "max_us": longest_us,
    }


def in_buckets(times_us: Iterable[float]) -> list[int]:
    """How many lie in each of the ten published buckets, whose upper bounds belong to them."""
    buckets = [0] * 10
    for time_us in times_us:
        buckets[sum(time_us > upper for upper in UPPER_US)] += 1
    return buckets


# --- Clients ---------------------------------------------------------------------------------


def fairness(raw: Raw, role: str, kind: str) -> dict[str, Any]:
    """Counts, rates, finish times and the rates in ten parts of the window, client by client."""
    column = 1 if kind in ("insert", "delete") else 0
    clients = range(len(raw.of(role)[0]["per_client"]))
    ends = raw.close["clients_end_ns"]
    finish = [] if ends[0] is None else [(end - raw.opened) / 1e9 for end in ends]
    counts = [sum(tick["per_client"][n][column] for tick in raw.of(role)) for n in clients]
    rates = [counts[n] / (finish[n] if finish else raw.window) for n in clients]
    found = {
        "unit": "rows" if column else "operations",
        "counts": tuple(counts),
        "rates": rates,
        "jain": sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates)),
        "finish_s": finish,
    }
    if finish:
        found |= {"min_s": min(finish), "max_s": max(finish), "diff_s": max(finish) - min(finish)}
        found["pct"] = (max(finish) - min(finish)) / min(finish) * 100
    return found


def client_rates(raw: Raw, role: str, kind: str, client: int) -> list[float]:
    column = 1 if kind in ("insert", "delete") else 0
    return [
        tick["per_client"][client][column] / (tick["active_ns"] / 1e9)
        for tick in raw.of(role)
        if tick["active_ns"] >= 500_000_000
    ]


# --- Stalls and targets ----------------------------------------------------------------------


def middle(values: list[float]) -> float:
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def asked_seconds(raw: Raw, role: str, counted: str) -> list[float]:
    """Rates of the whole seconds, without the first of published bursts: it has one statement."""
    rates = whole_seconds(raw, role, counted)
    paces = {one["name"]: one["pace"] for one in raw.job["roles"]}
    pace = paces[role] if paces[role]["kind"] != "tied" else paces[paces[role]["to"]]
    return rates[1:] if pace["kind"] == "rate" and pace["arrivals"] == "burst" else rates


def stalls(raw: Raw, role: str, kind: str) -> dict[str, Any]:
    """Seconds under a tenth of the median one, and the longest row of them."""
    counted = "rows" if kind in ("insert", "delete") else "operations"
    rates = asked_seconds(raw, role, counted)
    usual = middle(rates)
    marks = "".join("x" if rate < usual / 10 else " " for rate in rates)
    return {
        "median": usual,
        "seconds": len(rates),
        "stalled": marks.count("x"),
        "longest_s": max(len(run) for run in marks.split(" ")),
    }


def target(raw: Raw, role: str) -> dict[str, Any]:
    """What was asked for and done, in rows."""
    asked = raw.step["sla"]["rows_per_s"]
    achieved = whole(raw, role, raw.amount(1, role)) / raw.window
    rates = asked_seconds(raw, role, "rows")
    return {
        "target_per_s": asked,
        "achieved_per_s": achieved,
        "met": achieved >= round(asked * 0.95),
        "seconds": len(rates),
        "seconds_missed": len([rate for rate in rates if rate < round(asked * 0.95)]),
    }
