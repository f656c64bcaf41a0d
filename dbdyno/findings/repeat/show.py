"""How to run the same again: the command, the plan, and what the first run settled."""

from collections.abc import Iterable

from dbdyno.findings.measured_on.show import UNKNOWN, joined, prefixed
from dbdyno.model import engine
from dbdyno.model.plan_record import PlanRecord, SizingRecord
from dbdyno.parts import number
from dbdyno.parts.part import Finding, Group, Section, Subject, Text

FILES_MAX = 10
"""So many files of a workload have a line each; of more the plan's record has the hashes."""


def version(plan: PlanRecord) -> str:
    """Returns the version of dyno that measured."""
    return plan.dyno or UNKNOWN


def _parts(subject: Subject) -> Iterable[Group]:
    plan = subject.comparison.plan
    pinned = tuple(Finding(label=name, text=text) for name, text in _pinned(plan))
    settled = Text(
        name="repeat-pinned",
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


def _command(plan: PlanRecord) -> Text:
    """The command and the plan that it runs."""
    name = plan.name
    command = f"dyno run {name}.toml --out results"
    text, dyno = (plan.text or "").rstrip(), version(plan)
    return Text(
        name="repeat-command",
        items=(
            Finding(label="sh", text=command),
            *((Finding(label="toml", text=text),) if text else ()),
        ),
        form="code",
        lead=(f"With dyno {dyno}, and the plan below as ", f"{name}.toml", ":"),
        lead_in_post=(f"With dyno {dyno} and the plan below as ", f"{name}.toml", ":"),
        narrow=f"{command}   (dyno {dyno})",
    )


def _pinned(plan: PlanRecord) -> Iterable[tuple[str, str]]:
    """The exact builds, the sizes that presets were made for, the seed, the workloads' texts."""
    for arm in plan.arms:
        if arm.build is not None:
            program = engine.recorded(arm.engine).program
            words = [arm.build.version, prefixed(f"sha256 of {program}", arm.build.sha256)]
            yield f"build of {arm.name}", joined(words)
    if plan.sizing != SizingRecord():
        yield "sized for", _sizing(plan.sizing)
    if plan.seed is not None:
        yield "seed", str(plan.seed)
    for use in plan.workloads:
        yield "workload", joined([use.name, prefixed("sha256", use.sha256)])
        if len(use.scripts_sha256) > FILES_MAX:
            yield "files", f"{len(use.scripts_sha256)}, with their sha256 in plan.json"
            continue
        for path, sha256 in use.scripts_sha256.items():
            yield f"file {path}", prefixed("sha256", sha256)


def _sizing(sizing: SizingRecord) -> str:
    cores, memory, disk = sizing.cores, sizing.memory_bytes, sizing.free_disk_bytes
    return joined(
        [
            f"{cores} core{'' if cores == 1 else 's'}" if cores else "",
            f"{number.size_bytes(memory)} of memory" if memory else "",
            f"{number.size_bytes(disk)} of free disk" if disk else "",
        ]
    )


SECTION = Section("page", _parts)
