"""sysbench itself on real servers, on tables that dyno has filled, and what dyno makes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import arms
from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Arm, Json
from dbdyno.run.driver import registry
from dbdyno.stats.response_times import Histogram
from doubted import doubted
from server_place import a_place, started
from step_load import events, load, only_step
from two_arms import of_17, two_arms

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        arms.sysbench_program() is None, reason="no sysbench here: `apt-get install sysbench`"
    ),
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
TWO_TABLES = 'options = ["--tables=2", "--table_size=1000"]'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of PostgreSQL 17, or the newest, with two tables of sysbench's that dyno's own
    workload has filled."""
    arm = Arm(name="repone", engine="postgres", base_dir=of_17(), settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as running:
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
    step = only_step(folder, STEP.format(name="mine", sysbench=sysbench), server.engine)
    registry.of(step).check(step, None, None)  # type: ignore[arg-type] # the plan is not asked
    return events(server, step, threads=2)


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
def test_two_arms_are_measured_and_judged_by_rate_and_cpu(tmp_path: Path, interleave: str) -> None:
    step = STEP.format(
        name="points", sysbench='script = "oltp_point_select", options = ["--table_size=20000"]'
    )
    outcome = two_arms(tmp_path, TABLES + step, of_17(), f'interleave = "{interleave}"')
    plain = outcome.slow_is_seen("points")
    (untold,) = [text for text in doubted(plain) if text.startswith("not reported: ")]
    assert untold.startswith(
        "not reported: response times of each second and rows by `sysbench`; figures"
    )
