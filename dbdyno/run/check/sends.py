"""How statements are sent where a plan goes on: as in the blocks that were measured before.

Scripts and the workload `pgbench` once sent numbers in binary form and asked for rows in it, which
pgbench does not. A plan.json whose workload does not say that it `sends` as libpq does is of then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dbdyno.model import Json, Step
from dbdyno.model.sweep import named

LIKE_LIBPQ: Json = {"libpq": True, "results": "text"}
"""What a job says of such a statement."""


def sends(steps: Sequence[Step]) -> Json:
    """What plan.json says of a workload's steps; nothing where no statement goes as libpq's do."""
    every = (one for step in steps for one in step.job.get("statements", ()))
    return {"sends": "libpq"} if any(LIKE_LIBPQ.items() <= one.items() for one in every) else {}


def as_begun(
    steps: Mapping[tuple[str, str], tuple[Step, ...]], begun: Json | None
) -> dict[tuple[str, str], tuple[Step, ...]]:
    """The steps by workload and arm, in a plan that goes on in the folder of this plan.json."""
    uses = (begun or {}).get("workloads", [])
    before = {named(one["name"], one.get("load") or {}) for one in uses if "sends" not in one}
    return {
        key: tuple(map(_in_the_servers_forms, its)) if key[0] in before else its
        for key, its in steps.items()
    }


def _in_the_servers_forms(step: Step) -> Step:
    statements = [
        {k: v for k, v in one.items() if k not in LIKE_LIBPQ}
        if LIKE_LIBPQ.items() <= one.items()
        else one
        for one in step.job.get("statements", ())
    ]
    return replace(step, job={**step.job, "statements": statements}) if statements else step
