"""How to run the same again: the command, the plan, and what the first run settled."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import Json, engine
from dbdyno.report import number
from dbdyno.report.parts import Finding, Group, Section, Subject, Text
from dbdyno.report.section.measured_on import OLDER_PROTOCOL, UNKNOWN, joined, part, prefixed


def version(plan: Json) -> str:
    """Returns the version of dyno that measured."""
    return str(plan.get("dyno") or UNKNOWN)


def _parts(subject: Subject) -> Iterable[Group]:
    plan = subject.comparison.plan
    pinned = tuple(Finding(label=name, text=text) for name, text in _pinned(plan))
    settled = Text(
        name="repeat-pinned",
        title="",
        items=pinned,
        form="pairs",
        lead_in_post=("The first run settled what the plan leaves open:",),
    )
    yield Group(
        name="repeat",
        title="How to repeat",
        parts=(_command(plan), settled) if pinned else (_command(plan),),
        depth="detail",
        of="page",
        fold="How to repeat",
    )


def _command(plan: Json) -> Text:
    """The command and the plan that it runs."""
    name = str(plan.get("name") or "plan")
    command = f"dyno run {name}.toml --out results"
    text, dyno = str(plan.get("text") or "").rstrip(), version(plan)
    return Text(
        name="repeat-command",
        title="",
        items=(
            Finding(label="sh", text=command),
            *((Finding(label="toml", text=text),) if text else ()),
        ),
        form="code",
        lead=(f"With dyno {dyno}, and the plan below as ", f"{name}.toml", ":"),
        lead_in_post=(f"With dyno {dyno} and the plan below as ", f"{name}.toml", ":"),
        narrow=f"{command}   (dyno {dyno})",
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
            for path, found in (use.get("scripts_sha256") or {}).items():
                yield f"script {path}", prefixed("sha256", found)


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


SECTION = Section("page", _parts)
