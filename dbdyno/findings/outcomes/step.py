"""How the operations of a step ended, by name: completed, rolled back as they were to, failed."""

from collections.abc import Iterator, Sequence

from dbdyno.evidence.evidence import Evidence
from dbdyno.findings.finding import StepFinding
from dbdyno.findings.outcomes.facts import OutcomeFacts, Outcomes
from dbdyno.model.events import TickPart


def of_step(evidence: Evidence) -> OutcomeFacts:
    """Of each role's whole operations, in the job's order.

    Empty where no operation can end as rolled back and the headline counts all alike.
    """
    headline = evidence.step.headline
    named = headline is not None and bool(headline.operations)
    if not named and not evidence.job.rolls_back:
        return OutcomeFacts()
    return OutcomeFacts(outcomes=tuple(_outcomes(evidence)))


FINDING = StepFinding(facts=OutcomeFacts, of_step=of_step)


def _outcomes(evidence: Evidence) -> Iterator[Outcomes]:
    job, headline = evidence.job, evidence.step.headline
    for role in job.roles:
        ticks = evidence.load.of([role.name])
        is_own = headline is not None and headline.role == role.name
        for name in dict.fromkeys(job.operation_of(choice.program) for choice in role.choose):
            parts = [tick.operations[name] for tick in ticks if name in tick.operations]
            counted = is_own and name in evidence.headline_operations
            yield _of(parts, role.name, name, counted=counted)


def _of(parts: Sequence[TickPart], role: str, name: str, *, counted: bool) -> Outcomes:
    return Outcomes(
        role=role,
        name=name,
        counted=counted,
        completed=sum(part.count for part in parts),
        rolled_back=sum(part.rolled_back or 0 for part in parts),
        failed=sum(sum((part.failed or {}).values()) for part in parts),
        retried=sum(part.retried or 0 for part in parts),
    )
