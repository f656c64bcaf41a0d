"""How fast results are read, compared and reported, and how much memory that takes."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import made_results
from bench import results
from bench.arms import ROOT
from bench.compare import Bench, progress
from bench.figure import Figure, at_most
from bench.process import ProgramFailed
from dbdyno.store import Results

BLOCKS = 6
LENGTHS_S = (10, 60, 1_800)
"""Of a step: a demo's, a short plan's, the published one."""
REAL_S_MAX = 60
"""Longer steps are made of one of this length."""
REPORT_S_MAX, MANY_S_MAX, MANY_MIB_MAX = 5.0, 10.0, 1_000.0
SAMPLE_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a command took."""

    seconds: float
    cpu_s: float  # of all its processes
    memory_mib: float  # the most at one time, of all its processes


def measure(bench: Bench) -> Iterator[Figure]:
    """The report of a plan by the length of its steps; then what is done with very many steps."""
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as parent:
        page = str(Path(parent) / "report.html")
        for seconds in LENGTHS_S:
            folder = made(Path(parent), seconds, BLOCKS)
            command = dyno("report", str(folder), "--html", page)
            yield from figures(folder, command, f"{seconds:,} s", REPORT_S_MAX, None)
            shutil.rmtree(folder)
        yield from of_many(Path(parent))


def of_many(parent: Path) -> Iterator[Figure]:
    """The comparison of 10,008 steps, with noise of their own; then their export and report."""
    blocks = made_results.BLOCKS
    progress(f"analysis: making {blocks} blocks of {made_results.SECONDS} s")
    folder = parent / "many"
    made_results.made(results.block(parent, made_results.SECONDS), folder, blocks=blocks)
    steps = f"{blocks * results.ARMS * results.STEPS:,}"
    comparison = dyno("compare", str(folder), "--json")
    yield from figures(folder, comparison, steps, MANY_S_MAX, MANY_MIB_MAX)
    table, page = parent / "many.duckdb", parent / "many.html"
    export = dyno("export", str(folder), "--to", str(table))
    report = dyno("report", str(folder), "--html", str(page))
    yield from costs(export, "export", "kept")
    yield from costs(report, "report", "kept")


def dyno(*words: str) -> list[str]:
    """A command of dyno's."""
    return [sys.executable, "-m", "dbdyno", *words]


def made(parent: Path, seconds: int, blocks: int) -> Path:
    """A result with steps of a length."""
    progress(f"analysis: making {blocks} blocks of {seconds:,} s")
    folder = results.block(parent, min(seconds, REAL_S_MAX))
    if seconds > REAL_S_MAX:
        results.lengthened(folder, seconds // REAL_S_MAX)
    results.multiplied(folder, blocks)
    return folder


def figures(
    folder: Path, command: Sequence[str], name: str, seconds_max: float, memory_max: float | None
) -> Iterator[Figure]:
    """Time and memory where everything is derived anew, and where it was kept."""
    shelf = Results.open(folder).shelf()
    assert shelf is not None
    shutil.rmtree(shelf.folder, ignore_errors=True)
    yield from costs(command, name, "anew", seconds_max, memory_max)
    yield from costs(command, name, "kept", seconds_max, memory_max)


def costs(
    command: Sequence[str],
    name: str,
    words: str,
    seconds_max: float | None = None,
    memory_max: float | None = None,
) -> Iterator[Figure]:
    """Time and memory of a command; `words`: what it finds."""
    cost = run(command)
    progress(
        f"analysis {name} {words}: {cost.seconds:.2f} s ({cost.cpu_s:.2f} s of CPU), "
        f"{cost.memory_mib:,.0f} MiB"
    )
    figure = Figure(measurement="analysis", beside=name, what="", detail=asdict(cost))
    yield replace(figure, what=f"s {words}", values=(cost.seconds,), target=at_most(seconds_max))
    yield replace(
        figure, what=f"MiB {words}", digits=0, values=(cost.memory_mib,), target=at_most(memory_max)
    )


def run(command: Sequence[str]) -> Cost:
    """Runs a command of dyno's own. Raises ProgramFailed where it fails."""
    started_s = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=errors, stderr=errors)
        memory = Memory(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        seconds = time.monotonic() - started_s
        memory.stop()
        errors.seek(0)
        if status != 0:
            said = errors.read().decode(errors="replace")[-300:]
            raise ProgramFailed(f"`{' '.join(command[:4])}` ended with status {status}: {said}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(seconds=seconds, cpu_s=cpu_s, memory_mib=memory.largest_kib / 1024)


class Memory:
    """Watches a process and its children: their proportional memory, what they share once."""

    def __init__(self, pid: int) -> None:
        self.largest_kib = 0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> None:
        """Ends it; `largest_kib` stands."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.largest_kib = max(self.largest_kib, sum(map(memory_kib, family(self._pid))))


def family(pid: int) -> list[int]:
    """A process and its children."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return [pid, *map(int, children)]


def memory_kib(pid: int) -> int:
    """The proportional set size of a process; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
