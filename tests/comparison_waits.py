"""What comparison_builder's comparison lacks: waits that were sampled, a ledger, an explanation.

pg18 waits 12 µs longer for the server's own locks in each query; one wait is of no known class.
"""

import math
import random
from dataclasses import replace

from comparison_builder import CLIENTS, one_cell
from dbdyno.findings.waits.facts import IDLE, SERIES, Sampling, SessionLoad
from dbdyno.model import Comparison, Series, StepComparison, StepRun
from dbdyno.model.verdict import Cause, Explanation
from run_builder import changed

SAMPLES = 36_000
LOAD: tuple[tuple[str, str, str, str, float, float], ...] = (  # the last: of pg17, of pg18
    ("CPU", "", "market", "role:query", 1.61, 1.62),
    ("CPU", "", "register", "role:query", 0.42, 0.42),
    ("IO", "DataFileRead", "market", "role:query", 0.31, 0.33),
    ("LWLock", "BufferMapping", "market", "role:query", 0.04, 0.61),
    ("IO", "WALSync", "insert", "role:insert", 0.12, 0.11),
    ("Lock", "transactionid", "delete", "role:delete", 0.0, 0.02),
    ("IO", "DataFileWrite", "", "background:checkpointer", 0.21, 0.2),
    ("Novel", "Surprise", "", "background:walwriter", 0.004, 0.003),
)
LEDGER: tuple[tuple[str, float, float], ...] = (
    ("server_cpu_per_op", 42.0, 42.1),
    ("runnable_us_per_op", 3.1, 3.2),
    ("wait_io_us_per_op", 6.4, 6.8),
    ("wait_lwlock_us_per_op", 0.8, 12.8),
    ("wait_lock_us_per_op", 0.0, 0.0),
    ("wait_ipc_us_per_op", 0.0, 0.0),
    ("wait_other_us_per_op", 0.0, 0.0),
    ("client_us_per_op", 28.4, 28.2),
    ("unaccounted_us_per_op", 2.1, 2.2),
)
WAITING = "16.0 times the time waiting for the server's own locks per query [15.1, 17.0]"
TEXT = (
    "12.9 % slower [11.8, 14.0], 12.5 µs more per query: "
    f"{WAITING} (12.0 µs); CPU, reads, writes and plans did not change"
)


def sampled(comparison: Comparison, step: str = "qr100") -> Comparison:
    """The comparison with waits and a ledger in one of its steps."""
    steps = tuple(_step(one) if one.step == step else one for one in comparison.steps)
    return replace(comparison, steps=steps)


def _step(step: StepComparison) -> StepComparison:
    runs = [tuple(_run(run, place) for run in cell.runs) for place, cell in enumerate(step.cells)]
    cells = [one_cell(step.headline, its, runs[0]) for its in runs]
    cause = Cause(metric="wait_lwlock_us_per_op", words=WAITING)
    more = Cause(metric="cs_per_op", words="20.0 % more context switches per query [19.1, 20.9]")
    told = Explanation(
        text=TEXT, why=TEXT, causes=(cause, more), unchanged=("rpq",), explained=True
    )
    cells[1:] = [replace(cell, explanation=told) for cell in cells[1:]]
    return replace(step, cells=tuple(cells))


def _run(run: StepRun, place: int) -> StepRun:
    draw = random.Random(f"{run.arm} {run.block}")
    slow = place > 0
    parts = {
        name: second * math.exp(draw.gauss(0, 0.01))
        if slow
        else first * math.exp(draw.gauss(0, 0.01))
        for name, first, second in LEDGER
    }
    metrics = {**run.metrics, **parts, "connection_us_per_op": math.fsum(parts.values())}
    sampling = _sampling(run, slow, draw)
    series = {**run.series, **_over_time(run, sampling, draw)}
    return changed(run, metrics=metrics, waits=(sampling,), series=series)


def _sampling(run: StepRun, slow: bool, draw: random.Random) -> Sampling:
    loads = tuple(
        SessionLoad(
            owner=owner, kind=kind, event=event or None, statement=statement or None,
            sessions=(second if slow else first) * math.exp(draw.gauss(0, 0.02)),
        )
        for kind, event, statement, owner, first, second in LOAD
    )  # fmt: skip
    idle = {"role:query": CLIENTS - 2.4, "role:insert": 3.7, "role:delete": 3.8}
    seconds = int(run.window.seconds or 60)
    return Sampling(
        samples=SAMPLES,
        asked_s=0.05,
        interval_s=0.0503,
        interval_s_max=0.212,
        sample_us=412.0,
        lab_cpu_us=0.011 * 1e6 * seconds,
        server_cpu_us=0.008 * 1e6 * seconds,
        loads=(
            *loads,
            *(
                SessionLoad(owner=owner, kind=IDLE, sessions=sessions)
                for owner, sessions in idle.items()
            ),
        ),
    )


def _over_time(run: StepRun, sampling: Sampling, draw: random.Random) -> dict[str, Series]:
    x = tuple(float(second) for second in range(1, int(run.window.seconds or 60) + 1))
    active = [load for load in sampling.loads if load.kind != IDLE]
    sums = {
        kind: sum(load.sessions for load in active if load.kind == kind)
        for kind in dict.fromkeys(load.kind for load in active)
    }
    return {
        f"{SERIES}{kind}": Series(
            x_s=x, y=tuple(max(0.0, mean * (1 + draw.gauss(0, 0.15))) for _ in x)
        )
        for kind, mean in sums.items()
    }
