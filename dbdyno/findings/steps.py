"""What is derived of each step, in the order of exports: a line for each finding of a step.

What is kept of a step is valid for the code that derived it, so nothing that shows stands here.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import msgpack

from dbdyno.evidence.evidence import Evidence
from dbdyno.findings.background import step as background
from dbdyno.findings.fairness import step as fairness
from dbdyno.findings.finding import StepFinding
from dbdyno.findings.imprint import step as imprint
from dbdyno.findings.network import step as network
from dbdyno.findings.outcomes import step as outcomes
from dbdyno.findings.owners import step as owners
from dbdyno.findings.response_times import step as response_times
from dbdyno.findings.state import step as state
from dbdyno.findings.statements import step as statements
from dbdyno.findings.targets import step as targets
from dbdyno.findings.told import step as told
from dbdyno.findings.undisturbed import step as undisturbed
from dbdyno.findings.waits import step as waits
from dbdyno.model.facts import Facts

FINDINGS: tuple[StepFinding[Any], ...] = (
    told.FINDING,
    statements.FINDING,
    outcomes.FINDING,
    response_times.FINDING,
    undisturbed.FINDING,
    targets.FINDING,
    fairness.FINDING,
    network.FINDING,
    owners.FINDING,
    waits.FINDING,
    background.FINDING,
    state.FINDING,
    imprint.FINDING,
)

DECODERS = {finding.facts.__name__: msgpack.Decoder(finding.facts) for finding in FINDINGS}


def facts(basis: Evidence, *, ended_well: bool) -> Mapping[str, Facts]:
    """What all findings tell of a step, by the names of their types, as `StepRun.findings` has it.

    Raises ResultError where a file is damaged.
    """
    return {
        finding.facts.__name__: finding.of_step(basis)
        for finding in FINDINGS
        if ended_well or finding.of_failed
    }


def decoded(kept: Mapping[str, bytes]) -> Mapping[str, Facts]:
    """The facts of `facts` from their msgpack, which the cache of derived steps has.

    Raises ValueError where these are none.
    """
    return {name: DECODERS[name].decode(content) for name, content in kept.items()}
