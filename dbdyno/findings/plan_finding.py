"""The protocol of a finding about a whole result: what it is derived from, and what it tells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from dbdyno.evidence.damaged_files import Damage
from dbdyno.judge.arms_and_blocks import Arms
from dbdyno.judge.step_cells import StepRow
from dbdyno.model import StepComparison
from dbdyno.model.facts import F, Facts, among
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.verdict import Aims
from dbdyno.store import BlockFolder, Results


@dataclass(frozen=True)
class JudgedResult:
    """A result with its arms side by side: what findings about the whole are derived from."""

    results: Results
    plan: PlanRecord
    blocks: Sequence[BlockFolder]  # that are judged
    repeats: Sequence[BlockFolder]  # of the pass of counts
    arms: Arms
    aims: Aims
    rows: Sequence[StepRow]  # each step with its runs, before it is judged
    lost: Damage  # takes what could not be read
    steps: tuple[StepComparison, ...] = ()  # judged; none yet for what is derived before
    judged: bool = False  # whether these are all
    findings: Mapping[str, Facts] = field(default_factory=dict)  # of those before it in the list

    def of(self, facts: type[F]) -> F:
        """What an earlier finding tells; facts without values where it tells nothing."""
        return among(self.findings, facts)


@dataclass(frozen=True, kw_only=True)
class PlanFinding(Generic[F]):
    """What is derived of a whole result; `comparison.of(facts)` has it."""

    facts: type[F]
    of_plan: Callable[[JudgedResult], F]  # reads files by `results` and `lost` alone
    before_verdicts: bool = False  # whether the judge reads it; then without judged steps
    with_verdicts: Callable[[JudgedResult, F], F] | None = None  # what they add to such a one
