"""What is derived of a whole result, a line for each finding; a later one may read an earlier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dbdyno.findings.attribution import plan as attribution
from dbdyno.findings.nodes import plan as nodes
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.profiles import plan as profiles
from dbdyno.findings.step_pairs import plan as step_pairs
from dbdyno.findings.suspects import plan as suspects
from dbdyno.findings.sweeps import plan as sweeps
from dbdyno.findings.undisturbed import plan as undisturbed
from dbdyno.findings.work import plan as work

FINDINGS: tuple[PlanFinding[Any], ...] = (
    work.FINDING,
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
        name = finding.facts.__name__
        if name not in compared.findings and (compared.steps or finding.before_verdicts):
            findings = {**compared.findings, name: finding.of_plan(compared)}
            compared = replace(compared, findings=findings)
    return compared
