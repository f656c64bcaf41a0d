"""Jobs for the generator that do what the other contenders do: same SQL, same tables, same pace."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno import workload
from dbdyno.model import Address, Json
from dbdyno.model.job import server_json

SEED = 42
ACCOUNTS_OF_SCALE, TELLERS_OF_SCALE = 100_000, 10
"""Rows of pgbench's tables for each unit of its scale."""

TPCB = (
    ("begin", "BEGIN"),
    ("account", "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid"),
    ("balance", "SELECT abalance FROM pgbench_accounts WHERE aid = :aid"),
    ("teller", "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid"),
    ("branch", "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid"),
    (
        "history",
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
        "VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP)",
    ),
    ("end", "END"),
)
"""The statements of pgbench's built-in script `tpcb-like`, with its parameters."""


def point(address: Address, sql: str, *, key_max: int, connections: int, seconds: float) -> Json:
    """The point query: `sql` ends where the key follows, drawn from 1 to `key_max`."""
    return whole(address, "point", seconds) | {
        "values": [uniform("key", "statement", 1, key_max)],
        "statements": [statement("point", [sql, {"value": 0}])],
        "programs": [{"name": "point", "code": [["send", 0]]}],
        "roles": [role("point", "step", connections)],
    }


def tpcb(address: Address, *, scale: int, connections: int, seconds: float) -> Json:
    """pgbench's tpcb-like transaction: four values, then seven prepared statements."""
    values = [
        uniform("aid", "transaction", 1, ACCOUNTS_OF_SCALE * scale),
        uniform("bid", "transaction", 1, scale),
        uniform("tid", "transaction", 1, TELLERS_OF_SCALE * scale),
        uniform("delta", "transaction", -5000, 5000),
    ]
    names = [value["name"] for value in values]
    draws = [["draw", index] for index in range(len(values))]
    sends = [["send", index] for index in range(len(TPCB))]
    return whole(address, "tpcb", seconds) | {
        "values": values,
        "statements": [statement(name, pieces(sql, names)) for name, sql in TPCB],
        "programs": [{"name": "tpcb", "code": draws + sends}],
        "roles": [role("tpcb", "step", connections)],
    }


def insert(address: Address, *, seconds: float, clients: int = 1) -> tuple[Json, tuple[str, ...]]:
    """l.i0 of the Insert Benchmark, as the shipped workload makes it, but timed.

    Each client has a table of its own: pi1, pi2 … Also the statements that make them.
    """
    (step,) = workload.expand(
        workload.load("insert-benchmark"), {"clients": clients}, "postgres", steps=["l.i0"]
    )
    roles = [one | {"stop": None} for one in step.job["roles"]]
    own = {"roles": roles, "clients": clients}
    return step.job | whole(address, step.name, seconds) | own, step.setup


def oltp(address: Address, script: str, *, rows: int, connections: int, seconds: float) -> Json:
    """A script of sysbench's as the shipped workload makes it, on a table that is there."""
    *_, step = workload.expand(
        workload.load("sysbench-oltp", set=script),
        {"clients": connections, "table_size": rows, "time": seconds},
        "postgres",
    )
    return step.job | {"autostart": True, "seed": SEED, "server": server_json(address)}


def whole(address: Address, step: str, seconds: float) -> Json:
    """What all jobs share: the server, one thread, a window from the start on."""
    return {
        "protocol": 1,
        "autostart": True,
        "seed": SEED,
        "step": step,
        "engine": "postgres",
        "server": server_json(address),
        "clients": 1,
        "threads": 1,
        "stop": {"roles": [], "seconds": seconds, "warmup_s": 0, "seconds_max": None},
    }


def uniform(name: str, per: str, low: int, high: int) -> Json:
    """A uniform integer, both bounds included."""
    return {"name": name, "per": per, "format": "integer", "uniform": [low, high]}


def statement(name: str, parts: Sequence[str | Json]) -> Json:
    """A prepared statement."""
    return {"name": name, "protocol": "prepared", "pieces": list(parts), "types": [], "rows": 1}


def pieces(sql: str, names: Sequence[str]) -> list[str | Json]:
    """SQL with `:name`, cut at its values."""
    for index, name in enumerate(names):
        sql = sql.replace(f":{name}", f"\0{index}\0")
    cut = sql.split("\0")
    found = [part if place % 2 == 0 else {"value": int(part)} for place, part in enumerate(cut)]
    return [part for part in found if part != ""]


def role(name: str, per: str, connections: int) -> Json:
    """Connections that run program 0 one after the other, without a pause."""
    return {
        "name": name,
        "per": per,
        "connections": connections,
        "choose": [{"program": 0, "weight": 1}],
        "table": None,
        "pace": {"kind": "closed"},
        "stop": None,
        "after": [],
        "on_error": {"retry": [], "tries": 1, "otherwise": "fail_step"},
        "on_lost": "fail_step",
    }
