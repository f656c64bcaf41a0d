"""Measurements that are functions of their own and give dictionaries: what they say as figures."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import contenders
from bench.compare import Bench
from bench.figure import Figure, Target
from bench.process import ContenderFailed

PACE_S = 10.0
OFF_PERCENT_MAX = 0.1
LAG_US_P99_MAX = 500.0
FILL_SPEED_MIN = 5.0


def is_here(name: str) -> bool:
    """Whether there is a module of that name beside this one."""
    return Path(__file__).with_name(f"{name}.py").is_file()


def fill(bench: Bench) -> Iterator[Figure]:
    """How many times as fast as `sysbench prepare` the generator's bulk load is."""
    figure = Figure(
        measurement="fill",
        beside="sysbench",
        what="speed",
        target=Target(bound=FILL_SPEED_MIN, at_least=True),
    )
    if contenders.sysbench_program() is None:
        yield replace(figure, missing=contenders.NO_SYSBENCH)
        return
    module: Any = importlib.import_module("bench.fill")
    rows = module.measure(bench.generator, bench.rows, bench.pairs)
    yield replace(figure, values=tuple(row["faster"] for row in rows), detail={"pairs": rows})
    yield replace(
        figure,
        what="and vacuum",
        values=tuple(row["faster_with_vacuum"] for row in rows),
        target=None,
    )


def pace(bench: Bench) -> Iterator[Figure]:
    """How well rates are held on the null server, and how late the generator is itself."""
    module: Any = importlib.import_module("bench.pace")
    try:
        rows = module.measure(bench.generator, PACE_S)
    except RuntimeError as error:
        raise ContenderFailed(str(error)) from error
    for row in rows:
        rate = f"{row['per_s']:,}/s"
        yield Figure(
            measurement="pace",
            connections=row["connections"],
            beside=rate,
            what="% off",
            values=(abs(row["achieved_ratio"] - 1) * 100,),
            digits=3,
            target=Target(bound=OFF_PERCENT_MAX),
            detail=row,
        )
        yield Figure(
            measurement="pace",
            connections=row["connections"],
            beside=rate,
            what="lag p99 µs",
            values=(row["lag_us_p99"],),
            digits=0,
            target=Target(bound=LAG_US_P99_MAX),
        )
