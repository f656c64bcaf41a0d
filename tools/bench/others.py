"""Measurements that are functions of their own and give dictionaries: what they say as figures."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.compare import Bench
from bench.figure import Figure, Target
from bench.process import ContenderFailed

PACE_S = 10.0
OFF_PERCENT_MAX = 0.1
LAG_US_P99_MAX = 500.0


def is_here(name: str) -> bool:
    """Whether there is a module of that name beside this one."""
    return Path(__file__).with_name(f"{name}.py").is_file()


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
