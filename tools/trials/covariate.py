"""The load generator's CPU per operation as a covariate of throughput and of the server's CPU.

Whatever slows the host slows the generator, too. With its log ratio x, a block's log ratio y
becomes y − b · x, where the slope b is that of the other blocks, and x is not centred. Accepted
where the scatter of a build beside itself falls by a fifth, and a planted loop keeps its size
within a tenth (docs/method.md).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import product
from math import log
from pathlib import Path
from statistics import fmean, stdev

from dbdyno.analysis import compare
from dbdyno.model import Cell
from dbdyno.model.error import DynoError
from trials import placement
from trials.delays import dyno
from trials.placement import CPU, IN_TURN, PLAN, STEP, TURNS, WORKLOAD
from trials.trial import Column, Figures, Measure, Side, Trial

BLOCKS, SECONDS = 12, 2
COVARIATE = "generator_cpu_per_op"
THROUGHPUT = "qps"
LOOPS = {"nothing": 0, "the loop": TURNS}
BUSY = """
import time
while True:
    end_s = time.monotonic() + 0.3
    while time.monotonic() < end_s:
        pass
    time.sleep(0.3)
"""
"""Half of a processor, in bursts: a program."""
QUOTA = "120000 100000"
"""1.2 processors of the two, as a group's cpu.max has it."""
GROUPS = Path("/sys/fs/cgroup")
GROUP = GROUPS / "dyno-trial"


@contextmanager
def foreign() -> Iterator[None]:
    """A process that is busy by bursts."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as busy:
        try:
            yield
        finally:
            busy.kill()


@contextmanager
def quota() -> Iterator[None]:
    """This process, and what it starts, with a share of the processors. Raises DynoError."""
    own = Path("/proc/self/cgroup").read_text().rpartition("::")[2]
    before = GROUPS / own.strip().lstrip("/")
    try:
        GROUP.mkdir(exist_ok=True)
        (GROUP / "cpu.max").write_text(QUOTA)
        (GROUP / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        raise DynoError(f"{GROUP}: {error.strerror}: no control group can be made here") from error
    try:
        yield
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))
        GROUP.rmdir()


HOSTS: Mapping[str, Callable[[], AbstractContextManager[None]]] = {
    "quiet": nullcontext,
    "foreign load": foreign,
    "a quota": quota,
}
ROWS = tuple(f"{host}, {loop} planted" for host, loop in product(HOSTS, LOOPS))


@contextmanager
def opened() -> Iterator[Mapping[str, Measure]]:
    """What measures each row, with the compiled loop."""
    with placement.compiled() as library:
        yield {
            f"{host}, {loop} planted": partial(measure, host, plan_of(loop, library))
            for host, loop in product(HOSTS, LOOPS)
        }


def plan_of(loop: str, library: Path) -> str:
    """The plan of a row: an arm beside itself, or beside one with the loop."""
    build = 'version = "18"'
    return PLAN.format(
        build=build, library=library, turns=LOOPS[loop], seconds=SECONDS, blocks=BLOCKS, way=IN_TURN
    )


def measure(host: str, plan: str, side: Side) -> Figures:
    """Runs the plan on such a host, and reads its blocks. Raises DynoError where it fails."""
    with tempfile.TemporaryDirectory(prefix="dyno-trial-") as place, HOSTS[host]():
        folder = Path(place)
        (folder / "points.toml").write_text(WORKLOAD + STEP.format(clients=1))
        (folder / "placement.toml").write_text(plan)
        dyno(side, "run", folder / "placement.toml", "--out", folder, "--wait", "--quiet")
        return of_result(folder / "placement")


def of_result(folder: Path) -> dict[str, float]:
    """The scatter of both metrics in a result's last step, with the covariate and without."""
    base, arm = compare.load(folder).steps[-1].cells
    x = logs(base, arm, COVARIATE)
    return {
        f"{name} {key}": value
        for name in (THROUGHPUT, CPU)
        for key, value in adjusted(logs(base, arm, name), x).items()
    }


def logs(base: Cell, arm: Cell, name: str) -> list[float]:
    """The log ratios of a metric by block."""
    bases = {run.block: run.metrics.get(name) for run in base.runs}
    pairs = ((run.metrics.get(name), bases.get(run.block)) for run in arm.runs)
    return [log(own / other) for own, other in pairs if own and other]


def adjusted(y: Sequence[float], x: Sequence[float]) -> dict[str, float]:
    """Scatter and mean of log ratios, in percent, plain and with each block's covariate taken out.

    The slope of a block is that of the others, through their means.
    """
    left = [y[block] - slope_without(block, y, x) * x[block] for block in range(len(y))]
    return {
        "scatter": 100 * stdev(y),
        "adjusted": 100 * stdev(left),
        "mean": 100 * fmean(y),
        "adjusted mean": 100 * fmean(left),
    }


def slope_without(block: int, y: Sequence[float], x: Sequence[float]) -> float:
    """The least squares slope of y by x over all blocks but one."""
    pairs = [pair for number, pair in enumerate(zip(x, y, strict=True)) if number != block]
    x_mean, y_mean = (fmean(values) for values in zip(*pairs, strict=True))
    spread = sum((x - x_mean) ** 2 for x, _ in pairs)
    return sum((x - x_mean) * (y - y_mean) for x, y in pairs) / spread if spread else 0.0


TRIAL = Trial(
    name="covariate",
    question="does the generator's CPU per operation take scatter out, and leave a planted loop?",
    rounds=1,
    minutes=15,
    rows=ROWS,
    columns=tuple(
        Column(figure=f"{name} {key}", heading=f"{words}: {key}, %", digits=1)
        for name, words in ((THROUGHPUT, "throughput"), (CPU, "CPU"))
        for key in ("scatter", "adjusted", "mean", "adjusted mean")
    ),
    opened=opened,
)
