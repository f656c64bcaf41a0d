"""The command `python tools/trials`: which trial, beside which commit; the runs, and the table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.compare import progress
from dbdyno.model.error import DynoError
from trials import beside, delays, kept, markdown, minutes, placement, queues, same
from trials.trial import FOLDER, Kept, Side, Trial, planned

TRIALS = {
    trial.name: trial
    for trial in (
        delays.TRIAL,
        minutes.TRIAL,
        placement.TRIAL,
        queues.TRIAL,
        same.TRIAL,
    )
}


def main() -> int:
    """Takes the runs that are missing and prints the table; returns the exit status."""
    options = parse(sys.argv[1:])
    if options.list:
        print("\n".join(f"{one.name:<10}{one.question}" for one in TRIALS.values()))
        return 0
    trial = TRIALS[options.name]
    rows = tuple(row for row in trial.rows if any(part in row for part in options.rows or [""]))
    if not rows:
        print(f"trials: no row of {trial.name} holds {' or '.join(options.rows)}", file=sys.stderr)
        return 2
    trial = replace(trial, rows=rows, rounds=options.rounds or trial.rounds)
    try:
        sides = [beside.now(), *([beside.at(options.beside)] if options.beside else [])]
        return measured(trial, sides, options.out / f"{trial.name}.jsonl")
    except DynoError as error:
        print(f"trials: {error}", file=sys.stderr)
        return 2


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python tools/trials",
        description="Makes a table of figures; the same command goes on after an interruption.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--list", action="store_true", help="say what each trial asks")
    parser.add_argument("--beside", metavar="COMMIT", help="measure this commit, too, in turns")
    parser.add_argument("--rounds", type=int, help="how often (default: the trial's own number)")
    parser.add_argument(
        "--rows", metavar="TEXT", action="append", help="only rows whose names hold it; repeatable"
    )
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder of NAME.jsonl")
    options = parser.parse_args(words)
    if not options.list and options.name not in TRIALS:
        parser.error(f"no trial `{options.name}`: there are {', '.join(TRIALS)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("at least one round")
    return options


def measured(trial: Trial, sides: list[Side], path: Path) -> int:
    """Takes the missing runs, keeps each as it ends, and prints the table of all of them.

    Raises DynoError where a run fails: those before it are kept.
    """
    runs = kept.read(path)
    kept.refuse_others(path, runs, sides)
    done = {(run.row, run.side, run.round) for run in runs}
    missing = [
        (row, side, number)
        for row, side, number in planned(trial, sides)
        if (row, side.name, number) not in done
    ]
    status = 0
    try:
        if missing:
            progress(f"{len(missing)} runs; {trial.minutes:g} minutes for all of one side; {path}")
            runs += taken(trial, missing, path)
    except KeyboardInterrupt:
        progress("interrupted: what has ended is kept, the same command goes on")
        runs, status = kept.read(path), 130
    names = {side.name for side in sides}
    of_this = [run for run in runs if run.side in names and run.row in trial.rows]
    own = [run for run in of_this if run.round <= trial.rounds]
    print("\n".join(markdown.document(trial, sides, own)))
    return status


def taken(trial: Trial, missing: Sequence[tuple[str, Side, int]], path: Path) -> list[Kept]:
    """The runs that are missing, each kept as it ends."""
    found = []
    with trial.opened() as measures:
        for place, (row, side, number) in enumerate(missing, 1):
            figures = measures[row](side)
            run = Kept(row=row, side=side.name, commit=side.commit, round=number, figures=figures)
            kept.append(path, run)
            found.append(run)
            told = ", ".join(f"{name} {in_words(value)}" for name, value in figures.items())
            progress(f"{place}/{len(missing)} {row}, {side.name}, round {number}: {told}")
    return found


def in_words(value: float | str) -> str:
    """A figure for the person who watches."""
    return value if isinstance(value, str) else f"{value:.5g}"
