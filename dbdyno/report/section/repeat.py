"""How to run the same again: the command, the plan, and what the first run settled."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import Json, engine
from dbdyno.report import number
from dbdyno.report.parts import Repeat
from dbdyno.report.section.measured_on import OLDER_PROTOCOL, UNKNOWN, joined, part, prefixed


def make(plan: Json) -> Repeat:
    """How to run the same again."""
    name = str(plan.get("name") or "plan")
    return Repeat(
        command=f"dyno run {name}.toml --out results",
        dyno=str(plan.get("dyno") or UNKNOWN),
        plan_name=f"{name}.toml",
        plan_text=str(plan.get("text") or "").rstrip(),
        pinned=tuple(_pinned(plan)),
    )


def _pinned(plan: Json) -> Iterable[tuple[str, str]]:
    """The exact builds, the sizes that presets were made for, the seed, the workloads' texts."""
    for arm in plan.get("arms") or []:
        build = arm.get("build") or {}
        if build:
            program = engine.recorded(str(arm.get("engine", OLDER_PROTOCOL))).program
            words = [build.get("version"), prefixed(f"sha256 of {program}", build.get("sha256"))]
            yield f"build of {arm.get('name')}", joined(words)
    sizing = part(plan, "sizing")
    if sizing:
        yield "sized for", _sizing(sizing)
    if plan.get("seed") is not None:
        yield "seed", str(plan["seed"])
    for use in plan.get("workloads") or []:
        if isinstance(use, dict):
            yield "workload", joined([use.get("name"), prefixed("sha256", use.get("sha256"))])


def _sizing(sizing: Json) -> str:
    cores, memory = sizing.get("cores"), sizing.get("memory_bytes")
    disk = sizing.get("free_disk_bytes")
    return joined(
        [
            f"{cores} core{'' if cores == 1 else 's'}" if cores else "",
            f"{number.size_bytes(memory)} of memory" if memory else "",
            f"{number.size_bytes(disk)} of free disk" if disk else "",
        ]
    )
