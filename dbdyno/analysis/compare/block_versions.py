"""Blocks that several versions of dyno measured, and blocks without checksums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.analysis.compare import host_changes
from dbdyno.model import StepRun
from dbdyno.model.figures import changes_since
from dbdyno.store import BlockFolder


def warnings(judged: Sequence[BlockFolder], runs: Sequence[StepRun]) -> Iterator[str]:
    """A line where versions differ between blocks, and one where their figures do not compare."""
    states = {block.number: _versions(block, runs) for block in judged}
    names = dict.fromkeys(name for state in states.values() for name in state)
    changed = [
        words for name in names if (words := host_changes.by_block(name, states)) is not None
    ]
    if changed:
        yield f"several versions: {'; '.join(changed)}; CHANGELOG.md says what changed between them"
    numbers = {block.figures for block in judged}
    if len(numbers) > 1:
        changes = "; ".join(changes_since(min(numbers)))
        yield f"blocks do not compare: an earlier dyno measured some of them; since then {changes}"


def unverified(judged: Sequence[BlockFolder]) -> tuple[int, ...]:
    """The numbers of blocks without checksums, which an older dyno measured."""
    return tuple(block.number for block in judged if block.checksums() is None)


def _versions(block: BlockFolder, runs: Sequence[StepRun]) -> dict[str, str]:
    """What measured a block, as far as its files say it."""
    versions = {}
    order = block.order()
    if order is not None and order.dyno is not None:
        versions["dyno"] = order.dyno
    generators = {run.generator for run in runs if run.block == block.number and run.generator}
    if generators:
        versions["the load generator"] = " and ".join(sorted(generators))
    return versions
