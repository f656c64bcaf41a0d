"""sysbench-tpcc, the Lua script beside which `orders` is measured: where it is, how it is called.

The script is not part of this project. Its folder is named by the environment.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench import arms, process
from bench.pairs import BenchArm, Sample
from bench.process import Ended, ProgramFailed
from dbdyno.model import Address

VARIABLE = "DYNO_SYSBENCH_TPCC"
"""The environment's name of the folder that has the script."""
SCRIPT = "tpcc.lua"
NO_SCRIPT = (
    f"not here: git clone https://github.com/Percona-Lab/sysbench-tpcc, and let {VARIABLE} "
    "name its folder"
)
OPTIONS = ("--trx_level=RC", "--use_fk=0")
"""By repeatable read, its default, PostgreSQL refuses transactions that meet; its foreign keys are
not part of the tables that both have."""
ROLLED_BACK_MAX = 0.02
"""Of its transactions: a hundredth of its new orders roll back, and few meet in a deadlock."""
SLEEP_S = 30.0
"""How long `prepare` sleeps once its tables are made, so that no thread loads into what another has
yet to make."""
PREPARE_S_MAX = 3600


def folder() -> Path | None:
    """The script's folder; None where the environment names none that has it."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named and (Path(named) / SCRIPT).is_file() else None


def missing() -> str | None:
    """Why it cannot run here, and the remedy; None where it can."""
    if arms.sysbench_program() is None:
        return arms.NO_SYSBENCH
    return NO_SCRIPT if folder() is None else None


def arm(address: Address, warehouses: int, connections: int) -> BenchArm:
    """The script by a thread for each connection. An operation is a committed transaction."""
    why = missing()
    if why is not None:
        return arms.absent(SCRIPT, why)

    def run(seconds: float) -> Sample:
        more = [f"--threads={connections}", f"--time={seconds:g}", "run"]
        return sample(called(address, warehouses, more, seconds + arms.OVERTIME_S_MAX))

    return BenchArm(name=SCRIPT, run=run)


def prepare(address: Address, warehouses: int) -> None:
    """Its own load, by a thread for each warehouse. Raises ProgramFailed where that fails."""
    called(address, warehouses, [f"--threads={warehouses}", "prepare"], PREPARE_S_MAX)


def called(address: Address, warehouses: int, more: list[str], limit_s: float) -> Ended:
    """How a run of the script ended, in its own folder, where it looks for its parts.

    Raises ProgramFailed where sysbench or the script is missing, or the run fails.
    """
    program, place = arms.sysbench_program(), folder()
    if program is None or place is None:
        raise ProgramFailed(f"{SCRIPT}: {missing()}")
    command: list[str | Path] = [program, SCRIPT, "--db-driver=pgsql", f"--scale={warehouses}"]
    command += [f"--pgsql-host={address.host}", f"--pgsql-port={address.port}"]
    command += [f"--pgsql-user={address.user}", f"--pgsql-db={address.database}"]
    return process.run([*command, *OPTIONS, *more], limit_s=limit_s, folder=place)


def sample(ended: Ended) -> Sample:
    """What its summary says, without the events that it rolled back: sysbench's ignored errors.

    Raises ProgramFailed where those are more than rolled-back orders explain.
    """
    events = arms.SYSBENCH_EVENTS.search(ended.output)
    ignored = arms.SYSBENCH_IGNORED.search(ended.output)
    if events is None or ignored is None:
        raise ProgramFailed(f"sysbench said: {' '.join(ended.output.split())[-300:]}")
    transactions, rolled_back = int(events[1]), int(ignored[1])
    if rolled_back > ROLLED_BACK_MAX * transactions:
        raise ProgramFailed(f"{SCRIPT}: {rolled_back} of {transactions} transactions failed")
    committed = transactions - rolled_back
    return arms.sampled(ended, committed, float(events[2]) * committed / transactions)
