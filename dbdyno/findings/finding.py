"""The protocol of a finding: what it tells of a step, and how that is derived."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from dbdyno.evidence.evidence import Evidence
from dbdyno.model.facts import F


@dataclass(frozen=True, kw_only=True)
class StepFinding(Generic[F]):
    """What is derived of each step of a run; `run.of(facts)` has it."""

    facts: type[F]
    of_step: Callable[[Evidence], F]  # pure; raises ResultError where a file is damaged
    of_failed: bool = False  # whether also a step that did not end well has it
