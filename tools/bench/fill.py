"""The bulk load of sysbench's table beside `sysbench prepare`: rows, key and index of one table.

    python tools/bench/fill.py [ROWS [PAIRS]]      default: a million rows, three pairs

Both load the same table on the same server in turn: the generator by its fill as the workload
`sysbench` has it, sysbench over one connection, as its prepare does for one table. The table is
gone and everything is written out before each load. The vacuum that the workload has after it is
timed by itself, after either load.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbdyno import binary, workload
from dbdyno.error import DynoError
from dbdyno.model import Address, Arm
from dbdyno.server import Server, fetch, leftovers, place, provide
from dbdyno.server.lock import HostLock

DATABASE = "bench"
SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
}
"""The same for both; all else as PostgreSQL has it, fsync on."""
FASTER_MIN = 5.0
"""The target: so many times as fast as sysbench."""
VACUUM = "VACUUM (ANALYZE) sbtest1"


def measure(generator: Path, rows: int, pairs: int) -> list[dict[str, Any]]:
    """The seconds of each load, in `pairs` alternating pairs after one of each that is thrown away.

    Raises DynoError where sysbench is missing or a load fails.
    """
    if shutil.which("sysbench") is None:
        raise DynoError("`sysbench` is not installed: `apt-get install sysbench`")
    found = []
    with running() as server:
        loads = {
            "fill": lambda: fill(server, generator, rows),
            "sysbench": lambda: prepare(server, rows),
        }
        for number in range(pairs + 1):
            names = sorted(loads, reverse=number % 2 == 1)
            seconds = {name: timed(server, loads[name]) for name in names}
            if number:
                found.append(pair(rows, number, seconds))
    return found


def pair(rows: int, number: int, seconds: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """A pair as it is kept: seconds of load and vacuum, and how much faster the fill was."""
    (fill_s, fill_vacuum_s), (sysbench_s, sysbench_vacuum_s) = (
        seconds["fill"],
        seconds["sysbench"],
    )
    return {
        "pair": number,
        "rows": rows,
        "fill_s": fill_s,
        "fill_vacuum_s": fill_vacuum_s,
        "sysbench_s": sysbench_s,
        "sysbench_vacuum_s": sysbench_vacuum_s,
        "faster": sysbench_s / fill_s,
        "faster_with_vacuum": (sysbench_s + sysbench_vacuum_s) / (fill_s + fill_vacuum_s),
    }


@contextmanager
def running() -> Iterator[Server]:
    """The newest server that is here, with an empty database, while no other lab runs."""
    arm = Arm(name="fill", engine="postgres", version=str(fetch.MAJOR_MAX), settings=SETTINGS)
    with HostLock(plan="make bench", wait=True), tempfile.TemporaryDirectory() as log_dir:
        leftovers.end_leftovers()
        server = provide(arm, place=place.default(log_dir=Path(log_dir)))
        try:
            server.prepare()
            server.start()
            server.create_database(DATABASE)
            yield server
        finally:
            server.stop(crash=True)
            server.remove()


def timed(server: Server, load: Callable[[], None]) -> tuple[float, float]:
    """The seconds of a load into a database without the table, and of its vacuum."""
    server.execute("DROP TABLE IF EXISTS sbtest1", "CHECKPOINT", database=DATABASE)
    start_s = time.monotonic()
    load()
    loaded_s = time.monotonic()
    server.execute(VACUUM, database=DATABASE)
    return loaded_s - start_s, time.monotonic() - loaded_s


def fill(server: Server, generator: Path, rows: int) -> None:
    """Loads the table as the workload does, but for its vacuum."""
    loaded = workload.load("sysbench", fill="fast")
    step, *_ = workload.expand(loaded, {"rows": rows}, server.engine)
    (only,) = step.job["fills"]
    only["after"] = [sql for sql in only["after"] if not sql.startswith("VACUUM")]
    where = address(server)
    job = step.job | {
        "autostart": True,
        "seed": 1,
        "server": {
            "host": where.host,
            "port": where.port,
            "user": where.user,
            "database": DATABASE,
            "password": None,
        },
    }
    server.execute(*step.setup, database=DATABASE)
    events = run([generator], json.dumps(job)).splitlines()
    done = json.loads(events[-1])
    if done.get("status") != "ok":
        raise DynoError(f"the fill failed: {done.get('reason')}")


def prepare(server: Server, rows: int) -> None:
    """Loads the table as sysbench does."""
    where = address(server)
    options = {
        "db-driver": "pgsql",
        "pgsql-host": where.host,
        "pgsql-port": where.port,
        "pgsql-user": where.user,
        "pgsql-db": DATABASE,
        "rand-type": "uniform",
        "tables": 1,
        "table-size": rows,
        "threads": 1,
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    run(["sysbench", *flags, "oltp_read_only", "prepare"], "")


def run(command: Sequence[str | Path], text: str) -> str:
    """What a program writes when it is given `text`. Raises DynoError where it fails."""
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        said = " ".join((ended.stderr or ended.stdout).split())[-300:]
        raise DynoError(f"`{command[0]}` ended with status {ended.returncode}: {said}")
    return ended.stdout


def address(server: Server) -> Address:
    """Where the server answers: its unix socket."""
    found = server.address()
    assert found is not None, "a PostgreSQL has an address"
    return found


def main() -> int:
    """Measures and prints; returns the exit status."""
    rows, pairs = [int(word) for word in sys.argv[1:]] + [1_000_000, 3][len(sys.argv) - 1 :]
    found = measure(binary.find("dyno-loadgen"), rows, pairs)
    for one in found:
        print(
            f"{one['rows']:,} rows: fill {one['fill_s']:.2f} s, vacuum "
            f"{one['fill_vacuum_s']:.2f} s; "
            f"sysbench {one['sysbench_s']:.2f} s, vacuum {one['sysbench_vacuum_s']:.2f} s; "
            f"{one['faster']:.2f} times as fast, {one['faster_with_vacuum']:.2f} with the vacuum"
        )
    middle = statistics.median(one["faster"] for one in found)
    print(f"median {middle:.2f}, target at least {FASTER_MIN}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
