"""Jobs for the generator that do what the other arms do: same SQL, same tables, same pace."""

from collections.abc import Sequence

from msgspec import to_builtins
from msgspec.structs import replace

from dbdyno import workload
from dbdyno.model import Address, Json
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint

SEED = 42
ACCOUNTS_OF_SCALE, TELLERS_OF_SCALE = 100_000, 10
"""Rows of pgbench's tables for each unit of its scale."""


def point(address: Address, sql: str, *, key_max: int, connections: int, seconds: float) -> Json:
    """The point query: `sql` ends where the key follows, drawn from 1 to `key_max`."""
    return whole(address, "point", seconds) | {
        "values": [uniform("key", "statement", 1, key_max)],
        "statements": [statement("point", [sql, {"value": 0}])],
        "programs": [{"name": "point", "code": [["send", 0]]}],
        "roles": [role("point", "step", connections)],
    }


def pgbench(address: Address, script: str, *, scale: int, connections: int, seconds: float) -> Json:
    """A script of pgbench's as the shipped workload makes it, on tables that are there."""
    own: dict[str, int | float | str] = {"scale": scale, "clients": connections}
    own |= {"seconds": seconds, "protocol": "prepared"}
    *_, step = workload.expand(workload.load("pgbench"), own, "postgres", steps=[script])
    return begun_on(address, step.job)


def oltp(address: Address, script: str, *, rows: int, connections: int, seconds: float) -> Json:
    """A script of sysbench's as the shipped workload makes it, on a table that is there."""
    own = {"clients": connections, "table_size": rows, "time": seconds}
    *_, step = workload.expand(workload.load("sysbench-oltp", set=script), own, "postgres")
    return begun_on(address, step.job)


def begun_on(address: Address, job: Job) -> Json:
    """A step's job with what the runner adds to it: it begins by itself."""
    made: Json = to_builtins(replace(job, autostart=True, seed=SEED, server=Endpoint.of(address)))
    return made


def whole(address: Address, step: str, seconds: float) -> Json:
    """What all jobs share: the server, one thread, a window from the start on."""
    return {
        "protocol": 1,
        "autostart": True,
        "seed": SEED,
        "step": step,
        "engine": "postgres",
        "server": to_builtins(Endpoint.of(address)),
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
