"""The frozen types that the rooms share; the words are those of docs/glossary.md.

Measuring and judging meet only here and in the files of a result folder. A type's module is loaded
when the type is first asked for, as `dyno --help` needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbdyno.model.address import Address as Address
    from dbdyno.model.address import Tls as Tls
    from dbdyno.model.comparison import Cell as Cell
    from dbdyno.model.comparison import Comparison as Comparison
    from dbdyno.model.comparison import Difference as Difference
    from dbdyno.model.comparison import StepComparison as StepComparison
    from dbdyno.model.engine import can as can
    from dbdyno.model.json import Json as Json
    from dbdyno.model.plan import Arm as Arm
    from dbdyno.model.plan import Block as Block
    from dbdyno.model.plan import CountRequest as CountRequest
    from dbdyno.model.plan import Hook as Hook
    from dbdyno.model.plan import HookMoment as HookMoment
    from dbdyno.model.plan import Host as Host
    from dbdyno.model.plan import Initdb as Initdb
    from dbdyno.model.plan import Observation as Observation
    from dbdyno.model.plan import Password as Password
    from dbdyno.model.plan import Placement as Placement
    from dbdyno.model.plan import Plan as Plan
    from dbdyno.model.plan import ProfileRequest as ProfileRequest
    from dbdyno.model.plan import Schedule as Schedule
    from dbdyno.model.plan import Transport as Transport
    from dbdyno.model.plan import Void as Void
    from dbdyno.model.plan import WorkloadUse as WorkloadUse
    from dbdyno.model.profile import Profile as Profile
    from dbdyno.model.ratio import Bound as Bound
    from dbdyno.model.ratio import PairedEstimate as PairedEstimate
    from dbdyno.model.ratio import Ratio as Ratio
    from dbdyno.model.response_times import ResponseFacts as ResponseFacts
    from dbdyno.model.response_times import ResponseTimes as ResponseTimes
    from dbdyno.model.step import Condition as Condition
    from dbdyno.model.step import Headline as Headline
    from dbdyno.model.step import MetricSource as MetricSource
    from dbdyno.model.step import Requirement as Requirement
    from dbdyno.model.step import Right as Right
    from dbdyno.model.step import Sla as Sla
    from dbdyno.model.step import Step as Step
    from dbdyno.model.step_run import BackgroundFacts as BackgroundFacts
    from dbdyno.model.step_run import Ending as Ending
    from dbdyno.model.step_run import Extent as Extent
    from dbdyno.model.step_run import OwnerCost as OwnerCost
    from dbdyno.model.step_run import Series as Series
    from dbdyno.model.step_run import ServerSide as ServerSide
    from dbdyno.model.step_run import Span as Span
    from dbdyno.model.step_run import StepFacts as StepFacts
    from dbdyno.model.step_run import StepRun as StepRun
    from dbdyno.model.step_run import Target as Target
    from dbdyno.model.step_run import TargetFacts as TargetFacts
    from dbdyno.model.step_run import ToldFacts as ToldFacts
    from dbdyno.model.step_run import ToldValue as ToldValue
    from dbdyno.model.step_run import Window as Window

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
