"""pgbench as the load: its words and its log are read by key, and its rough ends are told."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

import fake_pgbench
import step_load
from dbdyno import workload
from dbdyno.host import process
from dbdyno.model import Json, Step
from dbdyno.model.error import GeneratorError, PlanError, WorkloadError
from dbdyno.run.driver import pgbench
from dbdyno.run.driver.interface import GeneratorDied, RunningLoad
from dbdyno.run.driver.pgbench import client, report, run
from server_place import within
from step_load import Then
from wire_form import plain
from workload_reader import job_of

# --- What it prints ---------------------------------------------------------------------------

REPORT_15 = """pgbench (15.18 (Debian 15.18-0+deb12u1), server 17.6)
transaction type: <builtin: select only>
scaling factor: 1
query mode: prepared
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 605 s
number of transactions actually processed: 91234
number of failed transactions: 0 (0.000%)
latency average = 0.041 ms
initial connection time = 4.210 ms
tps = 48321.512345 (without initial connection time)
"""
REPORT_13 = """starting vacuum...end.
transaction type: multiple scripts
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 2
duration: 5 s
number of transactions actually processed: 2496
number of transactions skipped: 12 (0.478 %)
number of transactions above the 5.0 ms latency limit: 3/2496 (0.120 %)
latency average = 0.811 ms
latency stddev = 1.302 ms
rate limit schedule lag: avg 0.212 (max 7.004) ms
tps = 498.912281 (including connections establishing)
tps = 499.103377 (excluding connections establishing)
SQL script 1: a.sql
 - weight: 3 (targets 75.0% of total)
 - 1874 transactions (75.1% of total, tps = 374.584)
 - latency average = 0.5 ms
"""
REPORT_16 = """pgbench (16.3)
transaction type: a.sql
partition method: range
partitions: 4
maximum number of tries: 5
number of transactions actually processed: 700
number of failed transactions: 9 (1.269%)
number of serialization failures: 7 (0.987%)
number of deadlock failures: 2 (0.282%)
number of transactions retried: 31 (4.372%)
total number of retries: 44
latency average = 14.3 ms (including failures)
average connection time = 1.9 ms
tps = 70.1 (including reconnection times)
statement latencies in milliseconds, failures and retries:
         0.001           0           0 \\set aid random(1, 10)
"""


def parsed(text: str) -> report.PgbenchReport:
    found = report.parse(text)
    assert found is not None
    return found


def test_a_plain_report_is_read_by_key_and_its_latency_is_said_to_be_derived() -> None:
    found = parsed(REPORT_15)
    assert (found.processed, found.failed, found.tps) == (91234, 0, 48321.512345)
    assert (found.latency_ms, found.latency_derived, found.latency_stddev_ms) == (0.041, True, None)
    assert (found.skipped, found.retries, found.lag_ms, found.connecting_ms) == (
        *(None, None, None),
        4.21,
    )


def test_of_two_rates_before_14_the_one_without_connections_counts_and_parts_do_not() -> None:
    found = parsed(REPORT_13)
    assert (found.processed, found.tps, found.skipped) == (2496, 499.103377, 12)
    assert (found.latency_ms, found.latency_stddev_ms, found.latency_derived) == (
        *(0.811, 1.302),
        False,
    )
    assert (found.lag_ms, found.failed, found.retries) == (0.212, None, None)


def test_retries_failures_and_connections_of_each_transaction_are_read() -> None:
    found = parsed(REPORT_16)
    assert (found.processed, found.failed, found.retries, found.tps) == (700, 9, 44, 70.1)
    assert (found.latency_ms, found.connecting_ms) == (14.3, 1.9)


def test_a_text_without_transactions_is_no_report_and_one_of_none_has_no_rate() -> None:
    assert report.parse("pgbench: error: no such table\n") is None
    assert parsed("number of transactions actually processed: 0\n").tps is None
    assert parsed("number of transactions actually processed: 10/10\n").processed == 10


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", (15, "15.18")),
        ("pgbench (PostgreSQL) 18beta1", (18, "18beta1")),
        ("pgbench (PostgreSQL) 17devel", (17, "17devel")),
        ("pgbench (PostgreSQL) 9.6.24", (9, "9.6.24")),
        ("mysqlslap  Ver 8.0", None),
    ],
)
def test_versions_are_told(said: str, found: tuple[int, str] | None) -> None:
    assert report.version(said) == found


def test_versions_ascend() -> None:
    versions = ["17devel", "18beta1", "10.0", "15.2", "15.18", "17.6", "18.0"]
    assert sorted([*versions[3:], *versions[:3]], key=report.order) == versions


@pytest.mark.parametrize(
    "line",
    [
        "client 0 aborted in command 4 (SQL) of script 0; ERROR:  division by zero",
        "pgbench: error: client 3 script 0 aborted in command 0 query 0: ERROR:  no such thing",
        "pgbench: error: client 1 aborted while establishing connection",
    ],
)
def test_a_client_that_aborted_is_seen_in_every_version_s_words(line: str) -> None:
    assert report.ABORTED.search(line)
    assert report.complaint(["starting", line, "Run was aborted"]) == line


def test_progress_and_a_retried_error_are_no_aborted_client() -> None:
    assert not report.ABORTED.search("progress: 1.0 s, 99.0 tps, lat 1.0 ms stddev 0.1, 0 failed")
    assert not report.ABORTED.search("client 0 got an error in command 3 (SQL) of script 0; ERROR")


# --- What a workload file may say -------------------------------------------------------------

FILE = """
[[steps]]
name = "mine"
driver = "pgbench"
pgbench = {{ {pgbench} }}
{seconds}
headline = {{ metric = "qps", role = "pgbench", count = "{count}" }}
roles.pgbench = {{ connections = 3 }}
"""


def expanded(
    folder: Path,
    pgbench: str,
    *,
    seconds: str = "seconds = 5",
    count: str = "operations",
    engine: str = "postgres",
) -> Step:
    path = folder / "mine.toml"
    path.write_text(FILE.format(pgbench=pgbench, seconds=seconds, count=count))
    (step,) = workload.expand(workload.load("./mine.toml", folder / "plan.toml"), {}, engine)
    return step


def test_a_step_s_scripts_weights_and_options_are_in_its_job(tmp_path: Path) -> None:
    text = 'builtin = ["select-only@9"], scripts = ["a@b.sql@0", "c.sql"], options = ["-R", "500"]'
    step = expanded(tmp_path, text)
    job = job_of(step)
    assert job["pgbench"]["scripts"] == [
        {"name": "select-only", "builtin": True, "weight": 9},
        {"name": "a@b.sql", "builtin": False, "weight": 0},
        {"name": "c.sql", "builtin": False, "weight": 1},
    ]
    assert (job["driver"], job["limit_s"], job["pgbench"]["protocol"]) == ("pgbench", 605, "simple")
    words = pgbench.words(step.job, 15, 2, 2**40 + 7)
    assert (
        words[:9] == ["-n", "-l", "--log-prefix=log", "-T", "606", "-c", "3", "-j", "2", "-M"][:9]
    )
    assert words[9:] == [
        *("-M", "simple", "--random-seed=7", "-R", "500", "-b", "select-only@9"),
        *("-f", f"{tmp_path}/a@b.sql@0", "-f", f"{tmp_path}/c.sql@1"),
    ]
    assert "--random-seed=7" not in pgbench.words(step.job, 10, 2, 7)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("", "key `steps[1].pgbench`: has no script; write builtin = "),
        ('builtin = ["tpcb"]', "key `steps[1].pgbench.builtin[1]`: no builtin `tpcb`"),
        ('scripts = ["a.sql@x"]', "`a.sql@x` is not a script with a weight"),
        ('builtin = ["select-only", "select-only@2"]', "has `select-only` twice"),
        ('builtin = ["select-only"], options = ["-T", "9"]', "`-T` is set by dyno; use the step"),
        ('builtin = ["select-only"], options = ["--clients=9"]', "no option `--clients`"),
        ('builtin = ["select-only"], options = ["--client=9"]', "`--client` is set by dyno"),
        ('builtin = ["select-only"], options = ["postgres"]', "`postgres` is not an option"),
        ('builtin = ["select-only"], options = ["-R"]', "`-R` has no value"),
        ('builtin = ["select-only"], options = ["-rn"]', "`-r` has no value of its own"),
        ('builtin = ["select-only"], protocol = "execute"', "pgbench.protocol`: must be 'simple',"),
    ],
)
def test_what_pgbench_cannot_be_asked_is_refused_by_its_key(tmp_path: Path, told: str, words: str):
    with pytest.raises(WorkloadError) as found:
        expanded(tmp_path, told)
    assert words in str(found.value)
    assert "mine.toml" in str(found.value)
    assert "\n" not in str(found.value)


def test_a_step_without_seconds_and_a_headline_of_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"key `steps\[1\]\.seconds`: missing"):
        expanded(tmp_path, 'builtin = ["select-only"]', seconds="")
    with pytest.raises(WorkloadError, match=r"key `steps\[1\]\.headline`: pgbench tells of op"):
        expanded(tmp_path, 'builtin = ["select-only"]', count="rows")


def refused(step: Step) -> str:
    """Why a step cannot be carried out here."""
    with pytest.raises(PlanError) as found:
        pgbench.PgbenchDriver().check(step, None, None)  # type: ignore[arg-type] # the plan is not asked
    assert "\n" not in str(found.value)
    assert "mine.toml: step `mine`: key `" in str(found.value)
    return str(found.value)


def test_a_script_or_a_pgbench_that_is_not_there_is_named_with_its_key(tmp_path: Path) -> None:
    assert "there is no file `c.sql`" in refused(expanded(tmp_path, 'scripts = ["c.sql"]'))
    said = refused(expanded(tmp_path, 'builtin = ["select-only"], program = "./none"'))
    assert f"no pgbench of version 10 or later at `{tmp_path}/none`" in said
    said = refused(expanded(tmp_path, 'builtin = ["select-only"], program = "new"'))
    assert '`new` is neither "newest" nor "own" nor a path' in said
    said = refused(expanded(tmp_path, 'builtin = ["select-only"], program = "own"'))
    assert "dyno does not run this server" in said


def test_engines_that_pgbench_does_not_speak_to_are_refused(tmp_path: Path) -> None:
    step = expanded(tmp_path, 'builtin = ["select-only"]', engine="mysql")
    assert "pgbench cannot connect to MySQL" in refused(step)


def test_a_changed_script_is_another_load(tmp_path: Path) -> None:
    fake = tmp_path / "pgbench"
    fake.write_text("#!/bin/sh\necho 'pgbench (PostgreSQL) 16.3'\n")
    fake.chmod(0o755)
    (tmp_path / "c.sql").write_text("SELECT 1;")
    step = expanded(tmp_path, 'scripts = ["c.sql"], program = "./pgbench"')
    before = pgbench.PgbenchDriver().version(step)
    assert before.startswith("16.3, scripts ")
    (tmp_path / "c.sql").write_text("SELECT 2;")
    assert pgbench.PgbenchDriver().version(step) != before


def test_a_build_s_folder_is_a_path_to_its_pgbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "base" / "bin").mkdir(parents=True)
    fake = tmp_path / "base" / "bin" / "pgbench"
    fake.write_text("#!/bin/sh\necho 'pgbench (PostgreSQL) 12.1'\n")
    fake.chmod(0o755)
    step = expanded(tmp_path, 'builtin = ["select-only"], program = "./base"')
    assert client.client(step.job, None) == client.PgbenchClient(
        path=fake, major=12, version="12.1"
    )
    monkeypatch.chdir(fake.parent)
    beside = expanded(Path(), 'builtin = ["select-only"], program = "./pgbench"')
    assert client.client(beside.job, None).version == "12.1", "not that of PATH"
    own = expanded(tmp_path, 'builtin = ["select-only"], program = "own"')
    assert client.client(own.job, tmp_path / "base").version == "12.1"


# --- Its run, and rough ends ------------------------------------------------------------------


def heard(job: Json, then: Then = lambda running, event: None) -> list[Json]:
    """The events of a run whose counters are read at once."""
    return step_load.heard(run.PgbenchRun(job, lambda text: None, cpus=None), then)


def test_a_run_tells_its_window_its_seconds_and_what_pgbench_printed(tmp_path: Path) -> None:
    events = heard(fake_pgbench.job(tmp_path, seconds=1.5))
    names = [event["event"] for event in events]
    ends = ["window_open", "window_close", "tick", "tick", "tick", "done"]
    assert names == ["hello", "ready", "started", *ends]
    hello, *_, opened, closed, first, second, after, done = events
    assert process.start_ticks(hello["pid"]) is None, "it is the program's, which has ended"
    assert closed["mono_ns"] - opened["mono_ns"] == closed["active_ns"] == 1_500_000_000
    assert 80 <= first["per_client"][0][0] + first["per_client"][1][0] <= 100
    assert (second["active_ns"], after["active_ns"]) == (500_000_000, 0)
    assert done["status"] == "ok"
    assert done["report"]["tps"] == 99.5
    assert done["totals"]["pgbench"]["count"] == done["report"]["processed"]
    assert done["totals"]["pgbench"]["rows"] is None
    assert 0 < done["threads"][0]["busy_share"] < 0.9
    assert (first["late_us_max"], first.get("cpu_us"), first.get("lag")) == (None, None, None)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"each": 'count > 20 and sys.exit("pgbench: error: no such table")', "seconds": 60},
         "`pgbench` ended with status 1: pgbench: error: no such table"),
        ({"each": "count > 20 and os._exit(0)", "seconds": 60},
         "`pgbench` ended before its window was over"),
        ({"end": "pass"}, "`pgbench` printed no number of transactions"),
        ({"status": 2}, "`pgbench` ended with status 2"),
        ({"end": "return", "limit_s": 1.0}, "`pgbench` did not end within 1 s; dyno ended it"),
        ({"each": 'count == 9 and print("client 1 aborted in command 0 (SQL)", file=sys.stderr)',
          "seconds": 60},
         "a client of `pgbench` ended early: client 1 aborted in command 0 (SQL)"),
    ],
)  # fmt: skip
def test_a_run_that_is_no_measurement_has_failed_with_pgbench_s_own_words(
    tmp_path: Path, changed: Json, reason: str
) -> None:
    events = heard(fake_pgbench.job(tmp_path, **changed))
    assert (events[-1]["status"], events[-1]["reason"]) == ("failed", reason)
    assert "tick" not in [event["event"] for event in events]


def test_a_log_that_lacks_transactions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        GeneratorError, match=r"has [\d,]+ transactions and its report [\d,]+: check"
    ):
        heard(fake_pgbench.job(tmp_path, end="count += 1; report()"))


def test_one_that_somebody_kills_has_died_by_no_doing_of_the_arm(tmp_path: Path) -> None:
    with pytest.raises(GeneratorDied, match="`pgbench` was killed by signal 9"):
        heard(fake_pgbench.job(tmp_path, each="count > 9 and os.kill(os.getpid(), 9)"))


def test_a_stop_in_its_window_ends_it_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))

    def then(running: RunningLoad, event: Json) -> None:
        if event["event"] == "window_open":
            assert list((tmp_path / "tmp").glob("dyno-pgbench-*/log.*"))
            running.stop()

    events = heard(fake_pgbench.job(tmp_path, seconds=60), then)
    assert (events[-1]["event"], events[-1]["status"]) == ("done", "stopped")
    assert process.start_ticks(events[0]["pid"]) is None
    assert list((tmp_path / "tmp").iterdir()) == []


def test_one_that_never_goes_leaves_nothing(tmp_path: Path) -> None:
    with run.PgbenchRun(fake_pgbench.job(tmp_path), lambda text: None, cpus=None) as running:
        events = map(plain, running.events())
        pid = next(events)["pid"]
        assert process.start_ticks(pid) is not None
    assert process.start_ticks(pid) is None


KILLED = """
import msgspec, sys
from dbdyno.model.job import Job
from dbdyno.run.driver.pgbench import run
job = msgspec.json.decode(sys.argv[1], type=Job)
with run.PgbenchRun(job, lambda line: None, cpus=None) as running:
    for event in running.events():
        if event.name == "ready":
            running.go()
        print(getattr(event, "pid", ""), flush=True)
"""


@pytest.mark.long
def test_neither_it_nor_its_log_outlives_a_dyno_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    job = fake_pgbench.job(tmp_path, seconds=60)
    dyno = subprocess.Popen(
        [sys.executable, "-c", KILLED, msgspec.json.encode(job).decode()],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert dyno.stdout is not None
    pid = int(dyno.stdout.readline())
    assert within(60, lambda: list((tmp_path / "tmp").glob("*/log.*")))
    dyno.kill()
    dyno.wait()
    dyno.stdout.close()
    assert within(60, lambda: process.start_ticks(pid) is None)
    assert within(60, lambda: not list((tmp_path / "tmp").iterdir()))


def test_before_14_a_clock_that_was_set_in_the_window_is_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = iter([0, 0, 8_000_000, 0, 0, 8_000_000])
    monkeypatch.setattr(run, "unix_minus_mono_ns", lambda: next(clocks))
    assert heard(fake_pgbench.job(tmp_path, major=14))[-1]["status"] == "ok"
    reason = heard(fake_pgbench.job(tmp_path, major=13))[-1]["reason"]
    assert "clock was changed by +8 ms in the window, and `pgbench` 13.3 stamps its log" in reason


def test_a_program_that_cannot_be_started_is_told_by_its_end(tmp_path: Path) -> None:
    job = structs.replace(fake_pgbench.job(tmp_path), command=(str(tmp_path / "none"),))
    reason = heard(job)[-1]["reason"]
    assert reason.startswith("`pgbench` ended with status 127: ")
