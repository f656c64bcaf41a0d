"""How much two arms of one build differ from block to block, by how they are interleaved.

The same build stands against itself, so whatever differs is noise: the standard deviation over
blocks of the log ratio of both arms, in throughput and in server CPU per operation, for arms that
run one after the other, step by step, and in turns, with the same seconds measured.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from scipy import stats

from bench.compare import Bench, progress
from bench.figure import Figure
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import golden
from dbdyno.host import place
from dbdyno.model import Comparison, Json, StepComparison
from dbdyno.model.engine import TRAITS
from dbdyno.model.plan import Interleave
from dbdyno.run import blocks

MEASUREMENT = "turns"
CLIENTS = 2
STEPS = {"point-query": "point", "range-covered-pk": "range"}
"""The steps, and what the table calls them."""
METRICS = {"qps": "rate", "cpu_per_op": "CPU"}
LEVEL = 0.95
BLOCKS_MIN = 3
"""Of fewer blocks a standard deviation says nothing."""
PLAN = """
name = "interleave-{interleave}"
[arms.a]
version = "{version}"
settings = {settings}
[arms.b]
version = "{version}"
settings = {settings}
[server]
data_dir = "{data_dir}"
[[workloads]]
name = "sysbench"
parameters = {{ clients = {clients}, rows = 100_000, seconds = {seconds}, warmup_s = 1 }}
steps = {steps}
save = "post-fill"
warm = "prewarm"
[schedule]
blocks = {blocks}
interleave = "{interleave}"
"""
SETTINGS = '{ shared_buffers = "256MB", autovacuum = false }'


def measure(bench: Bench) -> Iterator[Figure]:
    """The noise of each way to interleave, a block for each pair."""
    data_dir = place.data_root() / "bench-interleave"
    try:
        for interleave in get_args(Interleave):
            with tempfile.TemporaryDirectory(prefix="dyno-bench-") as folder:
                chosen = plan.parse(text(bench, interleave, data_dir), None)
                found = compare.load(blocks.run(chosen, Path(folder), wait=True).folder)
            yield from figures(interleave, found)
    finally:
        golden.remove(data_dir, [copy.name for copy in golden.marked(data_dir)])
        shutil.rmtree(
            data_dir, ignore_errors=True
        )  # empty folders; where it never came so far: none


def text(bench: Bench, interleave: str, data_dir: Path) -> str:
    """The plan of two arms alike."""
    return PLAN.format(
        interleave=interleave,
        version=TRAITS["postgres"].newest,
        settings=SETTINGS,
        data_dir=data_dir,
        clients=CLIENTS,
        seconds=bench.seconds,
        steps=json.dumps(["fill", *STEPS]),
        blocks=bench.pairs,
    )


def figures(interleave: str, comparison: Comparison) -> Iterator[Figure]:
    """The rows of the table for one way to interleave; each is told as one JSON line, too."""
    for step in comparison.steps:
        for metric, what in METRICS.items() if step.step in STEPS else ():
            ratios = log_ratios(step, metric)
            detail: Json = {"interleave": interleave, "step": step.step, "metric": metric}
            figure = Figure(
                measurement=MEASUREMENT,
                connections=CLIENTS,
                beside=interleave,
                what=f"{STEPS[step.step]} {what}",
                detail=detail,
            )
            if len(ratios) < BLOCKS_MIN:
                reason = f"blocks: {len(ratios)} measured, take --pairs {BLOCKS_MIN} or more"
                yield replace(figure, missing=reason)
                continue
            detail |= noise(ratios)
            progress(json.dumps(detail))
            low, high = detail["sd_percent_interval"]
            yield replace(
                figure,
                values=(detail["sd_percent"],),
                shown=f"{detail['sd_percent']:.2f} ({low:.2f} to {high:.2f})",
            )


def log_ratios(step: StepComparison, metric: str) -> list[float]:
    """ln(b / a) of each block that has both."""
    a, b = (
        {
            run.block: value
            for run in cell.runs
            if (value := run.metrics.get(metric)) is not None and value > 0
        }
        for cell in sorted(step.cells, key=lambda cell: cell.arm)
    )
    return [math.log(b[block] / a[block]) for block in sorted(a.keys() & b.keys())]


def noise(ratios: Sequence[float]) -> Json:
    """Standard deviation and mean of log ratios, in percent, with the interval of the former.

    (n − 1) s² / σ² has the chi-square distribution of n − 1 degrees of freedom, where the ratios
    are independent and normal.
    """
    sd, freedom = statistics.stdev(ratios), len(ratios) - 1
    low, high = (
        sd * math.sqrt(freedom / stats.chi2.ppf(share, freedom))
        for share in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)
    )
    return {
        "blocks": len(ratios),
        "sd_percent": round(100 * sd, 3),
        "sd_percent_interval": [round(100 * low, 3), round(100 * high, 3)],
        "mean_percent": round(100 * statistics.fmean(ratios), 3),
        "log_ratios": [round(ratio, 5) for ratio in ratios],
    }
