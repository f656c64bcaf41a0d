"""What is derived of a whole result, a line for each finding; a later one may read an earlier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dbdyno.findings.plan_finding import Compared, PlanFinding
from dbdyno.findings.profiles import plan as profiles
from dbdyno.findings.step_pairs import plan as step_pairs
from dbdyno.findings.suspects import plan as suspects
from dbdyno.findings.sweeps import plan as sweeps
from dbdyno.model.facts import Facts

FINDINGS: tuple[PlanFinding[Any], ...] = (
    sweeps.FINDING,
    step_pairs.FINDING,
    profiles.FINDING,
    suspects.FINDING,
)


def facts(compared: Compared) -> Mapping[str, Facts]:
    """What findings tell of a result, by the names of their types, as `Comparison.findings` has it.

    Of a result without judged steps those that come before verdicts, else those and all others.
    """
    for finding in FINDINGS:
        name = finding.facts.__name__
        if name not in compared.findings and (compared.steps or finding.before_verdicts):
            told = {**compared.findings, name: finding.of_plan(compared)}
            compared = replace(compared, findings=told)
    return compared.findings
