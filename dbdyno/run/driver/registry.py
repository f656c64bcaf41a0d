"""Which driver makes a step's load: `of` is the one place that picks by name."""

from dbdyno.model import Step
from dbdyno.run.driver.interface import Driver
from dbdyno.run.driver.loadgen import Loadgen
from dbdyno.run.driver.pgbench import PgbenchDriver
from dbdyno.run.driver.program import ProgramDriver
from dbdyno.run.driver.restore import RestoreDriver
from dbdyno.run.driver.sysbench import SysbenchDriver

DRIVERS: tuple[Driver, ...] = (
    Loadgen(),
    ProgramDriver(),
    PgbenchDriver(),
    SysbenchDriver(),
    RestoreDriver(),
)


def of(step: Step) -> Driver:
    """The driver of a step, as its workload file names it."""
    return next(driver for driver in DRIVERS if driver.name == step.job.driver)
