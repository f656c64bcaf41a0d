"""What is derived of a whole result, a line for each finding; a later one may read an earlier."""

from dataclasses import replace
from typing import Any

from dbdyno.findings.application import plan as application
from dbdyno.findings.attribution import plan as attribution
from dbdyno.findings.nodes import plan as nodes
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.profiles import plan as profiles
from dbdyno.findings.queries import plan as queries
from dbdyno.findings.step_pairs import plan as step_pairs
from dbdyno.findings.suspects import plan as suspects
from dbdyno.findings.sweeps import plan as sweeps
from dbdyno.findings.undisturbed import plan as undisturbed
from dbdyno.findings.work import plan as work

FINDINGS: tuple[PlanFinding[Any], ...] = (
    work.FINDING,
    queries.FINDING,
    application.FINDING,
    attribution.FINDING,
    nodes.FINDING,
    sweeps.FINDING,
    undisturbed.FINDING,
    step_pairs.FINDING,
    profiles.FINDING,
    suspects.FINDING,
)


def derived(compared: JudgedResult) -> JudgedResult:
    """The result with what findings tell of it.

    Before its steps are judged these are the findings that verdicts need, afterwards all.
    """
    for finding in FINDINGS:
        name, facts = finding.facts.__name__, None
        if name not in compared.findings and (compared.judged or finding.before_verdicts):
            facts = finding.of_plan(compared)
        elif compared.judged and finding.with_verdicts is not None:
            facts = finding.with_verdicts(compared, compared.findings[name])
        if facts is not None:
            compared = replace(compared, findings={**compared.findings, name: facts})
    return compared
