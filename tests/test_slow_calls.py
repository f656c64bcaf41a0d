"""Calls too slow to count: what is sure of their rate, and what a comparison says of it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from dbdyno.evidence import generator_limit, raw_files
from dbdyno.evidence.slow_calls import SlowCalls, slow_calls
from dbdyno.findings.application import plan as application
from dbdyno.judge import arms_and_blocks, step_cells
from dbdyno.model import Headline, Json, StepRun
from dbdyno.model.comparison import Bound
from dbdyno.model.job import Job, StopRule
from dbdyno.model.job.role import ClosedPace, Role
from dbdyno.model.plan_record import ApplicationRecord, QueryRecord, WorkloadRecord
from dbdyno.model.step_files import StepRecord
from dbdyno.model.step_run import Ending, Slow, Window
from dbdyno.model.verdict import Verdict
from run_builder import cell, concluded, failed, lifted, plan_of, series
from wire_form import typed

pytestmark = pytest.mark.usefixtures("independent_blocks")

S = 1_000_000_000
STEP = StepRecord(
    workload="w",
    ordinal=1,
    name="q",
    measured=True,
    headline=Headline(metric="qps", role="query", count="operations"),
)
LIMIT_S = 9.0
ENDED = Ending(
    status="failed", reason="q: timed out: the server ended it at its limit of 9 s (SQLSTATE 57014)"
)
OK = Ending(status="ok")
ARMS = ("base", "other")


def job(connections: int = 1) -> Job:
    role = Role(
        name="query",
        per="step",
        connections=connections,
        pace=ClosedPace(),
        statement_limit_s=LIMIT_S,
    )
    return Job(clients=1, roles=(role,), stop=StopRule(seconds=3.0))


def events(*turns: tuple[float, float], count: int = 0, drained_s: float = 0.0) -> Iterator[Json]:
    """A window of these turns, from settled to quiet; the last ends with the window."""
    for number, (begun_s, quiet_s) in enumerate(turns):
        if number:
            yield {"event": "resumed", "mono_ns": round(begun_s * S)}
        else:
            yield {"event": "window_open", "mono_ns": round(begun_s * S)}
        if number < len(turns) - 1:
            yield {"event": "paused", "mono_ns": round(quiet_s * S)}
    close_ns = round(turns[-1][1] * S)
    active_ns = round(sum(quiet_s - begun_s for begun_s, quiet_s in turns) * S)
    yield {
        "event": "window_close", "mono_ns": close_ns, "active_ns": active_ns,
        "ended": {}, "clients_end_ns": [None],
    }  # fmt: skip
    yield {
        "event": "tick", "mono_ns": close_ns + round(drained_s * S), "tick": 2, "active_ns": 0,
        "measured": True, "role": "query", "per_client": [[count, count, 0, 0]], "operations": {},
        "late_us_max": 0, "backlog": 0, "cpu_us": 0,
    }  # fmt: skip


def slow(
    said: Iterator[Json], ending: Ending = OK, connections: int = 1, *, turns: bool = True
) -> SlowCalls | None:
    load = raw_files.load(map(typed, said), 0.0)
    return slow_calls(STEP, job(connections), load, ending, turns=turns)


THREE = ((0, 5), (10, 16), (20, 21))
"""Three turns, each filled by a call; that of the third went on after the window's close."""


def test_calls_that_fill_their_turns_have_a_rate_at_most() -> None:
    assert slow(events(*THREE, drained_s=4)) == SlowCalls(how="filled", per_s=3 / (5 + 6 + 1 + 4))


def test_of_several_connections_only_the_window_is_sure() -> None:
    found = slow(events(*THREE, drained_s=4), connections=2)
    assert found == SlowCalls(how="filled", per_s=2 * 3 / 12)


def test_a_step_of_which_anything_counts_has_a_rate() -> None:
    assert slow(events(*THREE, count=1)) is None


def test_without_turns_a_window_without_operations_is_one_that_stood_still() -> None:
    assert slow(events((0, 5)), turns=False) is None


@pytest.mark.parametrize(
    ("turns", "count", "calls", "seconds"),
    [
        (THREE, 0, 3, 12.0),
        (THREE, 4, 7, 12.0),
        (((0, 5),), 0, 1, LIMIT_S),  # it began before the window
    ],
)
def test_a_call_that_the_server_ended_took_its_limit_at_least(
    turns: Sequence[tuple[float, float]], count: int, calls: int, seconds: float
) -> None:
    found = slow(events(*turns, count=count), ENDED)
    assert found == SlowCalls(how="ended", per_s=calls / seconds)


def test_a_failure_of_another_kind_says_nothing_of_a_rate() -> None:
    assert slow(events(*THREE), Ending(status="failed", reason="planted")) is None


def window(run: StepRun, how: Slow, ending: Ending = OK) -> StepRun:
    return replace(run, window=replace(run.window, slow=how), ending=ending)


def late(run: StepRun, rate: float) -> StepRun:
    """A run that the server ended by the limit, with the rate that it had at most."""
    ended = failed(run, reason=ENDED.reason or "")
    return replace(ended, window=Window(slow="ended"), metrics={"qps": rate})


def verdict(base: Sequence[StepRun], other: Sequence[StepRun]) -> Verdict:
    found = cell(concluded([*base, *other], plan_of(ARMS)), "other").verdict
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("own", "base", "bound"),
    [
        (("filled", ""), ("", ""), "at most"),
        (("", ""), ("filled", "ended"), "at least"),
        (("filled", "filled"), ("filled", "filled"), "exact"),
        (("filled", ""), ("", "filled"), "unknown"),
        (("ended",), ("filled",), "unknown"),
        (("ended",), ("ended",), "unknown"),
        (("", ""), ("", ""), "exact"),
    ],
)
def test_a_ratio_is_bounded_by_whose_calls_were_too_slow(
    own: tuple[Slow, ...], base: tuple[Slow, ...], bound: Bound
) -> None:
    def runs(arm: str, hows: tuple[Slow, ...]) -> list[StepRun]:
        return [
            window(run, how) for run, how in zip(series(arm, [9.0] * len(hows)), hows, strict=True)
        ]

    assert generator_limit.ratio_bound(runs("base", base), runs("other", own)) == bound


def test_an_arm_whose_calls_fill_their_turns_is_slower() -> None:
    base = series("base", [1_000.0] * 4)
    other = [window(run, "filled") for run in series("other", [80.0, 81.0, 80.0, 79.0])]
    assert verdict(base, other).word == "slower"
    mirrored = verdict([replace(run, arm="base") for run in other],
                       [replace(run, arm="other") for run in base])  # fmt: skip
    assert mirrored.word == "faster"


def test_a_rate_at_most_is_no_proof_of_a_faster_arm_and_none_of_the_same() -> None:
    base = series("base", lifted(0.0))
    for change in (0.5, 0.0):
        other = [window(run, "filled") for run in series("other", lifted(change), cpu=None)]
        found = verdict(base, other)
        assert (found.word, found.reason) == ("open", "calls longer than turns")


def test_calls_that_fill_the_turns_of_both_compare() -> None:
    base = [window(run, "filled") for run in series("base", [1.0] * 4)]
    alike = [window(run, "filled") for run in series("other", [1.001, 0.999, 1.0, 1.0])]
    assert verdict(base, alike).word == "same"
    slower = [window(run, "filled") for run in series("other", [0.1, 0.1, 0.101, 0.1])]
    assert verdict(base, slower).word == "slower"


def test_an_arm_whose_calls_the_server_ends_is_slower_and_says_so() -> None:
    base = series("base", [1_000.0] * 4)
    other = [late(run, 50.0 + run.block / 10) for run in series("other", [1.0] * 4)]
    found = verdict(base, other)
    assert found.word == "slower"
    assert found.outcome == "ended by its limit of 9 s in 4 of 4 blocks"


def test_what_the_server_ends_on_both_failed() -> None:
    base = [late(run, 50.0) for run in series("base", [1.0] * 4)]
    other = [late(run, 50.0) for run in series("other", [1.0] * 4)]
    assert verdict(base, other).word == "failed"


def test_a_limit_met_once_among_blocks_that_are_alike_stays_a_failure() -> None:
    base = series("base", [1_000.0] * 4)
    other = series("other", [1_000.0, 1_001.0, 999.0, 1_000.0])
    other[2] = late(other[2], 50.0)
    assert verdict(base, other).word == "failed"


def test_an_application_counts_slow_calls_by_what_is_sure() -> None:
    queries = (QueryRecord(name="a", text="SELECT 1", calls=1, time_s=1.0),
               QueryRecord(name="b", text="SELECT 2", calls=1, time_s=1.0))  # fmt: skip
    record = structs.replace(
        plan_of(ARMS),
        workloads=(WorkloadRecord(name="w", application=ApplicationRecord(queries=queries)),),
    )
    runs = [
        *series("base", [10.0] * 3, step="a", ordinal=1, cpu=1.0),
        *series("other", [10.0] * 3, step="a", ordinal=1, cpu=1.0),
        *series("base", [10.0] * 3, step="b", ordinal=2, cpu=1.0),
        *(late(run, 1.0) for run in series("other", [1.0] * 3, step="b", ordinal=2)),
    ]
    rows = step_cells.rows(
        record, arms_and_blocks.arms(record, None), sorted(runs, key=lambda run: run.block)
    )
    (result,) = application.results(rows, record, ARMS)
    assert result.failed == ()
    assert result.time is not None and result.time.value == pytest.approx((0.1 + 1.0) / 0.2)
    assert (result.time_bound, result.queries, result.cpu_lacks) == ("at least", 2, 1)
    assert result.cpu is not None and result.cpu.value == pytest.approx(1.0)
