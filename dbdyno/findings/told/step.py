"""The values that a step tells by itself, as its workload says: those that the lab has kept."""

from dbdyno.evidence.evidence import Evidence
from dbdyno.findings.finding import StepFinding
from dbdyno.model import ToldFacts, ToldValue


def of_step(evidence: Evidence) -> ToldFacts:
    """Of each metric of the workload in its order; nothing of a step without an end."""
    kept = {} if evidence.done is None else evidence.done.metrics
    return ToldFacts(
        told=tuple(
            ToldValue(
                metric=name,
                title=metric.title,
                unit=metric.unit or None,
                better=metric.better,
                value=None if isinstance(metric.value, str) else metric.value,
                text=metric.value if isinstance(metric.value, str) else None,
            )
            for name, metric in kept.items()
        )
    )


FINDING = StepFinding(facts=ToldFacts, of_step=of_step)
