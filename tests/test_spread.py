"""A step's load from several generators is that of one: the same counts, one stream, one end."""

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert, structs

from dbdyno.model import Json, Step, events
from dbdyno.model.error import GeneratorError, PlanError
from dbdyno.model.job import Job, JobSegment, Log, StopRule
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.model.job.fills import Fill
from dbdyno.model.job.role import Arrivals, RatePace, TableUse
from dbdyno.run.driver import loadgen
from dbdyno.run.driver.interface import GeneratorDied, Keep, Seat
from dbdyno.run.driver.merged_events import ERRORS_WRITTEN_MAX, Merge, Share
from dbdyno.run.driver.spread import SpreadLoad, refuse_unfit, width
from dbdyno.stats import hdr_histogram
from spread_seats import seat
from wire_form import plain, typed

FAKE = Path(__file__).parent.parent / "contract" / "job-fake.json"
S = 1_000_000_000
DAY_NS = 86_400 * S


def fake_job(seconds: float | None = None, **changes: Any) -> Job:
    """The contract's job on the fake, without what each process has for itself."""
    job = json.loads(FAKE.read_text())
    alike = {"jitter": 0.0, "stalls": [], "errors": []}
    job |= {"autostart": False, "clients": 4, "fake": job["fake"] | alike}
    if seconds is not None:
        job["stop"] = {"roles": [], "seconds": seconds, "warmup_s": 1.0}
        for role in job["roles"]:
            role["stop"] = None
    return convert(job | changes, Job)


def of_step(job: Job, *, connections: int, per_s: float, arrivals: Arrivals) -> Job:
    """The job with the queries alone, by connections that share one rate."""
    query = structs.replace(
        job.roles[2],
        per="step",
        connections=connections,
        pace=RatePace(arrivals=arrivals, per_s=per_s),
        table=TableUse(of="pi", by="by_connection"),
    )
    return structs.replace(job, roles=(query,))


def run(job: Job, seats: Sequence[Seat], kept: list[str] | None = None) -> list[Json]:
    """The merged events of a job that nothing interferes with."""
    keep: Keep = (lambda _: None) if kept is None else kept.append
    found = []
    with SpreadLoad(job, seats, keep) as spread:
        for event in map(plain, spread.events()):
            if event["event"] == "ready":
                spread.go()
            elif event["event"] == "window_close":
                spread.stop()
            found.append(event)
    return found


def counted(found: Sequence[Json]) -> list[Json]:
    """What ticks have counted, with histograms as counts."""
    ticks = [event for event in found if event["event"] == "tick"]
    return [
        tick
        | {"mono_ns": 0}
        | {key: cells(tick[key]) for key in ("lag", "queue")}
        | {
            "operations": {
                name: part | {key: cells(part[key]) for key in ("response", "service")}
                for name, part in tick["operations"].items()
            }
        }
        for tick in ticks
    ]


def cells(text: str) -> bytes:
    return hdr_histogram.counts_of_each([[text]])[0].counts.tobytes()


def one(found: Sequence[Json], name: str) -> Json:
    (event,) = (event for event in found if event["event"] == name)
    return event


@pytest.mark.parametrize("of", [2, 3])
@pytest.mark.parametrize("job", [fake_job(), fake_job(seconds=3.0)], ids=["work", "timed"])
def test_several_generators_count_what_one_does(job: Job, of: int) -> None:
    alone = list(map(plain, loadgen.run(job)))
    kept: list[str] = []
    seats = [seat(f"c{number}", offset_ns=number * DAY_NS // 50) for number in range(of)]
    found = run(job, seats, kept)
    assert counted(found) == counted(alone)
    assert one(found, "done")["totals"] == one(alone, "done")["totals"]
    closed, whole = one(found, "window_close"), one(alone, "window_close")
    assert closed["active_ns"] == whole["active_ns"]
    assert since_start_ms(found, closed) == pytest.approx(since_start_ms(alone, whole), abs=60)
    assert [plain(events.parse(line)) for line in kept] == found, "it is a stream of the contract"
    names = [event["event"] for event in found]
    assert (names[0], names[-1]) == ("hello", "done")
    assert names.count("connected") == one(found, "ready")["connections"]


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
def test_several_generators_keep_one_rate_to_the_operation(arrivals: Arrivals) -> None:
    job = of_step(fake_job(seconds=20.0), connections=7, per_s=997.0, arrivals=arrivals)
    alone = operations(list(map(plain, loadgen.run(job))))
    for of in (2, 3):
        found = operations(run(job, [seat(f"c{number}") for number in range(of)]))
        assert found == alone
    assert arrivals == "poisson" or alone[1:-1] == [997] * 20
    assert alone[-1] <= 7, "what was in flight at the end"


def operations(found: Sequence[Json]) -> list[int]:
    """How many ended in each second."""
    return [event["per_client"][0][0] for event in found if event["event"] == "tick"]


def since_start_ms(found: Sequence[Json], close: Json) -> list[float | None]:
    """When roles and clients ended since the start; a busy machine may start one a little later."""
    start_ns = one(found, "started")["mono_ns"]
    times = [*close["ended"].values(), close["clients_end_ns"], [close["mono_ns"]]]
    return [end and (end - start_ns) / 1e6 for its in times for end in its]


def test_all_start_at_one_instant_whatever_their_clocks_say() -> None:
    seats = [seat("near"), seat("ahead", offset_ns=DAY_NS), seat("behind", offset_ns=-S)]
    with SpreadLoad(fake_job(seconds=2.0), seats, lambda _: None) as spread:
        before_ns = time.monotonic_ns()
        for event in map(plain, spread.events()):
            if event["event"] == "ready":
                spread.go()
            elif event["event"] == "started":
                # The fake's clock jumps to the start as soon as that is near.
                assert before_ns < event["mono_ns"] < time.monotonic_ns() + S // 10
                ahead_ns = event["unix_ns"] - event["mono_ns"]
                assert abs(ahead_ns - (time.time_ns() - time.monotonic_ns())) < S
            elif event["event"] == "window_close":
                spread.stop()
    starts = spread.starts_ns
    assert starts.keys() == {"near", "ahead", "behind"}
    assert len(set(starts.values())) == 1


def test_one_that_starts_late_makes_no_load_of_the_plan() -> None:
    seats = [seat("c1"), seat("c2", late_ns=90_000_000)]
    with pytest.raises(GeneratorDied, match="generator on c2 started 90 ms after the first"):
        run(fake_job(seconds=1e5), seats)


def test_one_that_dies_ends_the_step_and_leaves_no_other() -> None:
    started: list[Any] = []
    seats = [seat("c1", started=started), seat("c2", started=started)]
    with (
        pytest.raises(GeneratorDied, match=r"generator on c2: .*killed by signal 9"),
        SpreadLoad(fake_job(seconds=1e5), seats, lambda _: None) as spread,
    ):
        for event in map(plain, spread.events()):
            if event["event"] == "ready":
                spread.go()
            elif event["event"] == "tick":
                started[1].kill()
    for generator in started:
        assert not Path(f"/proc/{generator.pid}").exists()


def test_one_whose_load_fails_ends_that_of_the_others() -> None:
    def failing(job: Job) -> Job:
        errors = [{"statement": "insert", "every": 1, "code": "23505"}]
        assert isinstance(job.fake, dict)
        return structs.replace(job, fake=job.fake | {"errors": errors})

    found = run(fake_job(seconds=1e5), [seat("c1"), seat("c2", change=failing), seat("c3")])
    done = one(found, "done")
    assert done["status"] == one(found, "window_close")["status"] == "failed"
    assert "23505" in done["reason"]
    assert done["reason"].endswith("(generator on c2)")


def test_one_that_cannot_connect_ends_the_step_before_its_start() -> None:
    def nowhere(job: Job) -> Job:
        server = Endpoint(host="/nowhere", port=1, user="u", database="d")
        return structs.replace(job, engine="postgres", fake=None, server=server)

    found = run(fake_job(seconds=5.0), [seat("c1"), seat("c2", change=nowhere)])
    names = [event["event"] for event in found]
    assert {"ready", "started", "window_close"}.isdisjoint(names)
    assert one(found, "done")["status"] == "failed"
    assert one(found, "done")["reason"].endswith("(generator on c2)")


def test_a_stop_ends_all() -> None:
    with SpreadLoad(fake_job(seconds=1e5), [seat("c1"), seat("c2")], lambda _: None) as spread:
        for event in map(plain, spread.events()):
            if event["event"] == "ready":
                spread.go()
            elif event["event"] == "tick":
                spread.stop()
    assert (event["event"], event["status"]) == ("done", "stopped")


def test_each_thread_has_its_host_and_what_all_spent_is_added() -> None:
    found = run(fake_job(seconds=2.0), [seat("c1"), seat("c2")])
    done = one(found, "done")
    assert [thread["host"] for thread in done["threads"]] == ["c1", "c2"]
    assert done["cpu_us"] == sum(thread["cpu_us"] for thread in done["threads"])


def test_only_the_generator_of_this_host_is_known_by_its_process() -> None:
    for here, known in (((False, False), False), ((False, True), True), ((True, True), False)):
        started: list[Any] = []
        seats = [seat(f"c{n}", here=here[n], started=started) for n in range(2)]
        hello = run(fake_job(seconds=1.0), seats)[0]
        assert hello.get("pid") == (started[1].pid if known else None)


def test_the_lines_of_each_are_kept_as_they_came() -> None:
    raw: dict[str, list[str]] = {"c1": [], "c2": []}
    with SpreadLoad(
        fake_job(seconds=1.0), [seat("c1"), seat("c2")], lambda _: None, raw=lambda n: raw[n].append
    ) as spread:
        for event in map(plain, spread.events()):
            if event["event"] == "ready":
                spread.go()
            elif event["event"] == "window_close":
                spread.stop()
    for lines in raw.values():
        own = [events.parse(line) for line in lines]
        assert isinstance(own[0], events.HelloEvent) and own[0].pid != os.getpid()
        assert own[-1].name == "done"


# --- Which jobs are shared -------------------------------------------------------------------


def test_a_job_has_as_many_generators_as_can_share_it() -> None:
    job = fake_job()
    assert [width(job, seats) for seats in (1, 3, 9)] == [1, 3, 4], "four clients"
    beside = structs.replace(job.roles[2], name="beside", per="step", connections=1)
    shared = structs.replace(job, roles=(*job.roles, beside))
    assert width(shared, 3) == 3, "one of them has the connection beside"
    ends = structs.replace(shared, stop=StopRule(roles=("insert", "beside")))
    assert width(ends, 3) == 1, "it ends the step"
    eight = structs.replace(beside, connections=8)
    alone = structs.replace(job, roles=(eight,), clients=1, stop=StopRule(seconds=5))
    assert width(alone, 9) == 8
    waits = structs.replace(eight, name="last", after=("insert",))
    assert width(structs.replace(job, roles=(*job.roles, waits)), 3) == 1
    burst = structs.replace(eight, pace=RatePace(arrivals="burst", per_s=5))
    assert width(structs.replace(job, roles=(*job.roles, burst)), 3) == 1
    fills = (Fill(table="t", rows=1, columns=()),)
    assert width(structs.replace(job, roles=(), fills=fills), 3) == 1


def test_what_cannot_be_shared_is_made_on_the_first_seat() -> None:
    written = json.loads((FAKE.parent / "job-fill.json").read_text())
    fake = {"engine": "fake", "server": None, "fake": {"default_us": 1.0}, "autostart": False}
    job = convert(written | fake, Job)
    started: list[Any] = []
    found = run(job, [seat("c1", started=started), seat("c2", started=started)])
    assert len(started) == 1
    assert one(found, "done")["status"] == "ok"
    assert counted(found) == counted(list(map(plain, loadgen.run(job))))


def test_the_generator_takes_each_segment_that_is_dealt_out() -> None:
    job = fake_job(seconds=1.0)
    beside = structs.replace(job.roles[2], name="beside", per="step", connections=2)
    five = structs.replace(beside, connections=5)
    for roles, clients in (((*job.roles, beside), 3), ((five,), 1)):
        shared = structs.replace(job, roles=roles, clients=clients)
        of = width(shared, 9)
        seats = [seat(f"c{number}") for number in range(9)]
        assert one(run(shared, seats), "done")["status"] == "ok"
        assert of in (3, 5)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"driver": "pgbench"}, "pgbench makes its load beside the server"),
        ({"log": Log(share=1.0)}, "c1, c2"),
    ],
)
def test_what_other_hosts_cannot_do_is_refused(changes: Json, word: str) -> None:
    step = plain_step(fake_job())
    refuse_unfit(step, ["c1", "c2"])
    with pytest.raises(PlanError, match=word):
        refuse_unfit(replace(step, job=structs.replace(step.job, **changes)), ["c1", "c2"])


def plain_step(job: Job) -> Step:
    return Step(
        ordinal=1, name="s", workload="w", measured=True, writes=True, warm="none", setup=(),
        job=job, headline=None, sla=None, pad_to_s=None, roles={}, tables=(), explain={},
        expected_s=None, nominal_s=None,
    )  # fmt: skip


# --- The stream ------------------------------------------------------------------------------


@cache
def recorded() -> list[list[Json]]:
    """What each of three generators says of a job."""
    job = fake_job()
    segments = (JobSegment(index=index, of=3) for index in range(3))
    parts = (structs.replace(job, segment=segment) for segment in segments)
    return [list(map(plain, loadgen.run(part))) for part in parts]


def merged(order: Callable[[], int]) -> list[Json]:
    """The events of all in such an order of generators; those of the load when all are ready."""
    merge = Merge(fake_job(), [Share(name=f"c{n}", offset_ns=0, here=False) for n in range(3)])
    ready = [[event["event"] for event in own].index("ready") + 1 for own in recorded()]
    parts = (
        [own[:end] for own, end in zip(recorded(), ready, strict=True)],
        [own[end:] for own, end in zip(recorded(), ready, strict=True)],
    )
    found: list[Json] = []
    for part in parts:
        left = [list(reversed(own)) for own in part]
        while any(left):
            number = order()
            if left[number]:
                found += map(plain, merge.take(number, typed(left[number].pop())))
    assert merge.over
    return found


@cache
def in_turn() -> list[Json]:
    """What ticks count where each generator speaks in its turn."""
    return counted(merged(partial(next, cycle(range(3)))))


@settings(max_examples=8)
@given(st.integers(min_value=0))
def test_in_whatever_order_events_come_one_stream_comes_of_them(seed: int) -> None:
    found = merged(partial(random.Random(seed).randrange, 3))
    names = [event["event"] for event in found]
    order = ("hello", "ready", "started", "window_open", "tick", "window_close", "done")
    places = [names.index(name) for name in order]
    assert places == sorted(places)
    assert names[0] == "hello"
    roles = [role.name for role in fake_job().roles]
    assert names[names.index("window_close") + 1 :] == ["tick"] * len(roles) + ["done"]
    ticks = [(event["tick"], event["role"]) for event in found if event["event"] == "tick"]
    numbers = range(1, max(tick for tick, _ in ticks) + 1)
    assert ticks == [(number, role) for number in numbers for role in roles]
    assert counted(found) == in_turn()


def told(*said: tuple[int, Json]) -> list[Json]:
    """The merged events of two generators of no ticks; times are their order."""
    hello = {"protocol": 1, "version": "1", "commit": None, "profile": "release", "pid": 1}
    merge = Merge(fake_job(), [Share(name=f"c{n}", offset_ns=0, here=False) for n in range(2)])
    first = [(number, {"event": "hello", **hello}) for number in range(2)]
    found: list[Json] = []
    for mono_ns, (number, event) in enumerate([*first, *said]):
        found += map(plain, merge.take(number, typed({"mono_ns": mono_ns, **event})))
    return found[1:]


def named(name: str, number: int, **keys: object) -> tuple[int, Json]:
    return number, {"event": name, **keys}


def closed(number: int, **keys: object) -> tuple[int, Json]:
    ends = {"ended": {}, "clients_end_ns": [None] * 4}
    return named("window_close", number, active_ns=5, **ends, **keys)


def test_all_are_paused_when_the_last_is_and_go_on_when_the_last_does() -> None:
    said = [named("paused", 1), named("paused", 0), named("resumed", 0), named("resumed", 1)]
    found = told(*said, *said)
    assert [(event["event"], event["mono_ns"]) for event in found] == [
        ("paused", 3), ("resumed", 5), ("paused", 7), ("resumed", 9),
    ]  # fmt: skip


def test_one_whose_work_is_done_is_not_waited_for_in_a_pause() -> None:
    found = told(closed(0), named("paused", 1), named("resumed", 1), closed(1))
    assert [event["event"] for event in found] == ["paused", "resumed", "window_close"]
    found = told(named("paused", 1), closed(0), named("resumed", 1), closed(1))
    assert [event["event"] for event in found] == ["paused", "resumed", "window_close"]
    found = told(named("paused", 0), closed(0), closed(1))
    assert [event["event"] for event in found] == ["window_close"], "it closed before all was quiet"


def test_errors_of_a_kind_are_written_as_often_as_one_generator_would() -> None:
    keys = {"role": "r", "client": 0, "connection": 0, "operation": "o", "message": "m"}
    plain = [named("error", n % 2, code="1", fatal=False, **keys) for n in range(50)]
    other = [named("error", 0, code="2", fatal=False, **keys)]
    fatal = [named("error", 1, code="1", fatal=True, **keys)]
    assert len(told(*plain, *other, *fatal)) == ERRORS_WRITTEN_MAX + 2


def test_generators_of_two_versions_are_refused() -> None:
    shares = [Share(name=name, offset_ns=0, here=False) for name in ("c1", "c2")]
    for key in ("version", "commit"):
        merge = Merge(fake_job(), shares)
        hello = recorded()[0][0] | {"version": "1", "commit": "a"}
        assert list(merge.take(0, typed(hello))) == []
        with pytest.raises(GeneratorError, match=f"on c1 has {key} .*on c2 other: install"):
            list(merge.take(1, typed(hello | {key: "other"})))
        for share in shares:
            share.said.clear()
