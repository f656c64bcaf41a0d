"""What an arm's turns come to: sums of counters over them, and moments on their own clock."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from comparison_builder import comparison
from dbdyno.analysis.step import assemble
from dbdyno.evidence import evidence, raw_files
from dbdyno.evidence.evidence import NO_JOB, Evidence
from dbdyno.findings.background import step as background
from dbdyno.findings.over_time import series
from dbdyno.findings.setup import show as setup
from dbdyno.model import Json, Schedule, TargetFacts
from dbdyno.model.host_reading import HostReading, MemoryBytes
from dbdyno.model.job import SETTLE_S_DEFAULT, Job, StopRule
from dbdyno.model.plan_record import ArmRecord, ScheduleRecord
from dbdyno.model.step_files import LogEvent, StepDone, StepRecord
from dbdyno.run.check import plan_record
from dbdyno.store import Results, continuation
from result_builder import build, plant
from wire_form import typed

S = 1_000_000_000


def reading(
    kind: str, at_s: float, cpu_us: int, switches: int, owners: dict[str, int]
) -> HostReading:
    """A line of host.jsonl; an owner's number is its CPU time in ms."""
    line = {
        "kind": kind,
        "mono_ns": round(at_s * S),
        "read_ns": 1000,
        "delay_ns": 2000,
        "host": {
            "cpu_us": {"user": cpu_us, "system": 2 * cpu_us, "idle": 5 * cpu_us}
            | dict.fromkeys(("nice", "iowait", "irq", "softirq", "steal"), 0),
            "context_switches": switches,
            "running": 3,
            "memory_bytes": {"dirty": 7},
            "swap_pages": {"in": switches, "out": 0},
        },
        "disk": {"device": "vda", "write_bytes": 10 * switches, "in_flight": 1},
        "owners": {
            name: {
                "cpu_ns": ms * 1_000_000, "voluntary": ms, "involuntary": 0, "read_bytes": None,
                "write_bytes": 0, "processes": 1,
            }
            for name, ms in owners.items()
        },
        "rss_bytes": 5,
    }  # fmt: skip
    return msgspec.convert(line, HostReading)


QUERY, VACUUM = "role:query", "background:autovacuum worker"

# Two turns and a last half: 10-11, 14-15.5 and 20-20.5; between them others are at work.
LINES = (
    reading("start", 1, 0, 0, {QUERY: 0}),
    reading("open", 10, 1_000, 100, {QUERY: 500}),
    reading("pause", 11, 1_400, 150, {QUERY: 700}),
    reading("settled", 14, 5_000, 900, {QUERY: 760, VACUUM: 40}),
    reading("second", 15, 5_300, 930, {QUERY: 900, VACUUM: 40}),
    reading("pause", 15.5, 5_500, 960, {QUERY: 960, VACUUM: 45}),
    reading("settled", 20, 9_000, 2_000, {QUERY: 990, VACUUM: 100}),
    reading("close", 20.5, 9_100, 2_010, {QUERY: 1_050, VACUUM: 100}),
    reading("end", 30, 99_000, 9_999, {QUERY: 1_050, VACUUM: 100}),
)


def test_a_difference_over_the_window_is_the_sum_over_the_arms_own_turns() -> None:
    lines = copy.deepcopy(LINES)
    host = raw_files.host(lines)
    assert host.seconds == 1 + 1.5 + 0.5
    assert host.cpu_us["user"] == 400 + 500 + 100
    assert host.cpu_us["system"] == 2 * 1000
    assert host.moved(lambda reading: reading.host.context_switches) == 50 + 60 + 10
    assert host.moved(lambda reading: reading.host.swap_pages.into) == 120
    assert host.moved(lambda reading: reading.of("disk").write_bytes) == 10 * 120
    assert lines == LINES, "readings stay as they were read"
    costs = evidence.owners(host)
    assert costs[QUERY].cpu_us == (200 + 200 + 60) * 1000
    assert costs[QUERY].context_switches == 460
    assert costs[VACUUM].cpu_us == 5_000, "it began between two turns: only its share in the second"
    assert costs[VACUUM].read_bytes is None
    assert costs["rest"].cpu_us == 3 * 1000 - 460_000 - 5_000


def test_readings_lie_on_the_arms_own_clock_and_gauges_stay() -> None:
    host = raw_files.host(LINES)
    moments = [(reading.moment, reading.mono_ns / S) for reading in host.readings]
    assert moments == [("open", 10), ("pause", 11), ("second", 12), ("pause", 12.5), ("close", 13)]
    for reading in host.readings:
        gauges = (reading.host.running, reading.rss_bytes, reading.of("disk").in_flight)
        assert gauges == (3, 5, 1)
        assert reading.host.memory_bytes == MemoryBytes(dirty=7)
        assert reading.owners[QUERY].processes == 1


def test_a_window_that_closes_before_it_has_settled_gains_nothing() -> None:
    lines = [*LINES[1:3], reading("close", 14, 5_000, 900, {QUERY: 999})]
    host = raw_files.host(lines)
    assert (host.seconds, host.moved(lambda reading: reading.host.context_switches)) == (1, 50)
    assert evidence.owners(host)[QUERY].cpu_us == 200_000


def test_without_turns_readings_are_what_was_read() -> None:
    lines = [LINES[0], LINES[1], LINES[4], LINES[7], LINES[8]]
    assert raw_files.host(lines).readings == (LINES[1], LINES[4], LINES[7])
    assert raw_files.host([LINES[4]]).open is None


SETTLE_NS = round(SETTLE_S_DEFAULT * S)


def events() -> Iterator[Json]:
    """A window of 3 s from 10 s on with two pauses; a pause in the warm-up does not count."""
    yield {"event": "started", "mono_ns": 5 * S, "unix_ns": 105 * S}
    yield {"event": "paused", "mono_ns": 6 * S}
    yield {"event": "resumed", "mono_ns": 7 * S}
    yield {"event": "window_open", "mono_ns": 10 * S}
    yield {"event": "paused", "mono_ns": 11 * S}
    yield {"event": "resumed", "mono_ns": 14 * S - SETTLE_NS}
    yield {"event": "paused", "mono_ns": 15 * S + S // 2}
    yield {"event": "resumed", "mono_ns": 20 * S - SETTLE_NS}
    yield {
        "event": "window_close",
        "mono_ns": 20 * S + S // 2,
        "active_ns": 3 * S,
        "ended": {},
        "clients_end_ns": [10 * S + S // 2, 15 * S, 20 * S + S // 4],
    }


def test_moments_of_the_load_are_told_without_its_pauses() -> None:
    load = raw_files.load(map(typed, events()))
    assert (load.seconds, load.passed_s) == (3.0, 10.5)
    moments = {-2: -2, 0: 0, 0.5: 0.5, 1: 1, 2.5: 1, 4: 1, 5: 2, 5.5: 2.5, 9: 2.5, 10.25: 2.75}
    assert {at_s: load.active_s(at_s) for at_s in moments} == moments
    ends_s = [(end_ns - load.open_ns) / S for end_ns in load.clients_end_ns]
    assert ends_s == [0.5, 2.0, 2.75]


@pytest.mark.parametrize(
    ("begun_s", "ended_s", "wanted"),
    [(110.5, 114.5, (0.5, 1.5)), (112, 113, None), (108, 130, (-2, 3)), (117, 121, (2.5, 3))],
)
def test_a_checkpoint_counts_as_far_as_it_lies_in_the_arms_own_turns(
    begun_s: float, ended_s: float, wanted: tuple[float, float] | None
) -> None:
    load = raw_files.load(map(typed, events()))
    log = [
        LogEvent(unix_ms=begun_s * 1e3, name="checkpoint starting", text="time"),
        LogEvent(unix_ms=ended_s * 1e3, name="checkpoint complete", text=""),
    ]
    found = background.of_step(of(load, *log)).spans
    if wanted is None:
        assert found == ()
        return
    (one,) = found
    assert one.start_s == pytest.approx(wanted[0])
    assert min(one.end_s, 3) == pytest.approx(wanted[1])


STEP = StepRecord(workload="w", ordinal=1, name="reads", measured=True)


def of(load: raw_files.LoadReport, *log: LogEvent) -> Evidence:
    return Evidence(
        step=STEP, job=NO_JOB, load=load, host=raw_files.host(LINES), before=None, after=None,
        done=StepDone(status="ok", log_events=log), failure=None,
        owners={}, histograms={}, services={},
    )  # fmt: skip


def test_the_hosts_seconds_of_an_arm_are_those_of_its_turns() -> None:
    found = series.series(of(raw_files.load(map(typed, events()))))
    assert found["host.cpu_pct"].x_s == (1.0, 2.0, 2.5, 3.0)
    assert found["host.cpu_pct"].y == pytest.approx([100 * 3 / 8] * 4)


# --- What is said and kept of it ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ({"interleave": "run", "slice_s": None}, None),
        ({}, None),
        ({"interleave": "step", "slice_s": None}, "only read, one directly after the other, in an"),
        ({"interleave": "slice", "slice_s": 0.5}, "which only read, in turns of 0.5 s, in orders"),
    ],
)
def test_the_report_says_how_arms_took_turns_and_what_memory_each_had(
    schedule: Json, words: str | None
) -> None:
    made = comparison(blocks=3)
    arms = (ArmRecord(name="one", memory="2GB"), ArmRecord(name="two", memory="512MB"))
    plan = structs.replace(made.plan, schedule=ScheduleRecord(**schedule), arms=arms)
    said = " ".join(setup.paragraphs(replace(made, plan=plan)))
    assert ("All servers of a block ran at once" in said) == (words is not None)
    assert words is None or words in said
    shared = "The servers shared the memory: one 2GB, two 512MB."
    assert (shared in said) == (words is not None)


def test_how_arms_take_turns_belongs_to_what_was_measured() -> None:
    def kept(**schedule: object) -> Json:
        return {"schedule": plan_record.schedule_json(Schedule(**schedule))}  # type: ignore[arg-type]

    old = {"schedule": {"blocks": 1, "interleave": "run", "checkpoint": None}}
    assert continuation.refused(old, kept(), 1) is None, "older folders know no turns"
    half = kept(interleave="turn", turn_s_chosen=0.5)
    assert (half["schedule"]["interleave"], half["schedule"]["slice_s"]) == ("slice", 0.5)
    assert continuation.refused(half, kept(interleave="turn", turn_s_chosen=0.5), 1) is None
    assert continuation.refused(half, kept(interleave="turn"), 1) == (
        "`schedule.slice_s` is 1.0 now and was 0.5"
    )
    for other in (kept(), kept(interleave="step")):
        assert "`schedule.interleave`" in str(continuation.refused(half, other, 1))


def test_what_settles_is_a_twentieth_of_a_short_turn() -> None:
    job = Job(clients=1, stop=StopRule(seconds=10))
    assert job.in_turns(4) is job and job.settle_s == 0.2
    assert job.in_turns(1).stop == StopRule(seconds=10, settle_s=0.05)
    assert job.in_turns(0.5).settle_s == 0.025


def test_a_short_turn_counts_again_as_soon_as_its_job_says() -> None:
    load = raw_files.load(map(typed, events()), 0.05)
    assert load.pauses == ((11 * S, 14 * S - 150_000_000), (15 * S + S // 2, 20 * S - 150_000_000))


def test_a_target_counts_what_a_role_does_while_turns_settle(tmp_path: Path) -> None:
    """170 of 200 rows/s in the window, and the rest of each burst in the begin of the next turn."""
    planted = plant("qr100", insert_rows_per_s=170.0)
    result = build(
        tmp_path, arms=("pg17",), blocks=1, steps=("qr100",), planted=lambda *_: planted, name="one"
    )
    (run,) = Results.open(result).blocks()[0].runs()
    (folder,) = run.steps()
    path = folder.path / "events.jsonl"
    said = [json.loads(line) for line in path.read_text().splitlines()]
    opened_ns = next(event["mono_ns"] for event in said if event["event"] == "window_open")
    ticks = [event for event in said if event["event"] == "tick" and event["role"] == "insert"]
    count, rows = (sum(c[i] for tick in ticks for c in tick["per_client"]) for i in (0, 1))
    operations = sum(part["count"] for tick in ticks for part in tick["operations"].values())
    in_ticks = {"count": count, "rows": rows, "errors": 0, "operations": operations}
    (totals,) = (event["totals"]["insert"] for event in said if event["event"] == "done")
    totals |= {"rows": rows + 900, "in_ticks": in_ticks}
    turn = [{"event": name, "mono_ns": opened_ns} for name in ("paused", "resumed")]
    at = said.index(ticks[-1])
    said[at:at] = 10 * turn
    path.write_text("".join(f"{json.dumps(event)}\n" for event in said))
    held = assemble.step_run(folder).of(TargetFacts)
    assert held.achieved_per_s == pytest.approx((170 * 20 + 900) / (20 + 10 * 0.2))
    assert held.met is True
