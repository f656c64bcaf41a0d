"""Which driver makes a step's load: `of` is the one place that picks by name."""

from __future__ import annotations

from dbdyno.model import Step
from dbdyno.run.driver.interface import Driver
from dbdyno.run.driver.loadgen import Loadgen
from dbdyno.run.driver.pgbench import Pgbench
from dbdyno.run.driver.program import Program
from dbdyno.run.driver.restore import Restore
from dbdyno.run.driver.sysbench import Sysbench

DRIVERS: tuple[Driver, ...] = (Loadgen(), Program(), Pgbench(), Sysbench(), Restore())


def of(step: Step) -> Driver:
    """The driver of a step, as its workload file names it."""
    return next(driver for driver in DRIVERS if driver.name == step.job.driver)
