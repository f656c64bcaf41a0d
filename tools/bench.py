"""Measures what the load generator costs beside the server, from a plan's own results.

    python tools/bench.py [PLAN.toml]      default: plans/bench-generator.toml

Prints for each step and arm the median, minimum and maximum over the blocks of: the generator's CPU
as a share of the server's, its CPU per operation, and its peak memory.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from dbdyno import plan, runner
from dbdyno.analysis import derive
from dbdyno.store import Results

ROOT = Path(__file__).parent.parent
SHARE_PERCENT_MAX = 10
"""The target for l.i0 with one client: at most this share of the server's CPU."""
MEMORY_MIB_MAX = 50
"""The target for three connections."""


def measure(plan_file: Path) -> Results:
    """Runs the plan into a temporary folder; its results."""
    folder = Path(tempfile.mkdtemp(prefix="dyno-bench-"))
    return Results.open(runner.run(plan.load(plan_file), folder, wait=True).folder)


def rows(results: Results) -> Iterable[tuple[str, str, float, float, float]]:
    """Step, arm, share in percent, CPU in microseconds per operation, peak memory in MiB."""
    for block in results.blocks():
        for run in block.runs():
            for folder in run.steps():
                one = derive.step_run(folder)
                share = one.metrics.get("generator_share")
                cost_us = one.metrics.get("generator_cpu_per_op")
                if share is None or cost_us is None:
                    continue
                done = next(event for event in folder.events() if event["event"] == "done")
                yield one.step, one.arm, share, cost_us, done["peak_rss_bytes"] / (1 << 20)


def spread(values: list[float], digits: int) -> str:
    """`median (minimum to maximum)`."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> int:
    """Measures and prints; returns the exit status."""
    plan_file = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "plans/bench-generator.toml"
    results = measure(plan_file)
    found = list(rows(results))
    print(f"{'step':<8}{'arm':<8}{'share of the server’s CPU, %':<30}{'CPU, µs per op':<26}MiB")
    for step, arm in dict.fromkeys((step, arm) for step, arm, *_ in found):
        mine = [row for row in found if row[:2] == (step, arm)]
        shares, costs, memory = (list(column) for column in list(zip(*mine, strict=True))[2:])
        print(f"{step:<8}{arm:<8}{spread(shares, 1):<30}{spread(costs, 2):<26}{max(memory):.1f}")
    print(
        f"medians (minimum to maximum) of {len(results.blocks())} blocks in {results.folder}\n"
        f"targets: at most {SHARE_PERCENT_MAX} % in l.i0, under {MEMORY_MIB_MAX} MiB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
