"""What a person sees while a plan runs: figures from ticks, a view that fits, plain lines."""

import io
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from rich.console import Console

import wire_form
from dbdyno.model import Headline, Json, Sla, Step
from dbdyno.model.events import Tick
from dbdyno.model.job import Job, StopRule
from dbdyno.model.job.fills import Fill
from dbdyno.model.job.programs import Instruction, Program
from dbdyno.model.job.role import ClosedPace, Role, RoleStop
from dbdyno.model.job.statements import Statement
from dbdyno.run import progress
from dbdyno.run.progress import STEP_OVERHEAD_S, Forecast, Leg, Pulse, Watch, filled
from dbdyno.run.step_progress import StepMeter, p99_us
from dbdyno.stats.response_times import Histogram

PROGRAMS = (
    Program("pay", (Instruction("send", 0), Instruction("send", 1))),
    Program("single", (Instruction("draw", 0), Instruction("send", 2))),
)
STATEMENTS = tuple(Statement(name=name, rows=0) for name in ("first", "second", "third"))


def role(name: str, operations: int | None = None) -> Role:
    stop = None if operations is None else RoleStop(operations)
    return Role(name=name, per="client", connections=1, pace=ClosedPace(), stop=stop)


def step(*roles: Role, headline: Headline | None, sla: Sla | None = None, **job: Any) -> Step:
    """A step of two clients, as far as it is watched."""
    whole = Job(
        clients=2,
        tables={"t": 3},
        roles=roles,
        programs=PROGRAMS,
        statements=STATEMENTS,
        stop=StopRule(roles=tuple(role.name for role in roles[:1])),
    )
    return Step(
        ordinal=1, name="s", workload="w", measured=True, writes=True, warm="none", setup=(),
        job=structs.replace(whole, **job), headline=headline, sla=sla, pad_to_s=None, roles={},
        tables=(), explain={}, expected_s=None, nominal_s=None,
    )  # fmt: skip


def encoded(*times_us: int) -> str:
    found = HdrHistogram(1, 3_600_000_000, 3)
    for one in times_us:
        found.record_value(one)
    return bytes(found.encode()).decode()


def tick(role: str, *clients: tuple[int, int], **changed: object) -> Tick:
    """A second of a role: count and rows by client."""
    second: Json = {
        "role": role,
        "active_ns": 1_000_000_000,
        "measured": True,
        "per_client": [[count, rows, 0, 500] for count, rows in clients],
        "operations": {},
    }
    return wire_form.tick(second | changed)


def operation(*times_us: int, retries: int = 0) -> Json:
    return {"count": len(times_us), "retries": retries, "response": encoded(*times_us)}


ROWS = Headline(metric="ips", role="insert", count="rows")
QUERIES = Headline(metric="qps", role="query", count="operations")


# --- A step's figures ------------------------------------------------------------------------


def test_rates_are_of_all_clients_now_and_so_far() -> None:
    meter = StepMeter(step(role("insert", 100), headline=ROWS))
    meter.take(tick("insert", (10, 500), (10, 500)))
    pulse = meter.take(tick("insert", (20, 1_000), (20, 1_000)))
    assert pulse is not None
    assert (pulse.unit, pulse.rate, pulse.rate_so_far) == ("rows/s", 2_000.0, 1_500.0)


def test_only_a_tick_of_the_headline_is_an_occasion_to_show_something() -> None:
    meter = StepMeter(step(role("insert"), role("query"), headline=QUERIES))
    assert meter.take(tick("insert", (1, 50), (1, 50))) is None
    assert meter.take(tick("query", (1, 1), (1, 1), active_ns=0)) is None
    assert meter.take(tick("query", (1, 1), (1, 1))) is not None


def test_a_step_bound_by_work_is_done_by_its_slowest_quota() -> None:
    meter = StepMeter(step(role("insert", 100), headline=ROWS))
    pulse = meter.take(tick("insert", (30, 1_500), (10, 500)))
    assert pulse is not None
    assert pulse.share == pytest.approx(40 / 200)
    assert pulse.left_s == pytest.approx(4.0)


def test_a_timed_step_is_done_by_its_time_with_warm_up_which_no_rate_counts() -> None:
    stop = StopRule(seconds=8, warmup_s=2)
    meter = StepMeter(step(role("query"), headline=QUERIES, stop=stop))
    meter.take(tick("query", (1, 1), (1, 1), measured=False))
    pulse = meter.take(tick("query", (5, 5), (5, 5)))
    assert pulse is not None
    assert (pulse.share, pulse.left_s) == (pytest.approx(0.2), pytest.approx(8.0))
    assert pulse.rate_so_far == 10.0


def test_a_fill_is_done_by_the_rows_of_all_its_tables() -> None:
    fills = (Fill(table="t", rows=1_000, columns=()),)
    meter = StepMeter(step(headline=None, fills=fills))
    pulse = meter.take(tick("fill", (300, 300), (300, 300)))
    assert pulse is not None
    assert pulse.share == pytest.approx(0.2)
    assert pulse.rate is None


def test_a_step_that_has_just_begun_does_not_say_how_long_it_takes() -> None:
    meter = StepMeter(step(role("insert", 10_000_000), headline=ROWS))
    (begun, on_its_way) = (meter.take(tick("insert", (n, n), (n, n))) for n in (1, 200_000))
    assert begun is not None and on_its_way is not None
    assert begun.left_s is None
    assert on_its_way.left_s == pytest.approx(98, abs=2)


def test_work_that_is_told_beforehand_has_no_rate_on_the_way() -> None:
    headline = Headline(metric="ips", role="index", count="rows", work=1_000_000)
    pulse = StepMeter(step(role("index", 1), headline=headline)).take(tick("index", (0, 0), (0, 0)))
    assert pulse is not None
    assert not list(progress.figures(pulse))
    assert pulse.left_s is None


@given(st.lists(st.lists(st.integers(1, 10_000_000), max_size=20), min_size=1, max_size=5))
@pytest.mark.long
def test_p99_so_far_is_what_the_report_will_say(seconds: list[list[int]]) -> None:
    meter = StepMeter(step(role("query"), headline=QUERIES))
    whole = Histogram()
    for times_us in seconds:
        operations = {"third": operation(*times_us)}
        pulse = meter.take(tick("query", (1, 1), (1, 1), operations=operations))
        assert pulse is not None
        whole.add(encoded(*times_us), max(times_us, default=0))
        assert (pulse.p99_so_far_us or 0.0) == pytest.approx(whole.percentile_us(0.99), rel=1e-3)


def test_of_a_transaction_the_whole_is_timed_as_the_report_does_it() -> None:
    job = Job(clients=1, programs=PROGRAMS, statements=STATEMENTS)
    assert job.timed_operations() == {"pay", "third"}
    meter = StepMeter(step(role("query"), headline=QUERIES))
    operations = {"pay": operation(900), "first": operation(10), "second": operation(10)}
    pulse = meter.take(tick("query", (1, 1), (0, 0), operations=operations))
    assert pulse is not None
    assert pulse.p99_us == 900.0


def test_a_second_without_any_response_has_no_p99() -> None:
    assert p99_us(Histogram()) is None


def test_a_target_is_judged_when_enough_was_seen_and_errors_are_of_all_roles() -> None:
    sla = Sla(role="insert", rows_per_s=200.0)
    meter = StepMeter(step(role("insert"), role("query"), headline=QUERIES, sla=sla))
    verdicts = []
    for second in range(25):
        operations = {"third": {"count": 0, "retries": 2, "response": ""}}
        meter.take(tick("insert", (1, 50), (1, 100), operations=operations))
        pulse = meter.take(tick("query", (1, 1), (1, 1)))
        assert pulse is not None
        verdicts.append((second + 1, pulse.held))
    assert [second for second, held in verdicts if held is not None] == list(range(20, 26))
    assert verdicts[-1] == (25, False)
    assert pulse.retries == 50
    assert "target 200 rows/s missed by 25 % (150 so far)" in progress.figures(pulse)


# --- What is shown ---------------------------------------------------------------------------

PULSE = Pulse(
    unit="queries/s", rate=12_345.6, rate_so_far=12_000.0, p99_us=450.0, p99_so_far_us=12_300.0,
    target=400.0, achieved=340.0, errors=3, retries=2, elapsed_s=60.0, share=0.25,
)  # fmt: skip
LEGS = [
    Leg("w", "", 6.0),
    Leg("w", "l.i0", 100.0),
    Leg("w", "qr100", 1_800.0 - STEP_OVERHEAD_S),
    Leg("w", "", 6.0),
    Leg("w", "l.i0", 100.0),
]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time that `progress` sees, in its first place."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    yield now


def watch(width: int, *, terminal: bool) -> Watch:
    """A watch over LEGS, at the second step of the first run."""
    console = Console(
        file=io.StringIO(), width=width, height=24, force_terminal=terminal, color_system=None,
        legacy_windows=False,
    )  # fmt: skip
    found = Watch(LEGS, console)
    for title, leg in (("set-up", LEGS[0]), ("l.i0", LEGS[1])):
        found.begin(f"block 1/2 pg18 {title}", leg)
        found.end("well")
    found.begin("block 1/2 pg18 qr100", LEGS[2])
    return found


def shown(of: Watch) -> list[str]:
    """The lines of its view."""
    with of.console.capture() as capture:
        of.console.print(of.view())
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [60, 80])
def test_the_view_fits_and_says_all(width: int, clock: list[float]) -> None:
    of = watch(width, terminal=True)
    clock[0] += 100.0
    of.rate(PULSE)
    lines = shown(of)
    assert max(map(len, lines)) <= width
    assert len(lines) <= (4 if width == 80 else 6)
    assert lines[0] == "block 1/2 pg18 qr100 · step 2 of 2 · 3 min 00 s left"
    text = "\n".join(lines)
    for figure in progress.figures(PULSE):
        assert figure in text
    assert "12,346 queries/s now, 12,000 so far" in text
    assert "p99 0.45 ms now, 12.3 ms so far" in text
    assert "target 400 rows/s missed by 15 % (340 so far)" in text
    assert "3 errors, 2 retries" in text


def test_arms_that_share_a_step_in_turns_are_each_shown_by_name(clock: list[float]) -> None:
    of = watch(80, terminal=True)
    clock[0] += 60.0
    of.rate(replace(PULSE, target=None, errors=0), "pg18")
    of.rate(replace(PULSE, rate=23.0, target=None, errors=0), "pg17")
    lines = shown(of)
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("pg17 23 queries/s now, 12,000 so far")
    assert "pg18 12,346 queries/s now, 12,000 so far" in "\n".join(lines)
    assert "pg18 p99 0.45 ms now, 12.3 ms so far" in "\n".join(lines)
    assert "29 min 00 s left" in lines[0], "as was expected of all, whatever an arm has done"
    of.end("well")
    assert of.forecast.done == 3
    of.begin("next", LEGS[3])
    assert "pg17" not in "\n".join(shown(of))


def test_time_left_is_by_the_work_done_and_goes_on_between_two_ticks(clock: list[float]) -> None:
    of = watch(80, terminal=True)
    assert "30 min 00 s left" in shown(of)[0], "as expected, before anything was done"
    clock[0] += 60.0
    of.rate(PULSE)
    clock[0] += 10.0
    lines = shown(of)
    assert "2 min 50 s left" in lines[0]
    # the set-up was seen to take no time; l.i0 neither
    assert lines[-1].endswith("29 % · plan 2 min 50 s left")


def test_what_takes_longer_than_expected_has_no_time_left(clock: list[float]) -> None:
    of = watch(80, terminal=True)
    clock[0] += 4_000.0
    assert shown(of)[0] == "block 1/2 pg18 qr100 · step 2 of 2"


def test_a_figure_is_not_broken_over_two_lines() -> None:
    assert filled(["aaa", "bbb", "ccc"], 9) == ["aaa · bbb", "ccc"]
    assert filled(["a" * 20, "b"], 9) == ["a" * 20, "b"]
    assert filled([], 9) == []


def test_steps_are_counted_within_their_run() -> None:
    forecast = Forecast(list(LEGS))
    places = []
    for leg in LEGS:
        places.append(forecast.place())
        forecast.finish(leg, 1.0)
    assert places == [None, (1, 2), (2, 2), None, (1, 1)]
    assert forecast.place() is None


def test_a_log_has_a_line_at_a_steps_end_and_one_about_every_minute(clock: list[float]) -> None:
    of = watch(80, terminal=False)
    with of:
        for _ in range(150):
            clock[0] += 1.0
            of.rate(PULSE)
        of.end("12,000 queries/s in 150.0 s")
    assert isinstance(of.console.file, io.StringIO)
    lines = of.console.file.getvalue().splitlines()
    ends = "block 1/2 pg18 qr100: 12,000 queries/s in 150.0 s (0 s left)"
    assert lines[-1] == ends
    assert len(lines) == 2 + 2 + 1
    assert lines[2] == (
        "block 1/2 pg18 qr100: 12,346 queries/s now, 12,000 so far; "
        "p99 0.45 ms now, 12.3 ms so far; "
        "target 400 rows/s missed by 15 % (340 so far); 3 errors, 2 retries; "
        "3 min 00 s of the step left"
    )


EVIDENCE = ["so far, 2 blocks, pg18 by pg17:", "  qr100 throughput 1.02 [0.98–1.06]"]


def test_evidence_stands_at_the_foot_of_a_terminal_until_the_next() -> None:
    of = watch(80, terminal=True)
    of.so_far(["so far, 1 block, pg18 by pg17:"])
    of.so_far(EVIDENCE)
    assert shown(of)[:2] == EVIDENCE


def test_evidence_is_lines_that_stay_where_there_is_no_terminal() -> None:
    of = watch(80, terminal=False)
    of.so_far(EVIDENCE)
    assert isinstance(of.console.file, io.StringIO)
    assert of.console.file.getvalue().splitlines()[-2:] == EVIDENCE


def test_in_a_terminal_nothing_stays_but_what_was_said() -> None:
    of = watch(80, terminal=True)
    with of:
        of.rate(PULSE)
        of.say("block 1 is void")
        of.end("the server ended", alarm=True)
    assert isinstance(of.console.file, io.StringIO)
    written = of.console.file.getvalue()
    after = written.rsplit("\x1b[2K", 1)[-1]
    assert "block 1 is void" in written
    assert "block 1/2 pg18 qr100: the server ended" in written
    assert "queries/s" not in after, "the view is wiped at the end"


def test_the_time_left_of_a_plan_with_a_limit_is_what_is_left_of_it(clock: list[float]) -> None:
    """Steps that come and go between looks, slow ones and new blocks: no figure ever rises."""
    of = Watch([], Console(file=io.StringIO(), width=80, force_terminal=False))
    of.ends_within(300.0)
    left = []
    for took_s in (30.0, 8.0, 41.0, 39.0):
        of.again(LEGS)
        for leg in LEGS:
            of.begin("block", leg)
            clock[0] += took_s / len(LEGS)
            of.end("well")
            left.append(of.left_s(0.0, 0))
    assert left == sorted(left, reverse=True) and left[-1] == pytest.approx(300 - 118)
    clock[0] += 200.0
    assert of.left_s(0.0, 0) == 0.0
    assert of.left_s(7.0, 1) == 7.0, "what runs is still to end"


def test_a_block_that_goes_on_beyond_the_limit_never_has_nothing_left(clock: list[float]) -> None:
    of = Watch([], Console(file=io.StringIO(), width=80, force_terminal=False))
    of.ends_within(10.0)
    of.again([*LEGS, *LEGS], len(LEGS))
    for place, leg in enumerate(LEGS, start=1):
        of.begin("block", leg)
        clock[0] += 100.0
        of.end("well")
        assert (of.left_s(0.0, 0) > 0) == (place < len(LEGS)), "the second block is not sure"


def test_steps_that_were_not_seen_yet_have_the_overhead_of_those_that_were() -> None:
    """Windows are known; what is around them is measured: one new step moves the rest by little."""
    steps = [Leg("w", f"step{number}", 60.0) for number in range(20)]
    forecast = Forecast(list(steps))
    before = forecast.after_s(0)
    for leg in steps[:3]:
        forecast.finish(leg, 66.0)
    assert before == 20 * (60.0 + STEP_OVERHEAD_S)
    assert forecast.overhead_s == 6.0
    assert forecast.after_s(0) == pytest.approx(17 * 66.0)
