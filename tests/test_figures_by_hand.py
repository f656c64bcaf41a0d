"""Every published figure of one step of each kind, computed again from the raw lines by hand.

The steps are those of a whole run: of the fake server, with jitter, a stall and a rate that is not
held, and, marked live, of PostgreSQL. `by_hand` shares nothing with what is tested.
"""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import by_hand
from by_hand import Raw
from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.engine.postgres import build as fetch
from dbdyno.findings.fairness.facts import FairnessFacts
from dbdyno.model import ResponseFacts, ResponseTimes, StepRun, TargetFacts
from dbdyno.model.metric import METRICS
from dbdyno.run import blocks
from dbdyno.store import Results, StepFolder
from one_arm import ONE_LIVE_ARM
from run_builder import operation, served

STEPS = ("l.i0", "l.x", "l.i1", "cleanup", "qr100", "qp100", "qr1000")
PUBLISHED = {metric.name for metric in METRICS if metric.published}

FAKE = """
name = "by-hand"
[arms.fake]
engine = "fake"
[arms.fake.fake]
service_us = { insert = 9_000, delete = 30_000, market = 300, register = 700, pdc = 20_000, \
points = 5_000, create_market = 400_000, create_register = 900_000, create_pdc = 700_000 }
server_cpu_us = { insert = 500, delete = 400, market = 40, points = 60 }
jitter = 0.9
stalls = [{ at_s = 4.5, for_s = 3.2 }]
[[workloads]]
name = "insert-benchmark"
parameters = { clients = 3, rows = 150_000, rows_i1 = 30_000, rates = [100, 1000], seconds = 14, \
wait_s = 0 }
steps = ["l.i0", "l.x", "l.i1", "cleanup", "qr100", "qp100", "qr1000"]
"""

LIVE = (
    'name = "by-hand-live"'
    + ONE_LIVE_ARM
    + """
[[workloads]]
name = "insert-benchmark"
parameters = {{ clients = 3, rows = 20_000, rows_i1 = 20_000, rates = [100], seconds = 11, \
wait_s = 0 }}
steps = ["l.i0", "l.x", "l.i1", "cleanup", "qr100", "qp100"]
"""
)


def steps_of(text: str, parent: Path) -> dict[str, StepFolder]:
    """Runs a plan of one arm and gives the folders of its steps by name."""
    outcome = blocks.run(plan.parse(text, None), parent, wait=True)
    assert outcome.failed == 0
    (block,) = Results.open(outcome.folder).blocks()
    (run,) = block.runs()
    return {step.name: step for step in run.steps()}


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StepFolder]:
    steps = steps_of(FAKE, tmp_path_factory.mktemp("fake"))
    for folder in steps.values():
        move_counters(folder.path / "host.jsonl")
    return steps


def move_counters(path: Path) -> None:
    """Makes the fake's machine, of which only the CPU moves, write, switch and grow."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines):
        line["host"]["context_switches"] = 7_001 * number**2
        line["host"]["cpu_us"]["softirq"] = 901 * number
        line["rss_bytes"] = 1_000_003 * (1 + number % 4)
        line["disk"] |= {"reads": 13 * number, "read_bytes": 80_021 * number}
        line["disk"] |= {"writes": 101 * number, "write_bytes": 990_001 * number}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, StepFolder]]:
    newest = max(fetch.installed(), key=lambda build: build.version_num)
    data = Path("/var/tmp") / f"dyno-by-hand-{os.getpid()}"
    text = LIVE.format(base_dir=newest.base_dir, data=data)
    yield steps_of(text, tmp_path_factory.mktemp("live"))
    shutil.rmtree(data, ignore_errors=True)


def compare(folder: StepFolder) -> StepRun:
    """Compares all figures of a step with those by hand; gives the derived step."""
    run, raw = assemble.step_run(folder), Raw(folder.path)
    assert run.ending.status == "ok"
    expected = by_hand.published(raw)
    assert expected.keys() == PUBLISHED
    assert {name: run.metrics[name] for name in expected} == pytest.approx(expected)
    compare_response(run, raw)
    compare_fairness(run, raw)
    compare_series(run, raw)
    compare_seconds(run, raw)
    return run


def compare_response(run: StepRun, raw: Raw) -> None:
    for kind in ("insert", "delete", "query"):
        expected = by_hand.response(raw, raw.roles(kind))
        assert (kind in run.of(ResponseFacts).by_kind) is (expected is not None)
        if expected is not None:
            compare_times(run.of(ResponseFacts).by_kind[kind], raw, raw.roles(kind), "response")
            compare_times(served(run)[kind], raw, raw.roles(kind), "service")


def compare_times(times: ResponseTimes, raw: Raw, roles: list[str], which: str) -> None:
    found = asdict(times)
    assert found.pop("at_least") == (), "no histogram ends below a time"
    exact = [found.pop("mean_us"), found.pop("sd_us")]
    whose = [found.pop("of"), found.pop("name"), found.pop("paced")]
    assert whose[0] == "kind", whose
    assert found == by_hand.response(raw, roles, which)
    # A histogram knows three digits of each time.
    assert exact == pytest.approx(by_hand.moments(raw, roles, which), rel=2e-3, abs=1.0)


def compare_fairness(run: StepRun, raw: Raw) -> None:
    shared = {tick["role"] for tick in raw.ticks if len(tick["per_client"]) > 1}
    assert {fair.role for fair in run.of(FairnessFacts).fairness} == shared
    for fair in run.of(FairnessFacts).fairness:
        assert_alike(fair, by_hand.fairness(raw, fair.role, raw.step["roles"][fair.role]))
    role = (raw.step["headline"] or {}).get("role")
    (own,) = [fair for fair in run.of(FairnessFacts).fairness if fair.role == role] or [None]
    names = {"jain": "jain", "finish_diff_s": "diff_s", "finish_pct": "pct"}
    for metric, field in names.items():
        assert run.metrics[metric] == (None if own is None else getattr(own, field))


def compare_series(run: StepRun, raw: Raw) -> None:
    for kind in ("insert", "delete", "query"):
        names = [name for name in run.series if name.startswith(f"{kind}.client.")]
        of_kind = [tick for tick in raw.ticks if tick["role"] in raw.roles(kind)]
        drawn = any(tick["active_ns"] >= 5e8 for tick in of_kind)  # a quick server is sooner done
        assert len(names) == (3 if drawn else 0)
        for client in range(len(names)):
            series = run.series[f"{kind}.client.{client}.rate"]
            (role,) = raw.roles(kind)
            assert series.y == pytest.approx(by_hand.client_rates(raw, role, kind, client))
            assert series.x_s == run.series[f"{kind}.rate"].x_s


def compare_seconds(run: StepRun, raw: Raw) -> None:
    """Stalls and targets; which roles have them is seen by the test of each step."""
    for stall in run.of(FairnessFacts).stalls:
        assert_alike(stall, by_hand.stalls(raw, stall.role, stall.kind))
    for target in run.of(TargetFacts).targets:
        assert_alike(target, by_hand.target(raw, target.role))
    targets = run.of(TargetFacts).targets
    deletes = [target.achieved_per_s for target in targets if target.kind == "delete"]
    expected = [100 * achieved / targets[0].target_per_s for achieved in deletes] or [None]
    assert run.metrics["dps_share_of_target"] == pytest.approx(expected[0])
    missed = run.of(TargetFacts).targets[0].seconds_missed if run.of(TargetFacts).targets else None
    assert run.metrics["target_missed_s"] == missed


def assert_alike(derived: Any, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if name in ("rates", "finish_s"):
            assert list(getattr(derived, name)) == pytest.approx(value, rel=1e-9)
        else:
            assert getattr(derived, name) == pytest.approx(value), name


# --- The fake server -------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_the_figures_of_the_fake_servers_steps_are_those_by_hand(
    fake: dict[str, StepFolder], step: str
) -> None:
    compare(fake[step])


def test_the_stall_of_the_fake_server_is_seen_in_each_long_step(fake: dict[str, StepFolder]):
    """4.5 to 7.7 s: the two whole seconds in it; of a step of one transaction each nothing."""
    for step, roles in (
        ("l.i0", {"insert"}),
        ("l.x", set()),
        ("l.i1", {"insert", "delete"}),
        ("qr100", {"insert", "delete", "query"}),
        ("qr1000", {"insert", "delete", "query"}),
    ):
        run = assemble.step_run(fake[step])
        assert {stall.role for stall in run.of(FairnessFacts).stalls} == roles
        assert {(stall.stalled, stall.longest_s) for stall in run.of(FairnessFacts).stalls} <= {
            (2, 2)
        }
        assert run.metrics["stalled_s"] == (2.0 if roles else None)


def test_the_rate_that_the_fake_server_cannot_hold_is_missed(fake: dict[str, StepFolder]) -> None:
    """20 deletes of 30 ms a second leave room for 1,000 rows/s, but not after a stall of 3.2 s."""
    verdicts = {
        step: [
            (target.role, target.met)
            for target in assemble.step_run(fake[step]).of(TargetFacts).targets
        ]
        for step in STEPS
    }
    held, missed = [("insert", True), ("delete", True)], [("insert", False), ("delete", False)]
    assert verdicts == {step: [] for step in STEPS} | {
        "qr100": held,
        "qp100": held,
        "qr1000": missed,
    }


@pytest.mark.parametrize("step", ["l.x", "cleanup"])
def test_traced_operations_lie_in_the_buckets_of_their_exact_times(
    fake: dict[str, StepFolder], step: str
) -> None:
    """Of these two steps the raw lines have each operation by itself."""
    compare_traced(fake[step])


def compare_traced(folder: StepFolder) -> None:
    run, raw = assemble.step_run(folder), Raw(folder.path)
    traced = {one["operation"] for one in raw.operations}
    assert traced
    for name in traced:
        ours = operation(run, name)
        exact = [
            (one["end_ns"] - one["due_ns"]) / 1e3
            for one in raw.operations
            if one["operation"] == name
        ]
        assert ours.count == len(exact)
        assert ours.max_us == pytest.approx(max(exact), abs=1)
        assert ours.buckets == tuple(by_hand.in_buckets(exact))


# --- PostgreSQL ------------------------------------------------------------------------------


@pytest.mark.live
@pytest.mark.parametrize("step", STEPS[:-1])
def test_the_figures_of_a_real_servers_steps_are_those_by_hand(
    live: dict[str, StepFolder], step: str
) -> None:
    run = compare(live[step])
    known = {name for name in PUBLISHED if run.metrics[name] is not None}
    assert known >= {"ips", "qps", "csps", "cpups", "rss", "dbgb1", "dbgb2"}
    assert ("cpupq" in known) is (step != "cleanup")
    assert {"p50", "p99"} <= known or not step.startswith("q"), "eleven seconds"


@pytest.mark.live
def test_operations_that_a_real_server_served_lie_in_the_buckets_of_their_exact_times(
    live: dict[str, StepFolder],
) -> None:
    compare_traced(live["l.x"])
