"""Flame graphs of a result as files: SVG, folded stacks and speedscope's form, a folder by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.analysis import compare
from dbdyno.model import StepComparison
from dbdyno.model.error import ExportError
from dbdyno.model.flame import Draw
from dbdyno.model.profile import ProfileComparison
from dbdyno.report import flame
from dbdyno.store import safe_name


def files(
    folders: Sequence[Path], to: Path, draw: Draw, base: str | None = None
) -> dict[Path, bytes]:
    """The files of all results, those of several each in a folder of the result's name.

    Raises ExportError where no step was profiled in two arms, or two results have one name.
    """
    names = [folder.resolve().name for folder in folders]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ExportError(f"--flame {to}: two results are named `{twice}`; export one at a time")
    found: dict[Path, bytes] = {}
    for folder, name in zip(folders, names, strict=True):
        within = to if len(folders) == 1 else to / name
        for step in compare.load(folder, base=base).steps:
            for profile in step.profiles:
                place = within / safe_name(step.workload) / _step_name(step) / _pair(profile)
                found |= {place / file: text for file, text in _files(step, profile, draw).items()}
    if not found:
        raise ExportError(
            f"--flame {to}: no step was profiled in two arms; a plan asks for it by "
            "`profile = {}` under `[observe]`"
        )
    return found


def _step_name(step: StepComparison) -> str:
    return f"{step.ordinal:02}-{safe_name(step.step)}"


def _pair(profile: ProfileComparison) -> str:
    return f"{safe_name(profile.arm)}-beside-{safe_name(profile.base)}"


def _files(step: StepComparison, profile: ProfileComparison, draw: Draw) -> Mapping[str, bytes]:
    """The files of an arm beside the base in a step, by name."""
    arm, base = safe_name(profile.arm), safe_name(profile.base)
    scale = flame.scale(profile.base_stacks, profile.arm_stacks)
    graph = flame.graph(step, profile)
    both = {profile.base: profile.base_stacks, profile.arm: profile.arm_stacks}
    texts = {
        f"{arm}.svg": draw(graph),
        f"{base}.svg": draw(flame.base_graph(step, profile)),
        f"{arm}-{scale}ns.folded.txt": flame.folded(profile.arm_stacks, scale),
        f"{base}-{scale}ns.folded.txt": flame.folded(profile.base_stacks, scale),
        f"{arm}.speedscope.json": flame.speedscope(f"{graph.title}, {step.step}", both),
    }
    return {name: text.encode() for name, text in texts.items()}
