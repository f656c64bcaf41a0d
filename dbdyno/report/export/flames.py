"""Flame graphs of a result as files: SVG, folded stacks and speedscope's form, a folder by step."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.analysis import compare
from dbdyno.findings.profiles import flame
from dbdyno.findings.profiles.facts import ProfileComparison, ProfileFacts
from dbdyno.model.error import ExportError
from dbdyno.model.flame import Draw
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
        for profile in compare.load(folder, base=base).of(ProfileFacts).functions:
            beside = map(safe_name, dict.fromkeys((profile.arm, profile.base)))
            step = f"{profile.ordinal:02}-{safe_name(profile.step)}"
            place = within / safe_name(profile.workload) / step / "-beside-".join(beside)
            found |= {place / file: text for file, text in _files(profile, draw).items()}
    if not found:
        raise ExportError(
            f"--flame {to}: no step was profiled in two arms; a plan asks for it by "
            "`profile = {}` under `[observe]`"
        )
    return found


def _files(profile: ProfileComparison, draw: Draw) -> Mapping[str, bytes]:
    """The files of an arm beside the base in a step, by name."""
    scale = flame.scale(profile.base_stacks, profile.arm_stacks)
    sides = {
        profile.base: (flame.base_graph(profile), profile.base_stacks),
        profile.arm: (flame.graph(profile), profile.arm_stacks),
    }
    both = {name: stacks for name, (_, stacks) in sides.items()}
    whole = flame.speedscope(f"{profile.title}, {profile.step}", both)
    texts = {f"{safe_name(profile.arm)}.speedscope.json": whole}
    for name, (graph, stacks) in sides.items():
        texts[f"{safe_name(name)}.svg"] = draw(graph)
        texts[f"{safe_name(name)}-{scale}ns.folded.txt"] = flame.folded(stacks, scale)
    return {name: text.encode() for name, text in texts.items()}
