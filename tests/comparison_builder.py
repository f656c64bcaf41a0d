"""A made-up comparison with known numbers, for the tests of the reports.

Two arms, three blocks and the ten measured steps of the Insert Benchmark, of realistic size:
pg18 misses its target in qr1000 in two blocks, fails qp1000 in block 2, and stalls for 12 s in
l.i2 of block 2.
"""

import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import comparison_facts as facts
from comparison_clients import client_series, planted
from dbdyno.judge import doubts, estimates
from dbdyno.judge.pairing import facing
from dbdyno.model import (
    Cell,
    Comparison,
    OwnerCost,
    ResponseTimes,
    Series,
    Span,
    StepComparison,
    StepRun,
    TargetFacts,
    metric,
)
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.plan import Void
from run_builder import step_run
from verdict_builder import verdict

CLIENTS = 4
CORES = 8
STALLED = Doubt(
    subject=DoubtSubject.NO_OPERATION, words="no operation ended for 12 s, from second 300 on"
)
UNLIKE = "none in pg17's, 12.1 s in pg18's"
"""What a checkpoint did in one arm's window of l.i2."""


@dataclass(frozen=True)
class Made:
    """What a step of the made-up workload is like for the base arm."""

    name: str
    headline: str
    rate: float
    seconds: float
    target: float | None
    cpu_us: float
    median_us: float
    lift: float  # what pg18 does of it, times


RUNS_MAX = 200
"""So many runs are kept: nothing changes one, and drawing that of half an hour takes some time."""
STEPS = (
    Made("l.i0", "ips", 412_000, 98, None, 18.2, 380, 1.05),
    Made("l.x", "ips", 692_500, 58, None, 7.9, 410, 1.21),
    Made("l.i1", "ips", 83_600, 766, None, 84, 2_150, 1.004),
    Made("l.i2", "ips", 14_510, 1104, None, 420, 1_240, 0.93),
    Made("qr100", "qps", 48_310, 1800, 400, 63, 78, 0.985),
    Made("qp100", "qps", 19_880, 1800, 400, 164, 196, 1.012),
    Made("qr500", "qps", 47_150, 1800, 2000, 65, 80, 0.981),
    Made("qp500", "qps", 19_420, 1800, 2000, 166, 201, 1.009),
    Made("qr1000", "qps", 45_940, 1800, 4000, 68, 83, 0.902),
    Made("qp1000", "qps", 18_760, 1800, 4000, 170, 208, 1.006),
)


def comparison(
    *,
    blocks: int = 3,
    arms: Sequence[str] = ("pg17", "pg18"),
    troubles: bool = True,
    names: Collection[str] | None = None,
) -> Comparison:
    """The made-up comparison; without `troubles` every step ends well and holds its target.

    `names`: of its steps, those that are made; all of them take a second.
    """
    steps = tuple(
        _step(ordinal, made, arms, blocks, troubles)
        for place, made in enumerate(STEPS, start=1)
        for ordinal in [place if place < 5 else place + 1]
        if names is None or made.name in names
    )
    return Comparison(
        title="Insert Benchmark, 40M rows, 4 clients",
        label="made up: no server was measured",
        base=arms[0],
        arms=tuple(arms),
        blocks=blocks,
        host=facts.host(),
        generator=facts.generator(),
        servers={arm: facts.server(arm) for arm in arms},
        plan=facts.plan(arms, blocks),
        steps=steps,
        differences=facts.differences(arms),
        doubts=doubts.groups(arms, _doubts(steps, troubles)),
        incomplete="3 of 4 blocks done" if troubles else None,
    )


def _doubts(steps: Sequence[StepComparison], troubles: bool) -> Iterator[Doubt]:
    """What is to doubt of these steps."""
    compilers = "pg17 and pg18 were compiled by different compilers"
    yield Doubt(subject=DoubtSubject.BUILD, words=compilers)
    yield from doubts.of_runs(
        (run for step in steps for cell in step.cells for run in cell.runs), Void()
    )
    if troubles:
        yield Doubt(subject=DoubtSubject.NOT_FINISHED, words="3 of 4 blocks done")
        swapped = "try 1: 812 MB were swapped out"
        yield Doubt(subject=DoubtSubject.VOID, words=swapped, block=4)
        for step in steps:
            if step.step == "l.i2":
                yield Doubt(
                    subject=DoubtSubject.CHECKPOINTS,
                    words=UNLIKE,
                    workload=step.workload,
                    ordinal=step.ordinal,
                    step=step.step,
                    block=2,
                )


def _step(
    ordinal: int, made: Made, arms: Sequence[str], blocks: int, troubles: bool
) -> StepComparison:
    runs = {
        arm: tuple(
            one_run(ordinal, made, arm, block, place=place, troubles=troubles and place == 1)
            for block in range(1, blocks + 1)
        )
        for place, arm in enumerate(arms)
    }
    cells = all_cells(made.headline, [runs[arm] for arm in arms])
    return StepComparison(
        workload="insert-benchmark",
        ordinal=ordinal,
        step=made.name,
        headline=made.headline,
        cells=cells,
    )


@lru_cache(maxsize=RUNS_MAX)
def one_run(
    ordinal: int, made: Made, arm: str, block: int, *, place: int, troubles: bool
) -> StepRun:
    lift = made.lift**place
    draw = random.Random(f"{made.name} {arm} {block}")
    failed = troubles and made.name == "qp1000" and block == 2
    rate = made.rate * lift * math.exp(draw.gauss(0, 0.008))
    seconds = made.seconds / lift if made.headline == "ips" else made.seconds
    achieved = None if made.target is None else made.target
    if troubles and made.name == "qr1000" and block > 1:
        achieved = 3_214.0 + block
    stall = (300.0, 312.0) if troubles and made.name == "l.i2" and block == 2 else None
    series = _series(made, rate, seconds if not failed else 214.0, stall, draw)
    return step_run(
        workload="insert-benchmark",
        arm=arm,
        block=block,
        ordinal=ordinal,
        step=made.name,
        measured=True,
        status="failed" if failed else "ok",
        reason="the server ended in second 214 (signal 9: out of memory)" if failed else None,
        seconds=None if failed else seconds,
        counted=None if failed else rate * seconds,
        metrics={} if failed else _run_metrics(made, rate, achieved, draw),
        headline=made.headline,
        sla_target=made.target,
        sla_achieved=None if failed else achieved,
        sla_met=None
        if failed or made.target is None or achieved is None
        else achieved >= round(0.95 * made.target),
        response=()
        if failed
        else (
            *_named("kind", _responses(made, rate * seconds, stall is not None, draw)),
            *_named("operation", _operations(made, rate * seconds, draw)),
        ),
        series=series,
        costs=() if failed else _owners(made, rate * seconds, draw),
        spans=_spans(seconds, stall, draw),
        end_spread=draw.uniform(0, 0.02),
        limited=(),
        doubts=(STALLED,) if stall else (),
        **(
            planted(
                made.name, place, seconds=seconds, rate=rate, target=made.target, achieved=achieved
            )
            if not failed
            else {}
        ),
    )


def all_cells(headline: str | None, runs: Sequence[tuple[StepRun, ...]]) -> tuple[Cell, ...]:
    """The cells of a step, the base's first, with verdicts."""
    base, *others = [one_cell(headline, its, runs[0]) for its in runs]
    return (base, *(replace(one, verdict=verdict(headline, one, base)) for one in others))


def one_cell(headline: str | None, runs: tuple[StepRun, ...], base: tuple[StepRun, ...]) -> Cell:
    """An arm's cell, without a verdict; the base's where both are the same."""
    sides = (base,) if runs[0].arm == base[0].arm else (base, runs)
    step = StepComparison(
        workload="",
        ordinal=1,
        step="",
        headline=headline,
        cells=tuple(_without_figures(side) for side in sides),
    )
    return estimates.with_figures(step, {runs[0].arm: facing(runs, base)}).cells[-1]


def _without_figures(runs: tuple[StepRun, ...]) -> Cell:
    met = [run.of(TargetFacts).met for run in runs if run.of(TargetFacts).met is not None]
    return Cell(
        arm=runs[0].arm,
        runs=runs,
        value=None,
        value_bound="exact",
        ratio=None,
        ratio_bound="exact",
        sla_met=sum(met) if any(run.facts.sla_target is not None for run in runs) else None,
        metrics={},
        estimates={},
    )


def _run_metrics(
    made: Made, rate: float, achieved: float | None, draw: random.Random
) -> Mapping[str, float | None]:
    def near(value: float) -> float:
        return value * math.exp(draw.gauss(0, 0.02))

    loads = made.headline == "ips"
    ips = rate if loads else (achieved or 0.0)
    found: dict[str, float | None] = {one.name: None for one in metric.METRICS}
    found |= {
        "ips": ips,
        "qps": 0.0 if loads else rate,
        "rps": near(3.1),
        "rmbps": near(0.05),
        "wps": near(2_410),
        "wmbps": near(187.4),
        "rpq": near(0.00006),
        "rkbpq": near(0.0011),
        "wpi": near(2_410) / ips if ips else None,
        "wkbpi": near(187.4) * 1024 / ips if ips else None,
        "csps": near(4.0) * rate / (50 if loads else 1),
        "cpups": near(made.cpu_us) * rate / CORES / 1e4,
        "cspq": near(4.0) / (50 if loads else 1),
        "cpupq": near(made.cpu_us),
        "dbgb1": 34.6 if made.name != "l.i0" else 17.2,
        "dbgb2": near(80.1),
        "rss": near(23.4),
        "maxop": near(0.412),
        "p50": None if made.name == "l.x" else near(rate / CLIENTS),
        "p99": None if made.name == "l.x" else near(rate / CLIENTS * 0.31),
        "dps": 0.0 if made.name in ("l.i0", "l.x") else ips,
        "cpu_per_op": near(made.cpu_us * 0.81),
        "background_cpu_per_op": near(made.cpu_us * 0.07),
        "generator_cpu_per_op": near(made.cpu_us * 0.04),
        "generator_share": near(4.9),
        "cs_per_op": near(2.02),
        "wal_bytes_per_op": near(1_214),
        "fpi_per_op": near(0.0213),
        "checkpoints": 1.0,
        "checkpoint_overlap_s": near(212),
        "autovacuum_runs": 7.0,
        "dead_rows_after": near(214_880),
        "response_p99_us": near(made.median_us * 3.3),
        "late_ms_max": near(1.2),
        "retries": 0.0,
        "errors": 0.0,
        "canary_cpu_us": near(41_230),
        "canary_fsync_us": near(618),
        "steal_share": 0.0,
    }
    return found


def _times(count: float, median_us: float, draw: random.Random, longest_us: float) -> ResponseTimes:
    bounds = [256 * 4**power for power in range(9)]
    shares, last = [], 0.0
    for bound in bounds:
        below = 0.5 * (1 + math.erf(math.log(bound / median_us) / (0.55 * math.sqrt(2))))
        shares.append(max(0.0, below - last))
        last = below
    shares.append(max(0.0, 1 - last))
    buckets = [round(share * count) for share in shares]
    buckets[bounds.index(256 * 4**5)] += 3  # a few of up to 256 ms
    factor = math.exp(draw.gauss(0, 0.01))
    return ResponseTimes(
        count=sum(buckets),
        buckets=tuple(buckets),
        p50_us=median_us * factor,
        p90_us=median_us * 2.02 * factor,
        p99_us=median_us * 3.6 * factor,
        p999_us=median_us * 5.5 * factor,
        max_us=round(longest_us * factor),
    )


def _named(
    of: Literal["kind", "operation"], times: Mapping[str, ResponseTimes]
) -> Iterable[ResponseTimes]:
    return (replace(each, of=of, name=name) for name, each in times.items())


def _responses(
    made: Made, work: float, stalled: bool, draw: random.Random
) -> Mapping[str, ResponseTimes]:
    longest = 12_003_417 if stalled else 231_904
    if made.headline == "qps":
        writes = (made.target or 0) * made.seconds / 50
        return {
            "query": _times(work, made.median_us, draw, 41_800),
            "insert": _times(writes, 1_912, draw, 312_700),
            "delete": _times(writes, 924, draw, 214_100),
        }
    found = {"insert": _times(work / 50, made.median_us, draw, longest)}
    if made.name in ("l.i1", "l.i2"):
        found["delete"] = _times(work / 50, made.median_us * 1.8, draw, longest * 1.1)
    return found


def _operations(made: Made, work: float, draw: random.Random) -> Mapping[str, ResponseTimes]:
    if made.headline == "ips":
        return {}
    names = ("market", "register", "pdc") if made.name.startswith("qr") else ("point",)
    return {
        **{name: _times(work / len(names), made.median_us, draw, 41_800) for name in names},
        "insert": _times(36_000, 1_912, draw, 312_700),
        "delete": _times(36_000, 924, draw, 214_100),
    }


def _series(
    made: Made, rate: float, seconds: float, stall: tuple[float, float] | None, draw: random.Random
) -> Mapping[str, Series]:
    x = tuple(float(second) for second in range(1, int(seconds) + 1))
    level = 0.0
    rates, longest = [], []
    for second in x:
        level = 0.85 * level + draw.gauss(0, 0.02)
        wave = 0.16 * math.sin(second / 45) if made.name in ("l.i1", "l.i2") else 0.0
        still = stall is not None and stall[0] < second < stall[1]
        rates.append(0.0 if still else round(rate * (1 + level + wave), 1))
        spike = 30 if draw.random() < 0.01 else 1
        longest.append(0.0 if still else made.median_us * 8 * math.exp(draw.gauss(0, 0.3)) * spike)
    if stall is not None:
        longest[int(stall[1])] = 12_003_417.0
    kind = "insert" if made.headline == "ips" else "query"
    whole = Series(x_s=x, y=tuple(rates))
    found = {
        f"{kind}.rate": whole,
        **client_series(kind, whole),
        f"{kind}.max_us": Series(x_s=x, y=tuple(longest)),
        "host.cpu_pct": Series(x_s=x, y=tuple(48 + draw.gauss(0, 2) for _ in x)),
        "disk.write_mbps": Series(x_s=x, y=tuple(abs(draw.gauss(187, 60)) for _ in x)),
    }
    if made.target is not None:
        y = tuple(made.target + draw.choice((-50, 0, 0, 0, 50)) for _ in x)
        found["insert.rate"] = Series(x_s=x, y=y)
        found["insert.max_us"] = Series(
            x_s=x, y=tuple(9_000 * math.exp(draw.gauss(0, 0.4)) for _ in x)
        )
    if made.name not in ("l.i0", "l.x") and "insert.rate" in found:
        source = found["insert.rate"]
        found["delete.rate"] = Series(x_s=x, y=source.y)
        found["delete.max_us"] = Series(
            x_s=x, y=tuple(0.6 * y * math.exp(draw.gauss(0, 0.2)) for y in longest)
        )
    return found


def _spans(
    seconds: float, stall: tuple[float, float] | None, draw: random.Random
) -> tuple[Span, ...]:
    start = stall[0] - 60 if stall else draw.uniform(0.1, 0.5) * seconds
    spans = [
        Span(kind="checkpoint", label="time", start_s=start, end_s=start + min(270, seconds / 3))
    ]
    at = draw.uniform(5, 60)
    while at < seconds:
        length = draw.uniform(8, 24)
        spans.append(Span(kind="autovacuum", label="ib.pi1", start_s=at, end_s=at + length))
        at += length + draw.uniform(40, 90)
    return tuple(spans)


def _owners(made: Made, work: float, draw: random.Random) -> tuple[OwnerCost, ...]:
    def cost(owner: str, share: float, switches: float | None, write: float | None) -> OwnerCost:
        return OwnerCost(
            owner=owner,
            cpu_us=made.cpu_us * share * work * math.exp(draw.gauss(0, 0.01)),
            context_switches=None if switches is None else switches * work,
            read_bytes=None if write is None else 0.0,
            write_bytes=None if write is None else write * work,
        )

    roles = ("insert", "delete", "query") if made.headline == "qps" else ("insert",)
    return (
        *(cost(f"role:{role}", 0.81 / len(roles), 1.01, 310.0) for role in roles),
        cost("background:checkpointer", 0.021, 0.002, 512.0),
        cost("background:walwriter", 0.014, 0.004, 410.0),
        cost("background:autovacuum worker", 0.043, 0.01, 88.0),
        cost("background:background writer", 0.003, 0.001, 40.0),
        cost("exited", 0.002, None, None),
        cost("generator", 0.04, 0.9, 0.0),
        cost("lab", 0.001, 0.001, 0.2),
        cost("rest", 0.021, None, None),
    )
