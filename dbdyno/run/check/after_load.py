"""What a server or the generator would refuse only once tables are made and loaded.

A load may take hours, so all of that is asked before anything starts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from dbdyno.engine import Server
from dbdyno.engine.limits import OWN_CONNECTIONS
from dbdyno.model import Step
from dbdyno.model.error import PlanError
from dbdyno.model.job import Job
from dbdyno.model.job.fills import ColumnType, Fill, FillColumn

CREATION = re.compile(r"\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([^\s(]+)", re.IGNORECASE)
KEYED = re.compile(r"\bPRIMARY\s+KEY\b|\bLIKE\b", re.IGNORECASE)
"""In a statement that makes a table with a primary key, or with that of another table."""
HOLDS: dict[ColumnType, tuple[int, int]] = {
    "int2": (-(1 << 15), (1 << 15) - 1),
    "int4": (-(1 << 31), (1 << 31) - 1),
    "float4": (-(1 << 24), 1 << 24),  # whole numbers that it holds exactly
    "float8": (-(1 << 53), 1 << 53),
}


def refuse(server: Server, steps: Sequence[Step], connections: int) -> None:
    """Raises PlanError with a line for each thing that must fail after the load.

    `connections`: the most that a step of the plan has.
    """
    lines = dict.fromkeys(
        [*too_large(steps), *without_keys(server, steps), *too_many(server, connections)]
    )
    if lines:
        raise PlanError("\n".join(lines))


def too_large(steps: Iterable[Step]) -> Iterator[str]:
    """A line for each column of a bulk load whose numbers its type does not hold."""
    for step in steps:
        for fill in step.job.fills:
            for column in fill.columns:
                low, high = HOLDS.get(column.type, (None, None))
                span = numbers(step.job, fill, column, column.value)
                if low is None or high is None or span is None:
                    continue
                if span[0] < low or span[1] > high:
                    yield (
                        f"{step.workload}: step `{step.name}`: table `{fill.table}`: column "
                        f"`{column.name}` is {column.type}, which ends at {high:,}, and its rows "
                        f"have up to {span[1]:,}: load fewer rows"
                    )


def numbers(job: Job, fill: Fill, column: FillColumn, number: int) -> tuple[int, int] | None:
    """The least and the greatest of a value in a column; None where it is no number."""
    value = job.values[number]
    if value.constant is not None:
        return value.constant, value.constant
    if value.row is not None:
        rows = fill.rows if fill.per is None else fill.rows // fill.per.most
        return value.row, value.row + -(-rows // column.each) - 1
    if value.item is not None and fill.per is not None:
        return value.item.first, value.item.first + fill.per.most - 1
    if value.uniform is not None:
        low, high = value.uniform
        return (low, high) if isinstance(low, int) and isinstance(high, int) else None
    if value.permutation is not None:
        return value.permutation.range[0], value.permutation.range[1]
    if value.compute is not None:
        return value.compute.range
    if value.distribution is not None:
        return value.distribution.range[0], value.distribution.range[1]
    if value.add is None:
        return None
    base = numbers(job, fill, column, value.add.value)
    plus = value.add.plus or 0
    other = (plus, plus)
    if value.add.other is not None:
        other = numbers(job, fill, column, value.add.other) or other
    return None if base is None else (base[0] + other[0], base[1] + other[1])


def without_keys(server: Server, steps: Iterable[Step]) -> Iterator[str]:
    """A line for each table without a primary key, where the server refuses such tables."""
    client = server.client
    if client is None:
        return
    made = {
        match[1]: step
        for step in steps
        for sql in step.setup
        if (match := CREATION.match(sql)) is not None and not KEYED.search(sql)
    }
    if not made:
        return
    limits, asks = client.limits, server.remote
    setting = client.limits.keyless(
        (lambda name: limits.value(name, server.execute)) if asks else server.setting
    )
    for table, step in made.items() if setting is not None else ():
        yield (
            f"{step.workload}: step `{step.name}`: table `{table}` has no primary key, and "
            f"`{setting}` of arm {server.name} is on: switch it off, or give the table a key"
        )


def too_many(server: Server, connections: int) -> Iterator[str]:
    """A line where a server elsewhere has fewer connections to give than the load needs."""
    client, address = server.client, server.load_address
    if client is None or address is None or not server.remote:
        return
    room = client.limits.room(address)
    if room is not None and connections + OWN_CONNECTIONS > room.connections:
        yield (
            f"arm {server.name}: the steps need {connections} connections and dyno "
            f"{OWN_CONNECTIONS}; {room.why}: use fewer `clients`, or {room.mend}"
        )
