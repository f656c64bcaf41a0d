"""Puts a plan's `restore = "app.dump"` before the steps of a workload, as a step of its own.

The tables are there after it, as the dump has them, so that nothing loads them.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from dbdyno.model.error import WorkloadError
from dbdyno.model.golden import RESTORED
from dbdyno.model.own_query import OwnQuery
from dbdyno.model.plan import Statistics
from dbdyno.workload import program_schema, schema

STEP = RESTORED
LIMIT_S = 7 * 24 * 3600
"""A terabyte takes days."""
TEXT = re.compile(r"'(?:[^']|'')*'")
NAMED = re.compile(
    r"(?:(?P<before>::\s*|\b(?:from|join|into|update|table)\s+))?"
    r"(?P<name>\"?[a-z_][\w$]*\"?)(?P<behind>\s*[(.])?"
)
"""A relation by the word before it, a function or a schema by what stands behind."""


def with_restore(
    file: schema.WorkloadFile, dump: Path, statistics: Statistics, queries: Sequence[OwnQuery] = ()
) -> schema.WorkloadFile:
    """The file with a step that restores a dump, which is to suit queries, before all others.

    Raises WorkloadError where it has a step of that name.
    """
    if any(step.name == STEP for step in file.steps):
        raise WorkloadError(f"`{STEP}` is a step of the workload's own; rename it")
    source = file.source
    step = schema.StepForm(
        name=STEP,
        driver="restore",
        restore=program_schema.RestoreForm(
            path=str(dump),
            encoding=source.encoding,
            locale=source.locale,
            statistics=statistics,
            queries=[
                program_schema.SuitedQueryForm(
                    name=each.name, role=each.role, names=names_in(each.text)
                )
                for each in queries
            ],
        ),
        roles={STEP: schema.RoleForm(kind="other")},
        limit_s=LIMIT_S,
        measured=False,
    )
    return file.model_copy(update={"steps": [step, *file.steps]})


def names_in(text: str) -> list[str]:
    """The names in a query by which it may need what a dump has: neither columns nor values."""
    matches = NAMED.finditer(TEXT.sub("''", text.lower()))
    return sorted(
        {
            each.group("name").strip('"')
            for each in matches
            if each.group("before") or each.group("behind")
        }
    )


def restores(step: schema.StepForm | None) -> bool:
    """Whether it is the step that makes the data, which all others need."""
    return step is not None and step.driver == "restore"
