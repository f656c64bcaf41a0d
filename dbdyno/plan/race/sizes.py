"""The sizes of a race: as large as its time allows and the host's memory and disk can hold.

Data stay in the servers' caches: a race compares engines, and not the device.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dbdyno.model.size import Capacity, text_of
from dbdyno.workload.queries import TOP

GB = 1 << 30
MEMORY_STEP = 1 << 28
MEMORY_SHARE = 0.6
"""Of the host's memory, for all servers together; the rest is the system's and the generator's."""
MEMORY_USUAL = GB
"""Of a server, where its data do not ask for more."""
CACHED = 4
"""A server's memory by its data: a quarter of it is what the published caches hold of theirs."""
DISK_SHARE = 0.25
"""Of the free disk, for the data of all arms; copies and logs take as much again, and more."""
CLIENTS_SHARE = 0.75
"""Clients by cores, as in the published studies (docs/workload.md)."""
BLOCKS = 6
"""So many blocks a race of steps with an amount of work has time for."""
RUN_S, STEP_S = 12.0, 4.0
"""The seconds of a server's start and its copy, and those of a step beside its own."""
SECONDS_MIN, SECONDS_MAX = 4, 60
FILLS = 2
"""Of each arm, where they take little: blocks that begin from one alone cannot tell an arm from
what its fill drew."""
FILLS_SHARE_MAX = 0.1
"""Of a race's minutes, for the second fill of each arm."""
COPY_S = 5.0
"""The seconds by which a run that begins from a copy is longer than one after a restart."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A parameter of a workload that grows with a race's time."""

    parameter: str
    bytes_each: int  # with indexes
    per_minute: float
    least: float


SCALES: Mapping[str, Scale] = {
    "rows": Scale(parameter="rows", bytes_each=300, per_minute=20_000, least=10_000),
    "scale": Scale(parameter="scale", bytes_each=16_000_000, per_minute=0.4, least=1),
    "tab_rows": Scale(parameter="tab_rows", bytes_each=300, per_minute=20_000, least=10_000),
    "records": Scale(parameter="records", bytes_each=1_400, per_minute=20_000, least=10_000),
    "scale_factor": Scale(
        parameter="scale_factor", bytes_each=2_000_000_000, per_minute=0.01, least=0.01
    ),
    "size_gb": Scale(parameter="size_gb", bytes_each=4 * GB, per_minute=0.1, least=0.1),
    "table_size": Scale(parameter="table_size", bytes_each=300, per_minute=20_000, least=10_000),
    "warehouses": Scale(parameter="warehouses", bytes_each=110_000_000, per_minute=0.4, least=1),
}
"""By the parameter of a workload that says how large its tables are."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes that fit this host and the race's time."""

    memory: str  # of each server
    clients: int
    amounts: Mapping[str, float]  # parameters of the workload that say how large its tables are


def fitting(names: Mapping[str, object], arms: int, minutes: float, host: Capacity) -> Sizes:
    """Sizes for a workload with parameters of these names."""
    share = MEMORY_SHARE * host.memory_bytes / arms
    clients = max(1, int(CLIENTS_SHARE * host.cores))
    disk = host.free_disk_bytes
    room = min(share / CACHED, share if disk is None else DISK_SHARE * disk / arms)
    amounts: dict[str, float] = {}
    data = 0.0
    for scale in (one for name, one in SCALES.items() if name in names):
        most = room / scale.bytes_each
        wanted = min(scale.per_minute * minutes, most)
        amounts[scale.parameter] = max(scale.least, whole(wanted))
        data = max(data, amounts[scale.parameter] * scale.bytes_each)
    memory = min(share, max(MEMORY_USUAL, CACHED * data))
    steps = max(1, int(memory) // MEMORY_STEP)
    return Sizes(memory=text_of(steps * MEMORY_STEP), clients=clients, amounts=amounts)


ROWS = ("rows", "tab_rows", "table_size", "records")
"""Parameters of workloads that are rows of a table."""
ANALYZED = 30_000
"""The rows of a larger table that ANALYZE samples: 300 by default_statistics_target, which is 100
(PostgreSQL, src/backend/commands/analyze.c, std_typanalyze)."""


def counted(sizes: Sizes) -> Sizes:
    """The sizes where nothing is timed: of no more rows than ANALYZE reads whole."""
    return replace(sizes, amounts={**sizes.amounts, **counted_rows(sizes.amounts)})


def counted_rows(amounts: Mapping[str, float]) -> dict[str, float]:
    """The amounts that differ where steps are counted: of no more rows than ANALYZE reads whole.

    So each fill has the same statistics, and plans that are made from them cost the same. With a
    sample, a covered range of 100,000 rows took 1.5 % more in one fill than in another.
    """
    return {name: ANALYZED for name in ROWS if amounts.get(name, 0) > ANALYZED}


def whole(amount: float) -> float:
    """An amount cut to one digit: 87,654 is 80,000, and 0.057 is 0.05."""
    if amount <= 0:
        return 0
    if amount < 1:
        unit = int("1" + "0" * -math.floor(math.log10(amount)))
        return math.floor(unit * amount) / unit
    number = int(amount)
    unit = int("1" + "0" * (len(str(number)) - 1))
    return number // unit * unit


LENGTHS = ("seconds", "run_seconds", "time")
"""Parameters of workloads that say how long their steps are."""


def seconds(minutes: float, arms: int, steps: int) -> int:
    """The seconds of each step in a race without turns, so that BLOCKS blocks fit."""
    of_run = 60 * minutes / (BLOCKS * arms) - RUN_S
    return int(min(SECONDS_MAX, max(SECONDS_MIN, of_run / max(1, steps) - STEP_S)))


QUERY_S, QUERY_STEP_S = 1.2, 1.0
"""The least seconds of a query's step, which are four short turns, and what is around it."""
QUERY_BLOCKS = 4
QUERY_SHARE = 0.8
"""Of a race's minutes, for the steps of its queries."""


def fills(minutes: float, arms: int, filling_s: float, *, restarts: bool) -> int:
    """How many fills each arm has; with two, no block restarts a server on the data it left."""
    second_s = arms * (filling_s + RUN_S + BLOCKS * COPY_S * restarts)
    return FILLS if second_s <= FILLS_SHARE_MAX * 60 * minutes else 1


@dataclass(frozen=True, kw_only=True)
class QueryTimes:
    """How many queries of an application have time in a race, and how much."""

    top: int
    seconds: float  # of each query, for each arm and block


def query_times(minutes: float, arms: int, queries: int) -> QueryTimes:
    """The queries that fit, up to TOP, and the seconds of each; so that QUERY_BLOCKS fit."""
    of_arm = QUERY_SHARE * 60 * minutes / (QUERY_BLOCKS * arms)
    fitting_top = max(1, int(of_arm / (QUERY_S + QUERY_STEP_S)))
    top = min(queries, TOP, fitting_top)
    each = of_arm / top - QUERY_STEP_S
    return QueryTimes(top=top, seconds=round(min(SECONDS_MAX, max(QUERY_S, each)), 1))


def run_s(minutes: float, arms: int) -> float:
    """The seconds that one arm may take for a workload with an amount of work."""
    return 60 * minutes / (3 * arms)
