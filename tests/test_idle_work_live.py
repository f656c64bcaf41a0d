"""Purge and autovacuum in other arms' turns, on real servers: charged, and warned of."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.model import StepRun
from dbdyno.run import blocks
from dbdyno.store import Results
from doubted import doubted
from mysql_place import ENGINES, SETTINGS, build_of
from server_place import ends

pytestmark = pytest.mark.live

WORKLOAD = """
[tables.t]
create.any = "CREATE TABLE {t} (id int PRIMARY KEY, k int)"
[tables.t.fill]
rows = 100_000
columns = { id = ":row", k = ":row" }
[values]
id = { uniform = [1, 100_000] }
[statements]
point = { protocol = "prepared", any = "SELECT k FROM {t} WHERE id = :id" }
[[steps]]
name = "read"
seconds = 4
writes = false
headline = { metric = "qps", role = "query", count = "operations" }
roles.query = { run = "point" }
"""
PLAN = """
name = "idle"
[arms.quiet]
engine = "{engine}"
base_dir = "{base_dir}"
settings = {{ {quiet} }}
[arms.dirty]
engine = "{engine}"
base_dir = "{base_dir}"
settings = {{ {dirty} }}
[server]
data_dir = "{data}"
[schedule]
interleave = "turn"
[schedule.void]
foreign = 1
[[hooks]]
when = "before-step"
steps = ["read"]
arms = ["dirty"]
sql = {garbage}
[[workloads]]
name = "./reads.toml"
"""
SLOWLY = {
    "postgres": (
        'autovacuum = "off"',
        'autovacuum_naptime = "1s", autovacuum_vacuum_cost_limit = 20, vacuum_cost_page_dirty = 0',
    ),
    **dict.fromkeys(ENGINES, ("", "innodb_purge_threads = 1, innodb_purge_batch_size = 1")),
}
"""Settings by which garbage is left, and by which it goes for longer than a window of two arms."""
COPIES = {"postgres": 24, **dict.fromkeys(ENGINES, 4)}
"""How often the table's rows become garbage."""
BEGUN = {
    "postgres": (
        "DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_progress_vacuum)"
        " LOOP PERFORM pg_sleep(0.05), pg_stat_clear_snapshot(); END LOOP; END $$",
    ),
    **dict.fromkeys(ENGINES, ()),
}
"""Waits until garbage is collected: autovacuum may look at a table only seconds later."""
SHARE_QUIET_MAX = 1.5
"""In percent of a core: what an idle server of MySQL does each second, on a slow machine."""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-idle-{os.getpid()}"
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.mark.parametrize(
    ("engine", "kind"), [("postgres", "autovacuum"), ("mysql", "purge"), ("mariadb", "")]
)
def test_what_a_waiting_server_cleans_up_is_charged_and_a_quiet_one_owes_nothing(
    engine: str, kind: str, tmp_path: Path, data: Path
) -> None:
    (tmp_path / "reads.toml").write_text(WORKLOAD)
    file = tmp_path / "idle.toml"
    base_dir = ends()[-1] if engine == "postgres" else build_of(engine).base_dir
    quiet, dirty = (
        ", ".join(filter(None, [*inherited(engine), settings])) for settings in SLOWLY[engine]
    )
    file.write_text(
        PLAN.format(
            engine=engine,
            base_dir=base_dir,
            data=data,
            quiet=quiet,
            dirty=dirty,
            garbage=json.dumps([*garbage(COPIES[engine]), *BEGUN[engine]]),
        )
    )
    outcome = blocks.run(plan.load(file), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    by_arm = {run.arm: run for run in steps_of(outcome.folder)}
    assert by_arm["dirty"].metrics["idle_cpu_share"] > 2
    assert by_arm["dirty"].metrics["idle_cpu_per_op"] > 0
    (warning,) = idle_warnings(by_arm["dirty"])
    assert kind in warning
    assert by_arm["quiet"].metrics["idle_cpu_share"] < SHARE_QUIET_MAX
    assert idle_warnings(by_arm["quiet"]) == []


def garbage(copies: int) -> list[str]:
    """Fills a table with two indexes by so many copies of the workload's, and empties it."""
    made = ["CREATE TABLE g (i int PRIMARY KEY, k int)", "CREATE INDEX gk ON g (k)"]
    filled = [f"INSERT INTO g SELECT id + {n} * 100000, id FROM t1" for n in range(copies)]
    return [*made, *filled, "DELETE FROM g"]


def inherited(engine: str) -> list[str]:
    """The small settings of a MySQL or MariaDB; none of PostgreSQL's."""
    return [] if engine == "postgres" else [f'{name} = "{of}"' for name, of in SETTINGS.items()]


def steps_of(folder: Path) -> Iterator[StepRun]:
    """The step of every arm."""
    (block,) = Results.open(folder).blocks()
    for run in block.runs():
        yield from (assemble.step_run(step) for step in run.steps() if step.name == "read")


def idle_warnings(run: StepRun) -> list[str]:
    """What is said of an arm's idle work."""
    return [warning for warning in doubted(run) if warning.startswith("idle work")]
