"""The frozen types that the rooms share; the words are those of docs/glossary.md.

Measuring and judging meet only here and in the files of a result folder.
"""

from __future__ import annotations

from dbdyno.model.address import Address, Tls
from dbdyno.model.comparison import Cell, Comparison, Difference, StepComparison
from dbdyno.model.engine import can
from dbdyno.model.json import Json
from dbdyno.model.plan import (
    Arm,
    Block,
    CountRequest,
    Hook,
    HookMoment,
    Host,
    Initdb,
    Observation,
    Password,
    Placement,
    Plan,
    ProfileRequest,
    Schedule,
    Transport,
    Void,
    WorkloadUse,
)
from dbdyno.model.profile import Profile
from dbdyno.model.ratio import Bound, PairedEstimate, Ratio
from dbdyno.model.response_times import ResponseFacts, ResponseTimes
from dbdyno.model.step import Condition, Headline, MetricSource, Requirement, Right, Sla, Step
from dbdyno.model.step_run import (
    BackgroundFacts,
    Ending,
    Extent,
    OwnerCost,
    Series,
    ServerSide,
    Span,
    StepFacts,
    StepRun,
    Target,
    TargetFacts,
    ToldFacts,
    ToldValue,
    Window,
)

__all__ = [
    "Address",
    "Arm",
    "BackgroundFacts",
    "Block",
    "Bound",
    "Cell",
    "Comparison",
    "Condition",
    "CountRequest",
    "Difference",
    "Ending",
    "Extent",
    "Headline",
    "Hook",
    "HookMoment",
    "Host",
    "Initdb",
    "Json",
    "MetricSource",
    "Observation",
    "OwnerCost",
    "PairedEstimate",
    "Password",
    "Placement",
    "Plan",
    "Profile",
    "ProfileRequest",
    "Ratio",
    "Requirement",
    "ResponseFacts",
    "ResponseTimes",
    "Right",
    "Schedule",
    "Series",
    "ServerSide",
    "Sla",
    "Span",
    "Step",
    "StepComparison",
    "StepFacts",
    "StepRun",
    "Target",
    "TargetFacts",
    "Tls",
    "ToldFacts",
    "ToldValue",
    "Transport",
    "Void",
    "Window",
    "WorkloadUse",
    "can",
]
