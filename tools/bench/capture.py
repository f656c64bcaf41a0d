"""How fast logs are captured, and how much memory that takes."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import made_logs
from bench import analysis
from bench.compare import Bench, progress
from bench.figure import Figure, Target, at_most

MEGABYTES: Mapping[made_logs.Form, int] = {"csv": 300, "json": 300, "stderr": 2000}
RATE_MIN, MEMORY_MIB_MAX = 20.0, 286.0
"""MB of log for each second of CPU; 300 MB."""


def measure(bench: Bench) -> Iterator[Figure]:
    """The rate and the memory of each format of PostgreSQL's log."""
    for form, megabytes in MEGABYTES.items():
        with tempfile.TemporaryDirectory(prefix="dyno-bench-") as parent:
            log = Path(parent) / f"postgresql.{form}"
            progress(f"capture: making {megabytes:,} MB of {form}")
            made_logs.make(log, form, megabytes)
            cost = analysis.run(
                analysis.dyno("capture", str(log), "--out", str(Path(parent) / "app"))
            )
        rate, name = megabytes / cost.cpu_s, f"{form} {megabytes}"
        progress(f"capture {name} MB: {rate:.0f} MB/s of CPU, {cost.memory_mib:,.0f} MiB")
        figure = Figure(measurement="capture", beside=name, what="", digits=0, detail=asdict(cost))
        least = Target(bound=RATE_MIN, at_least=True)
        yield replace(figure, what="MB/s CPU", values=(rate,), target=least)
        memory = at_most(MEMORY_MIB_MAX)
        yield replace(figure, what="MiB", values=(cost.memory_mib,), target=memory)
