"""Races of one build against itself: how much of their minutes lies in windows, and what it buys.

A row is a race of published steps, or of a script of one's own, from its command to its report. The
build is raced against itself, so that its intervals tell the noise alone.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from dbdyno.analysis import compare
from dbdyno.model.error import DynoError
from dbdyno.model.metric.primary import is_cpu
from dbdyno.model.step_files import StepDone
from dbdyno.store import Results
from dbdyno.store.file import read_struct
from trials.beside import last_line
from trials.trial import Column, Figures, Measure, Side, Trial

VERSION = "18"
MINUTES = 5.0
SCRIPT = """\\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
OVERTIME = 3
"""After so many times its minutes a race is ended."""
BUSY = "another lab measures on this host"
AGAIN_S = 5.0
NS_PER_S = 1e9


@contextmanager
def opened() -> Iterator[Mapping[str, Measure]]:
    """A folder with the script; each race makes its own servers."""
    with tempfile.TemporaryDirectory(prefix="dyno-minutes-") as folder:
        script = Path(folder) / "mine.sql"
        script.write_text(SCRIPT)
        yield {
            "published": partial(measure, ()),
            "own": partial(measure, ("--pgbench", str(script), "--config", "default")),
        }


def measure(words: tuple[str, ...], side: Side) -> Figures:
    """A race with the programs of a side. Raises DynoError where it does not end well."""
    with tempfile.TemporaryDirectory(prefix="dyno-race-") as out:
        command = [*side.dyno, "race", VERSION, VERSION, *words, "--minutes", f"{MINUTES:g}"]
        begun_s, begun_unix_ns, done = alone(side, [*command, "--out", out])
        took_s = time.monotonic() - begun_s
        found = Results.within(Path(out))
        if not found:
            raise DynoError(f"{side.name}: {last_line(done.stderr.splitlines())}")
        return {"minutes": took_s / 60, **figures(found[0], begun_unix_ns, took_s)}


def alone(side: Side, command: list[str]) -> tuple[float, int, subprocess.CompletedProcess[str]]:
    """Runs a race once no other lab measures: when it began, by two clocks, and how it ended."""
    while True:
        begun_s, begun_unix_ns = time.monotonic(), time.time_ns()
        done = subprocess.run(
            command,
            cwd=side.package,
            env=side.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=OVERTIME * 60 * MINUTES,
        )
        if BUSY not in done.stderr:
            return begun_s, begun_unix_ns, done
        time.sleep(AGAIN_S)


def figures(results: Results, begun_unix_ns: int, took_s: float) -> Figures:
    """The share of windows after the first fill was kept, blocks, and half widths of intervals."""
    windows_s = sum(
        read_struct(path, StepDone).window_ns / NS_PER_S
        for path in results.folder.glob("blocks/*/*/*/*/done.json")
        if json.loads(path.with_name("step.json").read_text())["measured"]
    )
    kept = [
        use.made_unix_ns
        for block in results.blocks()
        for run in block.runs()
        for use in run.golden().values()
    ]
    fill_s = max(0.0, (min(kept, default=0) - begun_unix_ns) / NS_PER_S)
    comparison = compare.load(results)
    cells = [step.cells[1] for step in comparison.steps if step.cells[1].verdict is not None]
    rates = [half_width(cell.ratio.low, cell.ratio.high) for cell in cells if cell.ratio]
    costs = [
        half_width(ratio.low, ratio.high)
        for cell in cells
        for name, ratio in cell.estimates.items()
        if is_cpu(name)
    ]
    return {
        "windows": 100 * windows_s / (took_s - fill_s),
        "blocks": comparison.blocks,
        "throughput": median(rates) if rates else math.nan,
        "cpu": median(costs) if costs else math.nan,
    }


def half_width(low: float | None, high: float | None) -> float:
    """Half of an interval of a ratio, in percent; without a number where there is none."""
    return math.nan if low is None or high is None else 100 * (math.sqrt(high / low) - 1)


TRIAL = Trial(
    name="minutes",
    question=f"how much of a race of {MINUTES:g} minutes lies in windows, and how wide are the "
    "intervals of one build against itself?",
    rounds=5,
    minutes=50,
    rows=("published", "own"),
    columns=(
        Column(figure="minutes", heading="minutes"),
        Column(figure="windows", heading="windows after the fill, %", digits=0, ratio=True),
        Column(figure="blocks", heading="blocks", digits=0),
        Column(figure="throughput", heading="throughput ±%", digits=1, ratio=True),
        Column(figure="cpu", heading="CPU ±%", digits=1, ratio=True),
    ),
    opened=opened,
)
