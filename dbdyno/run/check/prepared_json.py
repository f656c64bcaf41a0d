"""A `Prepared` plan as JSON and back: for labs that another process, or another host, checks for.

What comes back equals what was written. Steps that several arms share stand there once.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from dbdyno.model import Json, Step
from dbdyno.model.typed_json import packed, unpacked
from dbdyno.run.prepared import PointsOf, Prepared, StepsOf
from dbdyno.run.starting_state import Point

Steps = tuple[Step, ...]
Points = tuple[Point, ...]


def dump(prepared: Prepared) -> Json:
    """What the check of a plan found, as JSON."""
    rest = dataclasses.replace(prepared, steps={}, points={})
    written: Json = packed(rest)
    return written | {
        "steps": _dump_steps(prepared.steps),
        "points": [
            [workload, arm, packed(its)] for (workload, arm), its in prepared.points.items()
        ],
    }


def load(written: Json) -> Prepared:
    """What `dump` wrote. Raises ValueError where it is something else."""
    rest: Prepared = unpacked(Prepared, written | {"steps": {}, "points": {}})
    return dataclasses.replace(
        rest,
        steps=_load_steps(written["steps"]),
        points=_load_points(written["points"]),
    )


def _dump_steps(steps: StepsOf) -> Json:
    """By workload and arm the place among `lists`, each of which is there once."""
    lists: list[Steps] = []
    places = []
    for (workload, arm), its in steps.items():
        if its not in lists:
            lists.append(its)
        places.append([workload, arm, lists.index(its)])
    return {
        "lists": [packed(one) for one in lists],
        "of": places,
    }


def _load_steps(written: Json) -> StepsOf:
    lists = [unpacked(Steps, one) for one in written["lists"]]
    return {(workload, arm): lists[place] for workload, arm, place in written["of"]}


def _load_points(written: list[Any]) -> PointsOf:
    return {(workload, arm): unpacked(Points, its) for workload, arm, its in written}
