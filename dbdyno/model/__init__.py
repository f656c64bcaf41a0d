"""The frozen types that the rooms share; the words are those of docs/glossary.md.

Measuring and judging meet only here and in the files of a result folder.
"""

from __future__ import annotations

from dbdyno.model.comparison import (
    Across,
    Bound,
    Cell,
    Comparison,
    Difference,
    Ratio,
    StepComparison,
)
from dbdyno.model.engine import can
from dbdyno.model.json import Json
from dbdyno.model.plan import (
    Arm,
    Block,
    Hook,
    HookMoment,
    Observe,
    Password,
    Placement,
    Plan,
    Schedule,
    Void,
    WorkloadUse,
)
from dbdyno.model.step import Address, Headline, Sla, Step
from dbdyno.model.step_run import (
    Ending,
    Extent,
    Fairness,
    OwnerCost,
    Responses,
    ResponseTimes,
    RoleFigures,
    Series,
    ServerSide,
    Span,
    Stalls,
    StatementUse,
    StepFacts,
    StepRun,
    Target,
    Times,
    WaitLoad,
    Waits,
    Window,
)

__all__ = [
    "Across",
    "Address",
    "Arm",
    "Block",
    "Bound",
    "Cell",
    "Comparison",
    "Difference",
    "Ending",
    "Extent",
    "Fairness",
    "Headline",
    "Hook",
    "HookMoment",
    "Json",
    "Observe",
    "OwnerCost",
    "Password",
    "Placement",
    "Plan",
    "Ratio",
    "ResponseTimes",
    "Responses",
    "RoleFigures",
    "Schedule",
    "Series",
    "ServerSide",
    "Sla",
    "Span",
    "Stalls",
    "StatementUse",
    "Step",
    "StepComparison",
    "StepFacts",
    "StepRun",
    "Target",
    "Times",
    "Void",
    "WaitLoad",
    "Waits",
    "Window",
    "WorkloadUse",
    "can",
]
