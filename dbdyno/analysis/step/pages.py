"""Pages that the server asked for in a step, and where it found them."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.analysis.step import innodb
from dbdyno.analysis.step.innodb import How
from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import per
from dbdyno.model.snapshot import number

PARTS = ("heap_blks", "idx_blks", "toast_blks", "tidx_blks")
"""The columns of pg_statio_all_tables: a table, its indexes, its TOAST, the index of that."""


def per_second(evidence: Evidence) -> Mapping[str, float | None]:
    """Pages by second of the load, its warm-up included, as the counters include it."""
    seconds = evidence.load.seconds
    if seconds is not None:
        seconds += evidence.job.stop.warmup_s
    by_engine = innodb.pages if evidence.servers == "InnoDB" else of_tables
    return {
        "blocks_read_ps": per(by_engine(evidence, "read"), seconds),
        "blocks_hit_ps": per(by_engine(evidence, "hit"), seconds),
    }


def of_tables(evidence: Evidence, how: How) -> float | None:
    """Pages of the step's tables and indexes that were asked for, and found so, in the step.

    A table that the step made had no counters before it.
    """
    before, after = evidence.before, evidence.after
    if before is None or after is None or before.tables is None:
        return None
    return raw_files.plus(
        raw_files.moved(
            number(before.tables[name], column) if name in before.tables else 0.0,
            number(now, column),
        )
        for name, now in (after.tables or {}).items()
        for column in (f"{part}_{how}" for part in PARTS)
    )
