"""pgbench itself on a real server: its report, its log read by hand, and what dyno makes of it."""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbdyno.engine import Server
from dbdyno.model import Arm, Json
from dbdyno.run.driver import registry
from dbdyno.run.driver.interface import RunningLoad
from dbdyno.run.driver.pgbench import client
from dbdyno.stats.response_times import Histogram
from doubted import doubted
from server_place import a_place, builds, started
from step_load import bench, heard, only_step
from two_arms import of_17, two_arms

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        client.newest() is None, reason="no pgbench here: `apt-get install postgresql`"
    ),
]

TABLES = """
[[steps]]
name = "tables"
setup = [
  "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers",
  "CREATE TABLE pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp)",
  "CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84))",
  "CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84))",
  "CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88))",
  "INSERT INTO pgbench_branches SELECT n, 0 FROM generate_series(1, 2) n",
  "INSERT INTO pgbench_tellers SELECT n, (n - 1) / 10 + 1, 0 FROM generate_series(1, 20) n",
  "INSERT INTO pgbench_accounts SELECT n, n / 100001 + 1, 0, '' FROM generate_series(1, 200000) n",
  "VACUUM ANALYZE",
]
measured = false
parts = [{ once = "SELECT 1" }]
"""
STEP = """
[[steps]]
name = "{name}"
driver = "pgbench"
pgbench = {{ {pgbench} }}
seconds = {seconds}
warmup_s = 0.5
headline = {{ metric = "qps", role = "pgbench", count = "operations" }}
roles.pgbench = {{ per = "step", connections = 4 }}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of PostgreSQL 17, or the newest, with pgbench's tables at scale 2."""
    arm = Arm(name="repone", engine="postgres", base_dir=of_17(), settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as running:
        running.create_database("pgbench")
        running.execute(*re.findall(r'^  "(.*)",$', TABLES, re.M))
        yield running


def measured(
    server: Server,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    pgbench: str,
    then: Callable[[Json], None] = lambda event: None,
) -> tuple[list[Json], list[list[str]]]:
    """The events of a step of 2 s, and the words of all lines of its log."""
    (folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    step = only_step(folder, STEP.format(name="mine", pgbench=pgbench, seconds=2))
    makes = registry.of(step)
    lines: list[list[str]] = []
    job = makes.prepare(step, bench(server, threads=2))
    assert "--random-seed=7" in job.command

    def look(_: RunningLoad, event: Json) -> None:
        then(event)
        if event["event"] == "done":
            files = sorted((folder / "tmp").glob("dyno-pgbench-*/log.*"))
            lines.extend(one.split() for file in files for one in file.read_text().splitlines())

    events = heard(makes.start(job, lambda _: None, None), look)
    assert events[-1]["status"] == "ok", events[-1]["reason"]
    return events, lines


def ends_us(line: list[str]) -> int:
    return int(line[4]) * 1_000_000 + int(line[5])


@pytest.mark.parametrize("script", ["select-only", "tpcb-like"])
def test_rate_and_percentiles_are_those_of_the_log_by_hand_and_of_pgbench_s_report(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    events, lines = measured(
        server, tmp_path, monkeypatch, f'builtin = ["{script}"], protocol = "prepared"'
    )
    done = events[-1]
    printed = done["report"]
    assert printed["processed"] == len(lines) == done["totals"]["pgbench"]["count"]
    took_us = max(map(ends_us, lines)) - min(ends_us(one) - int(one[2]) for one in lines)
    assert len(lines) * 1e6 / took_us == pytest.approx(printed["tps"], rel=0.05)
    assert printed["latency_derived"] is True
    # The window: what began in it, by the wall clock.
    (started_at,) = [event for event in events if event["event"] == "started"]
    (opened,) = [event for event in events if event["event"] == "window_open"]
    ahead_ns = started_at["unix_ns"] - started_at["mono_ns"]
    open_us = (opened["mono_ns"] + ahead_ns) // 1_000
    begun = ((ends_us(one) - int(one[2]) - open_us, int(one[2])) for one in lines)
    within = sorted(time_us for begun_us, time_us in begun if 0 <= begun_us < 2_000_000)
    ticks = [event for event in events if event["event"] == "tick"]
    counted = sum(tick["operations"][script]["count"] for tick in ticks)
    assert counted == pytest.approx(len(within), abs=3), "of transactions at the two ends"
    outside = len(lines) - len(within)
    assert counted + outside == pytest.approx(printed["processed"], abs=3)
    whole = Histogram()
    for tick in ticks:
        part = tick["operations"][script]
        whole.add(part["response"], part["max_us"])
    for quantile in (0.5, 0.9, 0.99):
        by_hand = within[math.ceil(quantile * len(within)) - 1]
        assert whole.percentile_us(quantile) == pytest.approx(by_hand, rel=0.002, abs=1)


def test_its_sessions_are_told_and_are_pgbench_s_own(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, _ = measured(server, tmp_path, monkeypatch, 'builtin = ["select-only"]')
    told = [event["server_pid"] for event in events if event["event"] == "connected"]
    assert len(set(told)) == 4
    names = [event["event"] for event in events]
    assert names[3:8] == [*["connected"] * 4, "window_open"]
    ((left,),) = server.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name ~ 'dyno-p'"
    )
    assert left == 0, "and are gone afterwards"


def test_a_rate_with_a_limit_tells_lateness_service_and_what_was_skipped(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.sql").write_text("SELECT pg_sleep(0.01);\n")
    (tmp_path / "fast.sql").write_text("SELECT 1;\n")
    text = 'scripts = ["slow.sql@1", "fast.sql@1"], options = ["-R", "1000", "-L", "15"]'
    events, lines = measured(server, tmp_path, monkeypatch, text)
    done = events[-1]
    skipped = [one for one in lines if one[2] == "skipped"]
    assert done["report"]["skipped"] == len(skipped) > 0
    totals = done["totals"]["pgbench"]
    assert (totals["errors"], totals["skipped"]) == (0, len(skipped))
    ticks = [event for event in events if event["event"] == "tick"]
    assert max(tick["late_us_max"] for tick in ticks) > 10_000
    slow = ticks[0]["operations"]["slow.sql"]
    service, response = Histogram(), Histogram()
    service.add(slow["service"])
    response.add(slow["response"])
    assert 10_000 <= service.percentile_us(0.5) < response.percentile_us(0.5)


def test_a_connection_for_each_transaction_has_no_sessions_to_tell(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'builtin = ["select-only"], options = ["--connect"]'
    events, lines = measured(server, tmp_path, monkeypatch, text)
    assert "connected" not in [event["event"] for event in events]
    assert events[-1]["report"]["connecting_ms"] > 0
    assert len(lines) > 20


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("SELECT 1 / 0;", r"a client of `pgbench` ended early: .*division by zero"),
        ("\\set n random(1,\nSELECT 1;", r"`pgbench` ended with status 1: .*error"),
        (
            "SELECT nothing FROM nowhere;",
            r"a client of `pgbench` ended early: .*aborted in command",
        ),
    ],
)
def test_a_script_that_fails_is_told_in_pgbench_s_words(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    (tmp_path / "wrong.sql").write_text(script + "\n")
    with pytest.raises(AssertionError, match=words):
        measured(server, tmp_path, monkeypatch, 'scripts = ["wrong.sql"]')


def test_a_session_that_is_ended_in_the_window_fails_the_step(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(event: Json) -> None:
        if event["event"] == "window_open":
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name ~ 'dyno-pgbench' LIMIT 1"
            )

    with pytest.raises(AssertionError, match=r"a client of `pgbench` ended early: .*aborted"):
        measured(server, tmp_path, monkeypatch, 'builtin = ["select-only"]', kill)


def with_pgbench() -> Path:
    """The folder of a build that has its own pgbench; skips where there is none."""
    found = [path for path in builds() if client.in_build(path).is_file()]
    if not found:
        pytest.skip("no build here has a pgbench: `apt-get install postgresql`")
    return found[-1]


@pytest.mark.parametrize(("interleave", "program"), [("run", "own"), ("step", "newest")])
def test_two_arms_are_measured_and_judged_by_rate_and_cpu(
    tmp_path: Path, interleave: str, program: str
) -> None:
    steps = STEP.format(
        name="select-only", pgbench=f'builtin = ["select-only"], program = "{program}"', seconds=2
    )
    read = steps.replace("warmup_s", "writes = false\nwarmup_s")
    base_dir = with_pgbench() if program == client.OWN else of_17()
    outcome = two_arms(tmp_path, TABLES + read, base_dir, f'interleave = "{interleave}"')
    plain = outcome.slow_is_seen("select-only")
    own = [text for text in doubted(plain) if text.startswith("two programs compared: ")]
    assert len(own) == (program == client.OWN)
    assert not any("which sessions" in text or "what it costs" in text for text in doubted(plain))
