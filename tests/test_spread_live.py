"""A real server's load from two generators: statements, starts, rates, turns, costs."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno import plan, workload
from dbdyno.analysis import compare
from dbdyno.engine import Server
from dbdyno.engine.interface import HostSampler
from dbdyno.model import Arm, Json
from dbdyno.model.events import parse
from dbdyno.model.job import Job
from dbdyno.run import blocks
from dbdyno.run.driver import registry
from dbdyno.run.driver.interface import Bench
from dbdyno.run.driver.spread import SpreadLoad
from dbdyno.store import Results
from run_builder import owners
from server_place import a_place, ends, started
from spread_seats import seat, shared_by
from wire_form import plain

pytestmark = pytest.mark.live

DATABASE = "ib"
WORKLOAD = """
[parameters]
clients = 3
seconds = 3
[tables.t]
create.any = "CREATE TABLE {t} (number int, word text)"
[values]
number = { uniform = [1, 1_000_000] }
word = { pattern = "@@##" }
[statements]
write = { protocol = "prepared", any = "INSERT INTO {t} VALUES (:number, :word)" }
read = { protocol = "prepared", any = "SELECT :number + 1" }

[[steps]]
name = "write"
creates = ["t"]
headline = { metric = "seconds", role = "write", count = "operations" }
roles.write = { run = "write", connections = 2, stop = { operations = 100 } }
roles.others = { run = "write", per = "step", connections = 5, stop = { operations = 101 } }

[[steps]]
name = "read"
seconds = "{seconds}"
writes = false
headline = { metric = "qps", role = "read", count = "operations" }
roles.read = { run = "read", connections = 2 }
roles.paced = { run = "read", per = "step", connections = 6, pace = { per_s = 500 } }
"""
PLAN = """
name = "shared"
{arms}
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "./w.toml"
steps = ["read"]
[schedule]
{schedule}
"""
SLACK = 0.002
"""Of a rate: what a busy machine may leave over at a window's end."""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-shared-{os.getpid()}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def no_sampler(_: Path) -> HostSampler:
    raise AssertionError


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The newest server that is here."""
    arm = Arm(name="s", engine="postgres", base_dir=ends()[-1], settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as made:
        made.create_database(DATABASE)
        yield made


def job_of(server: Server, folder: Path, name: str) -> Job:
    """The job of a step, whose tables are made anew."""
    (folder / "w.toml").write_text(WORKLOAD)
    loaded = workload.load(str(folder / "w.toml"))
    (step,) = [one for one in workload.expand(loaded, {}, "postgres") if one.name == name]
    server.execute("DROP TABLE IF EXISTS t1", *step.setup, database=DATABASE)
    bench = Bench(
        server=server, sampler=no_sampler, arm="s", block=1, seed=7, switch=None, threads=2
    )
    return registry.of(step).prepare(step, bench)


def run(job: Job, seats: int, pause_at: int | None = None) -> list[Json]:
    """The events of a job on so many seats, with a pause when this tick has come."""
    found = []
    with SpreadLoad(job, [seat(f"c{n}") for n in range(seats)], lambda _: None) as spread:
        for event in map(plain, spread.events()):
            found.append(event)
            if event["event"] == "ready":
                spread.go()
            elif event["event"] == "tick" and event["tick"] == pause_at:
                spread.pause()
            elif event["event"] == "paused":
                spread.resume()
            elif event["event"] == "window_close":
                spread.stop()
    assert found[-1]["status"] == "ok", found[-1]["reason"]
    return found


def test_the_same_is_sent_by_one_two_and_three_generators(server: Server, tmp_path: Path) -> None:
    written = []
    for seats in (1, 2, 3):
        run(job_of(server, tmp_path, "write"), seats)
        rows = server.execute("SELECT number, word FROM t1 ORDER BY 1, 2", database=DATABASE)
        written.append(rows)
    assert len(written[0]) == 3 * 100 + 101
    assert written == [written[0]] * 3


def test_all_are_quiet_in_a_pause(server: Server, tmp_path: Path) -> None:
    job = job_of(server, tmp_path, "read")
    job = structs.replace(
        job,
        trace=True,
        roles=tuple(role for role in job.roles if role.name == "paced"),
        stop=structs.replace(job.stop, seconds=2.0),
    )
    found = run(job, 2, pause_at=1)
    times = {event["event"]: event["mono_ns"] for event in found}
    traced = [event for event in found if event["event"] == "operation"]
    between = [
        event
        for event in traced
        if times["paused"] < event["end_ns"] and event["start_ns"] < times["resumed"]
    ]
    # A generator goes on when it hears of it; the last one's moment is told.
    assert all(times["resumed"] - event["start_ns"] < 500_000_000 for event in between)
    (closed,) = [event for event in found if event["event"] == "window_close"]
    assert closed["active_ns"] == 2_000_000_000
    assert len(traced) == pytest.approx(2.2 * 500, rel=0.1), "also of what settles"


def taken(folder: Path, data: Path, schedule: str, arms: Sequence[str]) -> Path:
    """The result of the plan on the newest server."""
    (folder / "w.toml").write_text(WORKLOAD)
    written = "".join(f'[arms.{name}]\nbase_dir = "{ends()[-1]}"\n' for name in arms)
    text = PLAN.format(arms=written, data=data, schedule=schedule)
    outcome = blocks.run(plan.parse(text, folder / "plan.toml"), folder, wait=True)
    assert outcome.failed == 0
    return outcome.folder


@pytest.mark.soak
def test_a_step_of_two_generators_is_measured_and_judged_as_of_one(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw: dict[str, list[str]] = {}
    seats = [seat("c1", offset_ns=10**12, lines=raw), seat("c2", offset_ns=10**13, lines=raw)]
    shared_by(seats, monkeypatch)
    folder = taken(tmp_path, data, "", ["one"])
    (read,) = [step for step in compare.load(folder).steps if step.step == "read"]
    run = read.cells[0].runs[0]
    ticks = [event for lines in raw.values() for event in map(parse, lines) if is_counted(event)]
    reads = sum(row[0] for tick in ticks if tick["role"] == "read" for row in tick["per_client"])
    assert run.metrics["qps"] == pytest.approx(reads / 3), "the sum of both"
    paced = sum(row[0] for tick in ticks if tick["role"] == "paced" for row in tick["per_client"])
    assert paced == pytest.approx(3 * 500, rel=SLACK)
    assert {tick["late_us_max"] for tick in ticks} != {0}
    costs = owners(run)
    assert costs["role:read"].cpu_us > costs["role:paced"].cpu_us > 0
    assert "generator" not in costs
    (step,) = [
        step
        for block in Results.open(folder).blocks()
        for run in block.runs()
        for step in run.steps()
        if step.name == "read"
    ]
    *_, done = map(plain, step.events())
    assert {thread["host"] for thread in done["threads"]} == {"c1", "c2"}


def is_counted(event: Json) -> bool:
    """Whether it is a tick of the window of the step of reads."""
    return event["event"] == "tick" and event["measured"] and event["role"] != "write"


@pytest.mark.soak
def test_two_generators_take_turns_with_the_other_arm(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_by([seat("c1"), seat("c2", offset_ns=10**12)], monkeypatch)
    turns = 'interleave = "turn"\nturn_s = 0.7'
    folder = taken(tmp_path, data, turns, ["one", "two"])
    (read,) = [step for step in compare.load(folder).steps if step.step == "read"]
    for cell in read.cells:
        (run,) = cell.runs
        assert run.ending.status == "ok"
        assert run.window.seconds == pytest.approx(3.0)
    (block,) = Results.open(folder).blocks()
    for arm in block.runs():
        (step,) = [step for step in arm.steps() if step.name == "read"]
        names = [event["event"] for event in map(plain, step.events())]
        assert names.count("paused") == names.count("resumed") >= 3
        (counted,) = [
            event for event in map(plain, step.events()) if event["event"] == "window_close"
        ]
        assert counted["active_ns"] == 3_000_000_000
