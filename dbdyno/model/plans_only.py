"""plans.json of `dyno plans`: how each arm would plan an application's queries, without data."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from dbdyno.model.plan_tree import PlanTree, PlanTrees
from dbdyno.model.planner_statistics import HiddenStatistics, UnknownPart

FORMAT = 1
FILE, REPORT = "plans.json", "report.html"

FlipWord = Literal["another plan", "near", "same", "fails", "not told"]
"""`near`: another plan, and another ANALYZE may do the same; `fails`: the arm refuses the text."""
JitChange = Literal["", "begins", "ends"]
FLIP_WORDS: Mapping[str, FlipWord] = {
    "changed": "another plan",
    "near": "near",
    "same": "same",
    "fails": "fails",
    "not-told": "not told",
}
"""The words by how `--fail-on` and programs write them."""


class PlannedQuery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A query of the application, as far as its plan is concerned."""

    name: str
    text: str = ""  # without values
    calls: float = 0.0
    time_s: float = 0.0
    words: tuple[str, ...] = ()  # the names in its text: of columns, relations, functions


class PlanningArm(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An arm, and its plans."""

    name: str
    version: str
    settings: Mapping[str, str] = {}  # its own
    indexes: tuple[str, ...] = ()  # made and dropped for it, in words
    jit_above: float | None = None  # from which cost a plan is compiled; None: never
    trees: PlanTrees
    lacks: tuple[str, ...] = ()  # sentences


class PlansRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """plans.json."""

    format: int
    command: str
    race: str = ""  # the command that times what is planned otherwise
    workload: str
    time_s: float = 0.0  # of all calls of the source
    queries: tuple[PlannedQuery, ...]
    arms: tuple[PlanningArm, ...]  # the base first
    source: tuple[PlanTree, ...] = ()  # the plans of the server that was captured
    user: str = ""  # who asked it
    hidden: HiddenStatistics = HiddenStatistics()
    reading: tuple[str, ...] = ()  # functions that read tables while a query is planned
    beyond: tuple[UnknownPart, ...] = ()  # what no lab knows of tables
    left_out: tuple[str, ...] = ()  # of the statistics, in sentences
    seconds: float = 0.0  # that it took


class FlippedQuery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a query's plan on an arm."""

    query: str
    arm: str
    word: FlipWord
    share: float = 0.0  # of the source's time
    where: str = ""  # the plans part, or why nothing is told
    reason: str = ""  # the kind of that why, alike for many queries
    proven: bool = False  # whether the base's plan is that of the server that was captured
    generic: bool = False  # whether the plan is for any values
    tuples: int = 0  # of values that have another plan
    of: int = 0
    jit: JitChange = ""  # whether it is compiled on one of the two alone
    base: tuple[str, ...] = ()  # both trees, in lines
    plan: tuple[str, ...] = ()
