"""The bulk load of sysbench's table beside `sysbench prepare`: rows, key and index of one table.

Both load the same table on the same server in turn: the generator by its fill as the workload
`sysbench` has it, sysbench over one connection, as its prepare does for one table. The table is
gone and everything is written out before each load. The vacuum that the workload has after it is
timed by itself, after either load.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from bench import arms, jobs, process, server
from bench.compare import Bench
from bench.figure import Figure, Target
from bench.pairs import alternating
from bench.process import ProgramFailed
from dbdyno import workload
from dbdyno.engine import LabServer
from dbdyno.model import Json, Step

SPEED_MIN = 5.0
LOAD_S_MAX = 3600
VACUUM = "VACUUM (ANALYZE) sbtest1"
UPKEEP = ("VACUUM", "ANALYZE")
"""How statements begin that come after rows and index, of any engine."""


def measure(bench: Bench) -> Iterator[Figure]:
    """How many times as fast as `sysbench prepare` the generator's bulk load is."""
    figure = Figure(
        measurement="fill",
        beside="sysbench",
        what="speed",
        target=Target(bound=SPEED_MIN, at_least=True),
    )
    if arms.sysbench_program() is None:
        yield replace(figure, missing=arms.NO_SYSBENCH)
        return
    found = load_pairs(bench.generator, bench.rows, bench.pairs)
    yield replace(figure, values=tuple(one["faster"] for one in found), detail={"pairs": found})
    yield replace(
        figure,
        what="and vacuum",
        values=tuple(one["faster_with_vacuum"] for one in found),
        target=None,
    )


def load_pairs(generator: Path, rows: int, pairs: int) -> list[Json]:
    """The seconds of each load, in `pairs` alternating pairs after one of each that is thrown away.

    Raises ProgramFailed where sysbench is missing or a load fails.
    """
    with server.running() as running:
        loads = {
            "fill": lambda: fill(running, generator, rows),
            "sysbench": lambda: prepare(running, rows),
        }
        found = alternating(loads, pairs, lambda load: timed(running, load))
        return [pair(rows, seconds) for seconds in found]


def pair(rows: int, seconds: dict[str, tuple[float, float]]) -> Json:
    """A pair as it is kept: seconds of load and vacuum, and how many times as fast the fill was."""
    (fill_s, fill_vacuum_s), (sysbench_s, sysbench_vacuum_s) = seconds["fill"], seconds["sysbench"]
    return {
        "rows": rows,
        "fill_s": fill_s,
        "fill_vacuum_s": fill_vacuum_s,
        "sysbench_s": sysbench_s,
        "sysbench_vacuum_s": sysbench_vacuum_s,
        "faster": sysbench_s / fill_s,
        "faster_with_vacuum": (sysbench_s + sysbench_vacuum_s) / (fill_s + fill_vacuum_s),
    }


def timed(running: LabServer, load: Callable[[], None]) -> tuple[float, float]:
    """The seconds of a load into a database without the table, and of its vacuum."""
    running.execute("DROP TABLE IF EXISTS sbtest1", "CHECKPOINT")
    return load_and_vacuum(running, load, VACUUM)


def load_and_vacuum(
    running: LabServer, load: Callable[[], None], vacuum: str
) -> tuple[float, float]:
    """The seconds of a load and of the vacuum after it."""
    start_s = time.monotonic()
    load()
    loaded_s = time.monotonic()
    running.execute(vacuum, limit_s=LOAD_S_MAX)
    return loaded_s - start_s, time.monotonic() - loaded_s


def fill(running: LabServer, generator: Path, rows: int) -> None:
    """Loads the table as the workload does, but for what comes after rows and index."""
    loaded = workload.load("sysbench", fill="fast")
    step, *_ = workload.expand(loaded, {"rows": rows}, running.engine)
    load_rows(running, generator, step)


def load_rows(running: LabServer, generator: Path, step: Step) -> None:
    """Loads as a step does, but for what comes after rows and indexes."""
    running.execute(*step.setup)
    job = jobs.begun_on(server.address_of(running), step.job)
    for rows in job["fills"]:
        rows["after"] = [sql for sql in rows["after"] if not sql.startswith(UPKEEP)]
    arms.generate(generator, job, LOAD_S_MAX)


def prepare(running: LabServer, rows: int) -> None:
    """Loads the table as sysbench does."""
    program = arms.sysbench_program()
    if program is None:
        raise ProgramFailed(f"sysbench: {arms.NO_SYSBENCH}")
    command = arms.sysbench_command(program, server.address_of(running), rows)
    process.run([*command, "--threads=1", "prepare"], limit_s=LOAD_S_MAX)
