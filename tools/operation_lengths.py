"""Whether operations of any length are counted without bias: drawn cells on the fake server.

A cell has a service time, its jitter, connections, turns or whole windows, and an arm that is
slower by a known share. The generator runs each block of each arm on its virtual clock, and the
analysis reads its events, as in a measured step.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import Evidence
from dbdyno.model import Headline
from dbdyno.model.job import Job, StopRule
from dbdyno.model.job.programs import Instruction, Program
from dbdyno.model.job.role import Choice, ClosedPace, ErrorReaction, Role
from dbdyno.model.job.statements import Statement
from dbdyno.model.step_files import StepRecord
from dbdyno.run.driver import loadgen
from dbdyno.stats.interval import log_interval

BLOCKS = 6
ROLE = "load"
DELAYS_S = (1e-4, 5.0)
JITTERS = (0.0, 0.1)
CONNECTIONS = (1, 2, 4, 16, 64)
TURNS_S = (None, 0.2, 0.5, 1.0, 2.0)
WINDOWS_S = (2.0, 60.0)
SLOWER = (0.005, 0.02, 0.05)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One comparison with a known answer."""

    delay_s: float
    jitter: float
    connections: int
    turns_s: float | None  # None: a whole window
    window_s: float
    slower: float
    seed: int

    @property
    def operations(self) -> float:
        """How many a window has, about."""
        return self.connections * self.window_s / self.delay_s


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the lab says of a cell."""

    cell: Cell
    error: float  # ln of the told ratio by the true one, the mean of the blocks
    standard_error: float
    covered: bool  # whether the interval holds the true ratio


def drawn(count: int, operations_max: float, seed: int) -> Iterator[Cell]:
    """So many cells, of windows with at most so many operations."""
    draw = np.random.default_rng(seed)
    made = 0
    while made < count:
        cell = Cell(
            delay_s=float(np.exp(draw.uniform(*np.log(DELAYS_S)))),
            jitter=JITTERS[draw.integers(len(JITTERS))],
            connections=CONNECTIONS[draw.integers(len(CONNECTIONS))],
            turns_s=TURNS_S[draw.integers(len(TURNS_S))],
            window_s=float(np.exp(draw.uniform(*np.log(WINDOWS_S)))),
            slower=SLOWER[draw.integers(len(SLOWER))],
            seed=int(draw.integers(1 << 30)),
        )
        if cell.operations <= operations_max:
            made += 1
            yield cell


def outcome(cell: Cell) -> Outcome | None:
    """What the lab says of a cell; None where no operation of a block counts."""
    logs = []
    for block in range(BLOCKS):
        rates = [
            rate(job(cell, cell.delay_s * factor, cell.seed + 2 * block + arm))
            for arm, factor in enumerate((1.0, 1.0 + cell.slower))
        ]
        base, slower = rates
        if not base or not slower:
            return None
        logs.append(math.log(slower / base))
    told, true = log_interval(logs), -math.log1p(cell.slower)
    assert told.low is not None and told.high is not None
    reach = 1e-5  # of a clock of whole nanoseconds, where nothing scatters
    low, high = math.log(told.low) - reach, math.log(told.high) + reach
    return Outcome(
        cell=cell,
        error=float(np.mean(logs)) - true,
        standard_error=float(np.std(logs, ddof=1)) / math.sqrt(BLOCKS),
        covered=low <= true <= high,
    )


def rate(of: Job) -> float | None:
    """Operations a second of a job on the fake; None where none counts."""
    load = raw_files.load(loadgen.run(of))
    headline = Headline(metric="qps", role=ROLE, count="operations")
    evidence = Evidence(
        step=StepRecord(
            workload="lengths",
            ordinal=1,
            name="lengths",
            measured=True,
            headline=headline,
            roles={ROLE: "query"},
        ),
        job=of,
        load=load,
        host=raw_files.WindowReadings(readings=()),
        before=None,
        after=None,
        done=None,
        failure=None,
        owners={},
        histograms={},
        services={},
    )
    return raw_files.per(evidence.operations, load.seconds)


def job(cell: Cell, delay_s: float, seed: int) -> Job:
    """A closed loop of one statement, of which each takes so long."""
    return Job(
        autostart=False,
        seed=seed,
        step="lengths",
        fake={"default_us": delay_s * 1e6, "jitter": cell.jitter, "turns_s": cell.turns_s},
        clients=cell.connections,
        threads=1,
        statements=(Statement(name="select", pieces=("SELECT 1",), rows=1),),
        programs=(Program("select", (Instruction("send", 0),)),),
        roles=(
            Role(
                name=ROLE,
                per="client",
                connections=1,
                choose=(Choice(0, 1),),
                pace=ClosedPace(),
                on_error=ErrorReaction(),
                on_lost="fail_step",
            ),
        ),
        stop=StopRule(seconds=cell.window_s, warmup_s=1.0),
    )
