"""The command `python tools/bench`: which measurements, the table, and the line that is kept."""

import argparse
import datetime
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import psycopg

from bench import (
    analysis,
    arms,
    capture,
    figure,
    fill,
    limits,
    mysql,
    oltp,
    pace,
    pgbench,
    point,
    scale,
    waits,
)
from bench.compare import Bench, progress
from bench.figure import Figure
from dbdyno.engine.postgres import build
from dbdyno.host import place, program
from dbdyno.host.observe import facts
from dbdyno.model import Json
from dbdyno.model.engine import TRAITS
from dbdyno.model.error import DynoError

MEASUREMENTS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    module.__name__.removeprefix("bench."): module.measure
    for module in (point, limits, mysql, pgbench, oltp, scale, pace, fill, waits, analysis, capture)
}
"""In the order in which they run."""
OUT = arms.ROOT / "docs/benchmarks/figures.jsonl"
PAIRS, SECONDS, ROWS = 7, 3, 1_000_000
FAILED = "failed"
HOST_KEYS = ("cpu", "memory_bytes", "kernel", "os", "virtual", "container", "clock_source")
VERSION_S_MAX = 20.0


def main() -> int:
    """Measures, prints, keeps; returns the exit status."""
    options = parse(sys.argv[1:])
    try:
        generator = program.find("dyno-loadgen")
        bench = Bench(
            generator=generator, pairs=options.pairs, seconds=options.seconds, rows=options.rows
        )
    except DynoError as error:
        print(f"make bench: {error}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    interrupted = False
    try:
        for one in measurements(options.names, bench):
            figures.append(one)
    except KeyboardInterrupt:
        progress("interrupted: what has been measured is kept")
        interrupted = True
    if figures:
        show(figures)
        keep(options.out, bench, figures)
    if interrupted:
        return 130
    return 1 if any(one.what == FAILED for one in figures) else 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python tools/bench",
        description="What the load generator costs beside other clients.",
        epilog="How each figure is taken stands in docs/benchmarks/README.md.",
    )
    known = ", ".join(MEASUREMENTS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {known} (all)")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"of each comparison ({PAIRS})")
    parser.add_argument("--seconds", type=int, default=SECONDS, help=f"of one run ({SECONDS})")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"that fill loads ({ROWS:,})")
    parser.add_argument("--out", type=Path, default=OUT, help="a line is appended here")
    options = parser.parse_args(words)
    for name in options.names:
        if name not in MEASUREMENTS:
            parser.error(f"no measurement `{name}`: there are {known}")
    if min(options.pairs, options.seconds, options.rows) < 1:
        parser.error("at least one pair of at least one second, and one row")
    if not options.out.parent.is_dir():
        parser.error(f"there is no folder `{options.out.parent}` for --out: make it")
    options.names = [name for name in MEASUREMENTS if name in (options.names or MEASUREMENTS)]
    return options


def measurements(names: Sequence[str], bench: Bench) -> Iterator[Figure]:
    """All figures of the measurements, as they come; one that fails does not stop the others."""
    for name in names:
        progress(f"{name} …")
        try:
            yield from MEASUREMENTS[name](bench)
        except DynoError as error:
            progress(f"{name}: {error}")
            yield Figure(measurement=name, beside="", what=FAILED, missing=f"failed: {error}")


def show(figures: Sequence[Figure]) -> None:
    """Prints the ratios, what is missing and why, then what each arm took in itself."""
    print(figure.head())
    for one in figures:
        print(one.row())
    for why in dict.fromkeys(f"{one.beside}: {one.missing}" for one in figures if one.missing):
        print(why)
    print("median (minimum to maximum); CPU and throughput: the generator's, the other's being 1")
    if any(one.samples for one in figures):
        print("\n" + "\n".join(figure.costs(figures)))
        print("medians; CPU and user: of the client alone, for each operation")


def keep(path: Path, bench: Bench, figures: Sequence[Figure]) -> None:
    """Appends the run to the file of figures."""
    host = facts.collect(path.parent)
    line = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "versions": versions(bench.generator),
        "host": {key: msgspec.to_builtins(getattr(host, key)) for key in HOST_KEYS},
        "pairs": bench.pairs,
        "seconds": bench.seconds,
        "rows": bench.rows,
        "figures": [one.json() for one in figures],
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    progress(f"kept in {path}")


def commit() -> str | None:
    """The checkout's commit, `-dirty` with changes; None outside git."""
    return said(["git", "-C", str(arms.ROOT), "describe", "--always", "--dirty", "--exclude=*"])


def versions(generator: Path) -> Json:
    """What was measured, as each program says it; None for one that is not there."""
    pgbench, sysbench = arms.pgbench_program(), arms.sysbench_program()
    server = build.cached("postgres", TRAITS["postgres"].newest, place.cache_root())
    others = {engine: mysql.newest(engine) for engine in mysql.VARIABLES}
    return {
        "dyno-loadgen": said([str(generator), "--version"]),
        "postgres": server.name if server else None,
        **{engine: found.version if found else None for engine, found in others.items()},
        "pgbench": said([str(pgbench), "--version"]) if pgbench else None,
        "sysbench": said([str(sysbench), "--version"]) if sysbench else None,
        "python": sys.version.split()[0],
        "psycopg": psycopg.__version__,
    }


def said(command: Sequence[str]) -> str | None:
    """The first line of what a program says; None where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=VERSION_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else None
