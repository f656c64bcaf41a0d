"""sysbench itself on real servers, on tables that dyno has filled, and what dyno makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import own_lab
from bench import contenders
from dbdyno import workload
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.engine import Place, Server
from dbdyno.model import Arm, Json
from dbdyno.run import driver, measurement
from dbdyno.run.driver.sysbench.run import Run
from dbdyno.stats.response_times import Histogram
from dbdyno.store import Results
from server_place import builds, started
from step_load import load, no_sampler

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(contenders.sysbench_program() is None, reason=contenders.NO_SYSBENCH),
]

TABLES = """
[tables.sbtest]
create = "CREATE TABLE {t} (id int, k int, c char(120), pad char(60))"
fill.rows = 20_000
fill.columns.id = ":row"
fill.columns.k = ":row"
fill.columns.c = { pattern = "c ##########", type = "text" }
fill.columns.pad = { pattern = "pad ##########", type = "text" }
fill.after.postgres = ["ALTER TABLE {t} ADD PRIMARY KEY (id)", "VACUUM ANALYZE {t}"]
"""
STEP = """
[[steps]]
name = "{name}"
driver = "sysbench"
sysbench = {{ {sysbench} }}
seconds = 2
warmup_s = 1
writes = false
headline = {{ metric = "qps", role = "sysbench", count = "operations" }}
roles.sysbench = {{ per = "step", connections = 4 }}
"""
PLAN = """
name = "beside"
base = "plain"
[arms.plain]
base_dir = "{base_dir}"
[arms.slow]
base_dir = "{base_dir}"
settings = {{ enable_indexscan = "off", enable_bitmapscan = "off" }}
[server]
data_dir = "{data}"
[schedule]
blocks = 1
interleave = "{interleave}"
[schedule.void]
foreign = 1
[[workloads]]
name = "./mine.toml"
"""
TWO_TABLES = 'options = ["--tables=2", "--table_size=1000"]'


@pytest.fixture(scope="module")
def base_dir() -> Path:
    """The folder of PostgreSQL 17, or the newest."""
    (found,) = [path for path in builds() if path.name.startswith("17")] or builds()[-1:]
    return found


@pytest.fixture
def server(base_dir: Path, place: Place) -> Iterator[Server]:
    """A server with two tables of sysbench's that dyno's own workload has filled."""
    arm = Arm(name="repone", engine="postgres", base_dir=base_dir, settings={"fsync": "off"})
    with started(arm, place) as running:
        filled(running)
        yield running


def filled(server: Server) -> None:
    server.create_database("sbtest")
    given = {"tables": 2, "table_size": 1000}
    for step in workload.expand(workload.load("sysbench-oltp"), given, server.engine):
        if step.name == "fill":
            server.execute(*step.setup)
            load(server, step)
            return
    raise AssertionError("the workload has no fill")


def measured(server: Server, folder: Path, sysbench: str) -> list[Json]:
    """The events of a step of 2 s."""
    (folder / "mine.toml").write_text(STEP.format(name="mine", sysbench=sysbench))
    loaded = workload.load("./mine.toml", folder / "plan.toml")
    (step,) = workload.expand(loaded, {}, server.engine)
    bench = measurement.Bench(
        server=server, sampler=no_sampler, arm="one", block=1, seed=7, switch=None, threads=2
    )
    makes = driver.of(step)
    makes.check(step, None, None)  # type: ignore[arg-type] # the plan is not asked
    events: list[Json] = []
    with Run(makes.prepare(step, bench), lambda text: None, cpus=None) as running:
        for event in running.events():
            events.append(event)
            if event["event"] == "ready":
                running.go()
            elif event["event"] == "window_close":
                running.stop()
    return events


def agrees(events: list[Json], operation: str) -> None:
    """What a run tells fits together: seconds, totals, its histogram and what it cost."""
    done = events[-1]
    assert done["status"] == "ok", done["reason"]
    ticks = [event for event in events if event["event"] == "tick"]
    assert ticks[-1]["measured"]
    ended = sum(tick["per_client"][0][0] for tick in ticks if tick["measured"])
    assert ended == done["report"]["events"] == done["totals"]["sysbench"]["count"] > 20
    times = done["window"]["sysbench"][operation]
    (found,) = Histogram.of_each([[times["response"]]])
    # Counts, times and histogram are not taken at one moment as the warm-up ends.
    assert found.count == pytest.approx(ended, rel=0.5)
    report = done["report"]
    median_ms = found.percentile_us(0.5) / 1e3
    assert 0.9 * report["latency_min_ms"] <= median_ms <= 1.1 * report["latency_max_ms"]
    (close,) = [event for event in events if event["event"] == "window_close"]
    assert close["active_ns"] > 1.9e9
    assert len(done["threads"]) >= 4


def test_it_runs_on_tables_that_dyno_filled_and_its_sessions_are_known(
    server: Server, tmp_path: Path
) -> None:
    before = committed(server)
    events = measured(server, tmp_path, 'script = "oltp_read_write", ' + TWO_TABLES)
    agrees(events, "oltp_read_write")
    warm = events[-1]["totals"]["sysbench"]["count"]
    assert committed(server) - before >= warm
    pids = [event["server_pid"] for event in events if event["event"] == "connected"]
    assert len(set(pids)) == 4
    names = [event["event"] for event in events]
    assert names.index("connected") < names.index("ready") < names.index("window_open")
    report = events[-1]["report"]
    assert report["queries"] == report["reads"] + report["writes"] + report["others"]
    # An event of each client that lies across the end of the warm-up has queries on both sides.
    assert report["queries"] >= 20 * (report["events"] - 4)


def committed(server: Server) -> int:
    sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'sbtest'"
    ((count,),) = server.execute("SELECT pg_sleep(1.1)", sql)
    return int(count)


def test_it_runs_on_mysql_and_mariadb_where_sessions_have_no_process(
    mysql_server: Server, tmp_path: Path
) -> None:
    filled(mysql_server)
    events = measured(mysql_server, tmp_path, 'script = "oltp_point_select", ' + TWO_TABLES)
    agrees(events, "oltp_point_select")
    assert "connected" not in [event["event"] for event in events]


@pytest.mark.parametrize(
    ("script", "options", "words"),
    [
        ("function event() error('no more') end", "", "function failed: .*no more"),
        (
            "function thread_init() sysbench.sql.driver():connect():query('SELECT nothing') end"
            "\nfunction event() end",
            "",
            'does not exist|"nothing"',
        ),
        ("require('oltp_common') function event() end", "--tabels=2", "nvalid option: --tabels"),
        ("function event(", "", "mine.lua"),
    ],
)
def test_what_ends_a_thread_or_a_start_fails_the_step_in_its_words(
    server: Server, tmp_path: Path, script: str, options: str, words: str
) -> None:
    (tmp_path / "mine.lua").write_text(script + "\n")
    text = f'script = "mine.lua", options = [{options and repr(options)}]'
    done = measured(server, tmp_path, text)[-1]
    assert done["status"] == "failed"
    assert done["reason"].startswith("`sysbench`")
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(done["reason"])


@pytest.mark.parametrize("interleave", ["run", "step"])
def test_two_arms_are_measured_and_judged_by_rate_and_cpu(
    tmp_path: Path, base_dir: Path, interleave: str
) -> None:
    step = STEP.format(
        name="points", sysbench='script = "oltp_point_select", options = ["--table_size=20000"]'
    )
    (tmp_path / "mine.toml").write_text(TABLES + step)
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    text = PLAN.format(base_dir=base_dir, data=data, interleave=interleave)
    (tmp_path / "plan.toml").write_text(text)
    try:
        ended = subprocess.run(
            own_lab.command("run", tmp_path / "plan.toml", "--out", tmp_path),
            capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
    finally:
        shutil.rmtree(data, ignore_errors=True)
    assert ended.returncode == 0, ended.stderr
    (plain, slow) = sorted(
        Results.open(tmp_path / "beside").blocks()[0].runs(), key=lambda run: run.arm
    )
    run = assemble.step_run(plain.steps()[-1])
    assert run.ending.status == "ok", run.ending.reason
    for name in ("qps", "response_p99_us", "cpu_per_op", "generator_cpu_per_op"):
        assert run.metrics[name], name
    assert run.metrics["connections_cpu_per_op"] is None, "its sessions are known"
    (untold,) = [one for one in run.warnings if one.startswith("not reported by `sysbench`: ")]
    assert untold.removeprefix("not reported by `sysbench`: ").startswith(
        "response times of each second and rows; figures"
    )
    assert len(run.series["query.rate"].y) == 2
    comparison = compare.load(tmp_path / "beside")
    (step_found,) = [one for one in comparison.steps if one.step == "points"]
    cell = next(cell for cell in step_found.cells if cell.arm == "slow")
    assert cell.ratios["cpu_per_op"].value > 2
    assert cell.ratios["qps"].value < 0.5
    assert slow.steps()
