"""sysbench as the load: its words are read by key, its seconds add up, its rough ends are told."""

from pathlib import Path

import pytest
from msgspec import structs

import fake_sysbench
import step_load
from dbdyno import workload
from dbdyno.host import process
from dbdyno.model import Address, Json, Password, Step
from dbdyno.model.error import GeneratorError, PlanError, WorkloadError
from dbdyno.run.driver import registry, sysbench
from dbdyno.run.driver.interface import GeneratorDied, RunningLoad
from dbdyno.run.driver.sysbench import report, run, script
from dbdyno.stats.response_times import Histogram
from step_load import Then
from workload_reader import job_of

# --- What it prints ---------------------------------------------------------------------------

REPORT = """SQL statistics:
    queries performed:
        read:                            1400
        write:                           400
        other:                           200
        total:                           2000
    transactions:                        100    (49.93 per sec.)
    queries:                             2000   (998.60 per sec.)
    ignored errors:                      7      (3.50 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0021s
    total number of events:              100

Latency (ms):
         min:                                    5.02
         avg:                                   19.99
         max:                                   63.10
         95th percentile:                       36.24
         sum:                                 1999.33

Threads fairness:
    events (avg/stddev):           50.0000/1.00
    execution time (avg/stddev):   0.9997/0.00
"""


def test_the_report_is_read_by_key() -> None:
    found = report.parse(REPORT.splitlines())
    assert found is not None
    assert (found.events, found.queries, found.errors, found.reconnects) == (100, 2000, 7, 0)
    assert (found.reads, found.writes, found.others) == (1400, 400, 200)
    assert (found.latency_min_ms, found.latency_ms, found.latency_max_ms) == (5.02, 19.99, 63.1)
    assert (found.percentile, found.latency_percentile_ms, found.latency_sum_ms) == (
        *(95, 36.24),
        1999.33,
    )
    assert (found.thread_events_avg, found.thread_events_stddev) == (50, 1)
    assert (found.thread_seconds_avg, found.thread_seconds_stddev) == (0.9997, 0)


def test_what_a_script_without_a_database_leaves_out_is_null_and_no_report_is_none() -> None:
    found = report.parse(REPORT[REPORT.index("General") :].splitlines())
    assert found is not None
    assert (found.events, found.queries, found.errors, found.reads) == (100, None, None, None)
    assert report.parse(["FATAL: no such table"]) is None


def test_the_histogram_s_middles_are_counted_in_the_contract_s_cells() -> None:
    line = "{:12.3f} |{:<40} {}"
    text = [line.format(0.001, "*", 2), line.format(1.503, "**", 5), line.format(99999.999, "", 1)]
    encoded = report.histogram(["", *text, " "])
    assert encoded is not None
    (found,) = Histogram.of_each([[encoded]])
    assert found.count == 8
    assert found.percentile_us(0.25) == 1
    assert found.percentile_us(0.5) == pytest.approx(1503, rel=1e-3)
    assert found.percentile_us(1) == pytest.approx(99_999_999, rel=1e-3)
    assert report.histogram(["no histogram"]) is None


def test_versions_are_told() -> None:
    assert report.version("sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)") == "1.0.20"
    assert report.version("sysbench 0.5") is None


# --- What a workload file may say -------------------------------------------------------------

FILE = """
[[steps]]
name = "mine"
driver = "sysbench"
sysbench = {{ {sysbench} }}
{seconds}
headline = {{ metric = "qps", role = "sysbench", count = "{count}" }}
roles.sysbench = {{ connections = 3 }}
"""


def expanded(
    folder: Path,
    sysbench: str,
    *,
    seconds: str = "seconds = 5\nwarmup_s = 2",
    count: str = "operations",
    engine: str = "postgres",
) -> Step:
    path = folder / "mine.toml"
    path.write_text(FILE.format(sysbench=sysbench, seconds=seconds, count=count))
    (step,) = workload.expand(workload.load("./mine.toml", folder / "plan.toml"), {}, engine)
    return step


POSTGRES = Address(host="/tmp", port=5432, user="postgres", database="postgres")
POINTS = 'script = "oltp_point_select"'


def test_a_step_s_script_and_options_are_on_its_command_line(tmp_path: Path) -> None:
    step = expanded(tmp_path, POINTS + ', options = ["--tables=2", "--table_size={10*100}"]')
    assert job_of(step)["limit_s"] == 607
    assert sysbench.words(step.job, POSTGRES, 41) == [
        *("--threads=3", "--time=7", "--events=0", "--report-interval=1", "--histogram=on"),
        *("--rand-seed=42", "--report-checkpoints=2", "--db-driver=pgsql", "--pgsql-host=/tmp"),
        *("--pgsql-port=5432", "--pgsql-user=postgres", "--pgsql-db=postgres"),
        *("--tables=2", "--table_size=1000", "oltp_point_select", "run"),
    ]
    mysql = expanded(tmp_path, POINTS, engine="mariadb", seconds="seconds = 5")
    place = Address(host=str(tmp_path / "its.sock"), port=0, user="root", database="d")
    assert sysbench.words(mysql.job, place, 2**31)[5:] == [
        *("--rand-seed=2", "--db-driver=mysql", f"--mysql-socket={tmp_path}/its.sock"),
        *("--mysql-user=root", "--mysql-db=d", "oltp_point_select", "run"),
    ]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ('script = ""', r"key `steps\[1\].sysbench.script`: names no script; write script = "),
        ("", r"sysbench"),
        (POINTS + ', options = ["--threads=4"]', "`--threads` is set by dyno; use the role's"),
        (POINTS + ', options = ["--report_interval=9"]', "`--report-interval` is set by dyno"),
        (POINTS + ', options = ["--pgsql-host=h"]', "`--pgsql-host` is set by dyno; use the arm"),
        (POINTS + ', options = ["--tx-rate=9"]', "is set by dyno; use `--rate`"),
        (POINTS + ', options = ["tables=2"]', r"options\[1\]`: `tables=2` is not an option; write"),
        (POINTS + ", colour = 3", "unknown key"),
    ],
)
def test_what_a_step_cannot_say_is_refused(tmp_path: Path, told: str, words: str) -> None:
    with pytest.raises(WorkloadError, match=words):
        expanded(tmp_path, told)


def test_its_window_is_of_whole_seconds_and_operations(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"`steps\[1\]\.seconds`: missing: they are the window"):
        expanded(tmp_path, POINTS, seconds="")
    with pytest.raises(WorkloadError, match=r"warmup_s`: sysbench takes whole seconds, not 0\.5"):
        expanded(tmp_path, POINTS, seconds="seconds = 5\nwarmup_s = 0.5")
    with pytest.raises(WorkloadError, match="sysbench tells of operations; write count"):
        expanded(tmp_path, POINTS, count="rows")


# --- What is refused before anything starts ---------------------------------------------------


def refused(step: Step) -> str:
    with pytest.raises(PlanError) as raised:
        registry.of(step).check(step, None, None)  # type: ignore[arg-type] # the plan is not asked
    return str(raised.value)


def test_a_program_or_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    program = ', program = "./none"'
    said = refused(expanded(tmp_path, POINTS + program))
    assert said.endswith(
        "mine.toml: step `mine`: key `sysbench.program`: there is no program `./none`: write its "
        "path relative to the workload file, or install sysbench"
    )
    fake = tmp_path / "sysbench"
    fake.write_text("#!/bin/sh\necho \"FATAL: Cannot find benchmark '$1': no such\"\n")
    fake.chmod(0o755)
    said = refused(expanded(tmp_path, 'script = "oltp_pont", program = "./sysbench"'))
    assert f"key `sysbench.script`: {fake} has no script `oltp_pont`: write the name" in said
    said = refused(expanded(tmp_path, 'script = "mine.lua", program = "./sysbench"'))
    assert "key `sysbench.script`: there is no file `mine.lua`: write its path" in said


def test_an_engine_that_sysbench_does_not_know_is_refused(tmp_path: Path) -> None:
    step = expanded(tmp_path, POINTS, engine="fake")
    assert "key `driver`: sysbench cannot connect to fake" in refused(step)


def test_a_password_stands_on_no_command_line(tmp_path: Path) -> None:
    secret = Address(
        host="db", port=3306, user="u", database="d", password=Password(env="SECRET")
    )  # fmt: skip
    for engine in ("postgres", "mysql"):
        words = sysbench.words(expanded(tmp_path, POINTS, engine=engine).job, secret, 1)
        assert not any("password" in word for word in words)


def test_a_script_that_changes_is_another_load(tmp_path: Path) -> None:
    fake = tmp_path / "sysbench"
    fake.write_text("#!/bin/sh\necho 'sysbench 1.0.20'\n")
    fake.chmod(0o755)
    (tmp_path / "mine.lua").write_text("function event() end\n")
    step = expanded(tmp_path, 'script = "mine.lua", program = "./sysbench"')
    before = sysbench.SysbenchDriver().version(step)
    assert before.startswith("1.0.20, script ")
    (tmp_path / "mine.lua").write_text("function event() return 1 end\n")
    assert sysbench.SysbenchDriver().version(step) != before
    fake.write_text("#!/bin/sh\necho 'sysbench 0.5'\n# older\n")
    with pytest.raises(PlanError, match=r"is not sysbench of version 1\.0 or later"):
        sysbench.SysbenchDriver().version(step)


def test_the_file_that_it_runs_names_the_script() -> None:
    assert 'local load = require\nload("oltp_insert")' in script.text("oltp_insert")
    assert 'local load = dofile\nload("/a \\"b\\"/c.lua")' in script.text(Path('/a "b"/c.lua'))


# --- Its run, and rough ends ------------------------------------------------------------------


def heard(job: Json, then: Then = lambda running, event: None) -> list[Json]:
    """The events of a run whose counters are read at once."""
    return step_load.heard(run.SysbenchRun(job, lambda text: None, cpus=None), then)


def test_a_run_tells_its_window_and_seconds_that_add_up_to_its_report(tmp_path: Path) -> None:
    events = heard(fake_sysbench.job(tmp_path))
    assert [event["event"] for event in events] == [
        *("hello", "ready", "started", "tick", "window_open", "tick", "window_close", "tick"),
        "done",
    ]
    hello, ready, _, warm, opened, first, closed, last, done = events
    assert process.start_ticks(hello["pid"]) is None, "it is the program's, which has ended"
    assert (ready["connections"], ready["threads"]) == (2, 2)
    counts = [(tick["measured"], tick["per_client"]) for tick in (warm, first, last)]
    assert counts == [
        (False, [[95, None, 0, None]]),
        (True, [[101, None, 0, None]]),
        (True, [[62, None, 0, None]]),
    ]
    assert closed["active_ns"] == closed["mono_ns"] - opened["mono_ns"]
    # The threads' own times, from the end of the warm-up on: it printed all that within 0.2 s.
    assert closed["active_ns"] == pytest.approx((3.05 - 0.02 - 1) * 1e9)
    assert first["active_ns"] == 1_000_000_000
    assert first["operations"]["oltp_point_select"]["retries"] == 3
    assert first["operations"]["oltp_point_select"]["response"] is None
    assert done["totals"]["sysbench"] == {"count": 163, "rows": None, "errors": 0, "retries": None}
    times = done["window"]["sysbench"]["oltp_point_select"]
    assert times["max_us"] == 11870
    assert times["service"] == times["response"]
    assert len(done["threads"]) == 1, "the thread of the program that stands in for it"


def test_where_events_wait_for_their_turn_service_is_not_told(tmp_path: Path) -> None:
    done = heard(fake_sysbench.job(tmp_path, options=("--rate=100",)))[-1]
    assert done["window"]["sysbench"]["oltp_point_select"]["service"] is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"begin": "sys.exit(3)"}, "`sysbench` ended with status 3"),
        ({"begin": "sys.exit(0)"}, "`sysbench` ended before its window was over"),
        ({"middle": "sys.exit(0)"}, "`sysbench` ended before its window was over"),
        ({"begin": 'say("FATAL: Connection to database failed: no socket"); time.sleep(60)'},
         "`sysbench`: Connection to database failed: no socket"),
        ({"middle": 'say("FATAL: `thread_run\' function failed: x.lua:3: no"); time.sleep(60)'},
         "`sysbench`: `thread_run' function failed: x.lua:3: no"),
        ({"end": "sys.exit(0)"}, "`sysbench` printed no number of events"),
        ({"status": 1}, "`sysbench` ended with status 1"),
        ({"begin": "time.sleep(60)", "limit_s": 1.0},
         "`sysbench` did not end within 1 s; dyno ended it"),
        ({"middle": "time.sleep(60)", "limit_s": 1.0},
         "`sysbench` did not end within 1 s; dyno ended it"),
    ],
)  # fmt: skip
def test_a_run_that_is_no_measurement_has_failed_with_its_own_words(
    tmp_path: Path, changed: Json, reason: str
) -> None:
    events = heard(fake_sysbench.job(tmp_path, **changed))
    assert (events[-1]["status"], events[-1]["reason"]) == ("failed", reason)


def test_one_that_somebody_kills_has_died_by_no_doing_of_the_arm(tmp_path: Path) -> None:
    with pytest.raises(GeneratorDied, match="`sysbench` was killed by signal 9"):
        heard(fake_sysbench.job(tmp_path, middle="os.kill(os.getpid(), 9)"))


def test_a_stop_in_its_window_ends_it_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))

    def then(running: RunningLoad, event: Json) -> None:
        if event["event"] == "window_open":
            running.stop()

    events = heard(fake_sysbench.job(tmp_path, middle="time.sleep(60)"), then)
    assert (events[-1]["event"], events[-1]["status"]) == ("done", "stopped")
    assert process.start_ticks(events[0]["pid"]) is None
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    job = fake_sysbench.job(tmp_path)
    job = structs.replace(job, command=("./none", "oltp_point_select", "run"))
    with pytest.raises(GeneratorError, match="`sysbench` cannot be started"):
        heard(job)
