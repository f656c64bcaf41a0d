"""Puts a plan's `restore = "app.dump"` before the steps of a workload, as a step of its own.

The tables are there after it, as the dump has them, so that nothing loads them.
"""

from __future__ import annotations

from pathlib import Path

from dbdyno.model.error import WorkloadError
from dbdyno.model.golden import RESTORED
from dbdyno.model.plan import Statistics
from dbdyno.workload import program_schema, schema

STEP = RESTORED
LIMIT_S = 7 * 24 * 3600
"""A terabyte takes days."""


def with_restore(
    file: schema.WorkloadFile, dump: Path, statistics: Statistics
) -> schema.WorkloadFile:
    """The file with a step that restores a dump before all others.

    Raises WorkloadError where it has a step of that name.
    """
    if any(step.name == STEP for step in file.steps):
        raise WorkloadError(f"`{STEP}` is a step of the workload's own; rename it")
    source = file.source
    step = schema.Step(
        name=STEP,
        driver="restore",
        restore=program_schema.Restore(
            path=str(dump),
            encoding=source.encoding,
            locale=source.locale,
            statistics=statistics,
        ),
        roles={STEP: schema.Role(kind="other")},
        limit_s=LIMIT_S,
        measured=False,
    )
    return file.model_copy(update={"steps": [step, *file.steps]})


def restores(step: schema.Step | None) -> bool:
    """Whether it is the step that makes the data, which all others need."""
    return step is not None and step.driver == "restore"
