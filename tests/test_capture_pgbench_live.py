"""pgbench's built-in script comes back from its log: rate and statements, in a race, too."""

import re
import shutil
import subprocess
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.engine import LabServer
from dbdyno.model import Arm
from dbdyno.run import blocks
from dbdyno.store import Results, StepFolder
from server_place import a_place, address, ends, logged, restart_with, started

pytestmark = [pytest.mark.live, pytest.mark.soak]
PGBENCH = next(
    (path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[::-1]),
    Path(shutil.which("pgbench") or "/absent/pgbench"),
)
LOGGING = {
    "logging_collector": "on",
    "log_destination": "csvlog",
    "log_directory": "captured",
    "log_filename": "of-pgbench",
    "log_rotation_size": "0",
}
PER_S, SECONDS = 150, 10
SHARE_MAX = 0.02
RATE_SHARE_MAX = 0.2
"""Of the rate, which a busy host takes from either end of a short run."""
RELOADED_S = 0.3
QUERIES = 5
"""Of a transaction: three updates, a select and an insert."""
PLAN = """
[arms.same]
dsn = "{dsn}"
allow_writes = true
[[workloads]]
name = "{app}"
steps = ["mix"]
parameters = {{ seconds = {seconds} }}
[schedule]
blocks = 1
"""


@pytest.mark.skipif(not PGBENCH.exists(), reason="no pgbench here: `apt-get install postgresql`")
def test_pgbenchs_script_has_its_rate_and_its_statements_in_a_race(tmp_path: Path) -> None:
    arm = Arm(name="source", engine="postgres", base_dir=ends()[-1])
    with a_place() as place, started(arm, place) as server:
        restart_with(server, LOGGING)
        server.create_database("bench")
        pgbench(server, "-i", "-q")
        log(server, "0")
        said = pgbench(
            server, "-n", "-c", "4", "-R", str(PER_S), "-T", str(SECONDS), "--random-seed", "7"
        )
        log(server, "-1")
        app, (written,) = tmp_path / "app", (path for path in logged(server) if path.suffix)
        wish = CaptureRequest(
            logs=[written], server=None, engine="postgres", out=app, database="bench"
        )
        capture(wish, lambda line: None)
        raced = race(server, app, tmp_path)
    done = int(said["transactions"])
    mix = tomllib.loads((app / "workload.toml").read_text())["mix"]
    (transaction, weight) = max(mix["choose"].items(), key=lambda pair: pair[1])
    assert weight == done
    assert sum(mix["choose"].values()) - weight <= SHARE_MAX * done, "what pgbench asks before"
    assert mix["per_s"] == pytest.approx(said["tps"], rel=RATE_SHARE_MAX)
    run = assemble.step_run(raced)
    assert run.ending.status == "ok"
    assert run.metrics["errors"] == 0
    asked, reached = mix["per_s"], run.metrics["tps"]
    assert reached == pytest.approx(asked, rel=RATE_SHARE_MAX)
    statements = run.metrics["statements_ps"]
    assert statements is not None and reached is not None
    assert statements / reached == pytest.approx(QUERIES, rel=SHARE_MAX), transaction


def pgbench(server: LabServer, *options: str) -> dict[str, float]:
    """What it says of its transactions."""
    at = address(server)
    place = ["-h", at.host, "-p", str(at.port), "-U", at.user]
    said = subprocess.run(
        [PGBENCH, *place, *options, "bench"], capture_output=True, text=True, check=True
    ).stdout
    matches = {
        "transactions": re.search(r"actually processed: (\d+)", said),
        "tps": re.search(r"tps = ([0-9.]+)", said),
    }
    return {name: float(match[1]) for name, match in matches.items() if match}


def log(server: LabServer, least_ms: str) -> None:
    """Logs the calls that take so long."""
    server.execute(f"ALTER SYSTEM SET log_min_duration_statement = {least_ms}")
    server.execute("SELECT pg_reload_conf()")
    time.sleep(RELOADED_S)  # not in the server, whose log it would lengthen


def race(server: LabServer, app: Path, folder: Path) -> StepFolder:
    """The step of the transactions, run on the same server."""
    at = address(server)
    dsn = f"postgresql://{at.user}@{quote(at.host, safe='')}:{at.port}/{at.database}"
    text = PLAN.format(dsn=dsn, app=app, seconds=SECONDS)
    of = replace(plan.parse(text, None), name="bench")
    outcome = blocks.run(of, folder / "out", wait=True)
    assert outcome.failed == 0
    (step,) = [
        step
        for block in Results.open(outcome.folder).blocks()
        for run in block.runs()
        for step in run.steps()
    ]
    return step
