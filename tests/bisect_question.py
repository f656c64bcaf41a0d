"""A search of a commit among twenty, as tests ask for it."""

from __future__ import annotations

from dbdyno.model.bisection import Commit, Question
from dbdyno.model.size import Capacity

QUESTION = Question(
    command="dyno bisect /source --good a --bad b --workload point-query",
    repository="/source",
    commits=tuple(
        Commit(sha=f"{number:040x}"[::-1], subject=f"change {number}") for number in range(21)
    ),
    engine="postgres",
    flags="-O2",
    options=(),
    workload="sysbench",
    step="point-query",
    metric="qps",
    config=("x10a", "x10b"),
    by="throughput",
    smallest=0.01,
    minutes=1.0,
    host=Capacity(cores=2, memory_bytes=24 << 30, free_disk_bytes=50 << 30),
    scatter=0.05,
)
