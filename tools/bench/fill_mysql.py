"""The bulk load of sysbench's table on MySQL and MariaDB beside `sysbench prepare`.

Both load the same table on the same server in turn: the generator by its fill as the workload
`sysbench` has it (LOAD DATA LOCAL in chunks, then the index), sysbench over one connection, as its
prepare does for one table. The table is gone before each load. Neither is analysed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from bench import arms, mysql
from bench.compare import Bench
from bench.figure import Figure
from bench.fill import fill, prepare
from bench.pairs import alternating
from dbdyno.engine import Build, LabServer
from dbdyno.model import Json


def measure(bench: Bench) -> Iterator[Figure]:
    """How many times as fast as `sysbench prepare` the generator's bulk load is, on each engine."""
    for engine in mysql.VARIABLES:
        figure = Figure(measurement=f"fill {engine}", beside="sysbench", what="speed", target=None)
        here = mysql.newest(engine)
        if here is None:
            yield replace(figure, missing=mysql.missing(engine))
        elif arms.sysbench_program() is None:
            yield replace(figure, missing=arms.NO_SYSBENCH)
        else:
            with mysql.running(engine, here) as server:
                found = load_pairs(bench, server, here)
            faster = tuple(one["faster"] for one in found)
            yield replace(figure, values=faster, detail={"pairs": found})


def load_pairs(bench: Bench, server: LabServer, here: Build) -> list[Json]:
    """The seconds of each load, in alternating pairs after one of each that is thrown away."""
    loads = {
        "fill": lambda: fill(server, bench.generator, bench.rows, here.release),
        "sysbench": lambda: prepare(server, bench.rows, mysql.CLIENT_DRIVER),
    }
    found = alternating(loads, bench.pairs, lambda load: timed(server, load))
    return [pair(bench.rows, fill_s=one["fill"], sysbench_s=one["sysbench"]) for one in found]


def pair(rows: int, *, fill_s: float, sysbench_s: float) -> Json:
    """A pair as it is kept: seconds of both loads, and how many times as fast the fill was."""
    faster = sysbench_s / fill_s
    return {"rows": rows, "fill_s": fill_s, "sysbench_s": sysbench_s, "faster": faster}


def timed(server: LabServer, load: Callable[[], None]) -> float:
    """The seconds of a load into a database without the table."""
    server.execute("DROP TABLE IF EXISTS sbtest1")
    start_s = time.monotonic()
    load()
    return time.monotonic() - start_s
