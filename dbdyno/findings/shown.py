"""What a page shows, in reading order: a line for each finding that has a part of it."""

from dbdyno.findings.answer import show as answer
from dbdyno.findings.answers import show as answers
from dbdyno.findings.application import show as application
from dbdyno.findings.attribution import show as attribution
from dbdyno.findings.calibration import show as calibration
from dbdyno.findings.device import show as device
from dbdyno.findings.differences import show as differences
from dbdyno.findings.doubts import show as doubts
from dbdyno.findings.fairness import show as fairness
from dbdyno.findings.fragmentation import show as fragmentation
from dbdyno.findings.groups import show as groups
from dbdyno.findings.headline import show as headline
from dbdyno.findings.highest_rate import show as highest_rate
from dbdyno.findings.measured_on import show as measured_on
from dbdyno.findings.measured_steps import show as measured_steps
from dbdyno.findings.metrics import show as metrics
from dbdyno.findings.network import show as network
from dbdyno.findings.nodes import show as nodes
from dbdyno.findings.outcomes import show as outcomes
from dbdyno.findings.over_time import show as over_time
from dbdyno.findings.owners import show as owners
from dbdyno.findings.profiles import show as profiles
from dbdyno.findings.queries import show as queries
from dbdyno.findings.query_plans import show as query_plans
from dbdyno.findings.repeat import show as repeat
from dbdyno.findings.response_times import show as response_times
from dbdyno.findings.scaling import show as scaling
from dbdyno.findings.setup import show as setup
from dbdyno.findings.state import show as state
from dbdyno.findings.statements import show as statements
from dbdyno.findings.summary import show as summary
from dbdyno.findings.suspects import show as suspects
from dbdyno.findings.sweeps import show as sweeps
from dbdyno.findings.targets import show as targets
from dbdyno.findings.throughput import show as throughput
from dbdyno.findings.told import show as told
from dbdyno.findings.undisturbed import show as undisturbed
from dbdyno.findings.unseen import show as unseen
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.findings.waits import show as waits
from dbdyno.findings.why import show as why
from dbdyno.findings.work import show as work
from dbdyno.parts.part import Section

WORKLOAD: tuple[Section, ...] = (
    verdicts.SECTION,
    measured_steps.SECTION,
    summary.SECTION,
    profiles.OVERVIEW,
    groups.SECTION,
    fragmentation.SECTION,
    sweeps.SECTION,
    highest_rate.SECTION,
    scaling.SECTION,
)
"""Sections about the steps of a workload together, in reading order."""

STEP: tuple[Section, ...] = (
    doubts.OF_STEP,
    throughput.SECTION,
    why.SECTION,
    told.SECTION,
    outcomes.SECTION,
    statements.SECTION,
    targets.SECTION,
    metrics.SECTION,
    device.SECTION,
    undisturbed.SECTION,
    response_times.SECTION,
    over_time.SECTION,
    waits.SECTION,
    owners.SECTION,
    profiles.SECTION,
    suspects.SECTION,
    fairness.SECTION,
    state.SECTION,
)
"""Sections about each step, in reading order."""

BEFORE_STEPS: tuple[Section, ...] = (
    attribution.SECTION,
    application.SECTION,
    answer.SECTION,
    doubts.SECTION,
    queries.SECTION,
    answers.SECTION,
    query_plans.SECTION,
    headline.SECTION,
    unseen.SECTION,
    setup.SECTION,
    differences.SECTION,
)
"""Sections about the whole result that stand above those of workloads and steps."""

AFTER_STEPS: tuple[Section, ...] = (
    work.SECTION,
    nodes.SECTION,
    calibration.SECTION,
    network.SECTION,
    measured_on.SECTION,
    repeat.SECTION,
)
"""Those that stand below them."""
