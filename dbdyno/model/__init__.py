"""The frozen types that the rooms share; the words are those of docs/glossary.md.

Measuring and judging meet only here and in the files of a result folder. A type's module is loaded
when the type is first asked for, as `dyno --help` needs none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

NAMES = {
    "address": "Address Tls",
    "comparison": "Cell Comparison Difference StepComparison",
    "engine": "can",
    "json": "Json",
    "plan": (
        "Arm Block CountRequest Hook HookMoment Host Initdb Observation Password Placement "
        "Plan ProfileRequest Schedule Transport Void WorkloadUse"
    ),
    "profile": "Profile",
    "ratio": "Bound PairedEstimate Ratio",
    "response_times": "ResponseFacts ResponseTimes",
    "step": "Condition Headline MetricSource Requirement Right Sla Step",
    "step_run": (
        "BackgroundFacts Ending Extent OwnerCost Series ServerSide Span StepFacts StepRun "
        "Target TargetFacts ToldFacts ToldValue Window"
    ),
}
"""By module: what stands above."""


def __getattr__(name: str) -> Any:
    for module, names in NAMES.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
            return value
    raise AttributeError(f"module `{__name__}` has no `{name}`")
