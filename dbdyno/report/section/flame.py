"""The flame graphs of a step: where each arm's CPU time goes, coloured by what changed."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model.headlines import kind_of
from dbdyno.model.profile import ProfileComparison
from dbdyno.parts import hints
from dbdyno.parts.part import Flame, Group, Section, Subject
from dbdyno.report import flame


def _parts(subject: Subject) -> Iterable[Group]:
    step = subject.step
    name = f"{subject.anchor}-flame"
    graphs = tuple(
        Flame(
            name=f"{name}-{place}",
            title=f"Flame graph of {profile.title}",
            arm=profile.arm,
            graph=flame.graph(step, profile),
            command=hints.flames(subject.comparison.folder),
        )
        for place, profile in enumerate(step.profiles)
        if any(profile.arm_stacks.values())
    )
    if graphs:
        yield Group(
            name=name,
            title="Flame graphs",
            parts=graphs,
            note=" ".join(
                _note(subject.comparison.folder, kind_of(step.headline).unit, step.profiles[0])
            ),
            entry="flame graphs",
        )


def _note(folder: str, unit: str, profile: ProfileComparison) -> Iterable[str]:
    yield (
        f"A frame is as wide as its share of the CPU that the server spends for each {unit}, with "
        "what it calls."
    )
    base = profile.base
    if not profile.alone:
        yield (
            f"Red: by itself it costs more than in {base}; blue: less; the second percentage is "
            "that change as a share of the whole. Colours show differences of means, sure or not."
        )
    yield "Click to zoom, Ctrl-F to search by a regular expression."
    if not profile.alone:
        yield (
            f"`{hints.flames(folder)}` also draws {base}'s own graph, with what only {base} calls."
        )


SECTION = Section("step", _parts)
