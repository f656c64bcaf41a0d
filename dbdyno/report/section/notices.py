"""Failures, warnings and inequalities of a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.model import StepComparison
from dbdyno.parts.part import Callout, Finding, Section, Subject


def words(step: StepComparison) -> list[str]:
    """Failures and skips, warnings, each once for several blocks; then what was not alike."""
    notices = []
    for result in step.cells:
        if not result.runs:
            notices.append(f"{result.arm}: not run")
        by_words: dict[str, list[int]] = {}
        for run in result.runs:
            if run.ending.status != "ok":
                words = f"{run.ending.status}: {run.ending.reason or 'no reason recorded'}"
                by_words.setdefault(words, []).append(run.block)
            for warning in run.warnings:
                by_words.setdefault(warning, []).append(run.block)
        notices += [
            f"{result.arm}, {_blocks(blocks)}: {words}" for words, blocks in by_words.items()
        ]
    return [*notices, *step.notices]


def _blocks(blocks: Sequence[int]) -> str:
    return f"block{'s' if len(blocks) > 1 else ''} {', '.join(map(str, blocks))}"


def _parts(subject: Subject) -> Iterable[Callout]:
    found = words(subject.step)
    if found:
        items = tuple(Finding(text=notice) for notice in found)
        yield Callout(name=f"{subject.anchor}-notices", title="", items=items)


SECTION = Section("step", _parts)
