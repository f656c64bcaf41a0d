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
from dbdyno.model.engine import FAMILIES, PRODUCTS
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
    Extent,
    Fairness,
    OwnerCost,
    ResponseTimes,
    Series,
    Span,
    Stalls,
    StatementUse,
    StepRun,
    Target,
    WaitLoad,
    Waits,
)

__all__ = [
    "FAMILIES",
    "PRODUCTS",
    "Across",
    "Address",
    "Arm",
    "Block",
    "Bound",
    "Cell",
    "Comparison",
    "Difference",
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
    "Schedule",
    "Series",
    "Sla",
    "Span",
    "Stalls",
    "StatementUse",
    "Step",
    "StepComparison",
    "StepRun",
    "Target",
    "Void",
    "WaitLoad",
    "Waits",
    "WorkloadUse",
]
