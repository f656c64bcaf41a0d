"""Attribution: which of several factors makes two arms differ, told by arms that mix them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from dbdyno.model.json import Json
from dbdyno.model.ratio import Ratio

DesignKind = Literal["one at a time", "factorial"]
"""`one at a time`: each arm changes one factor more, in their order, from the base to the arm.
`factorial`: all combinations."""


@dataclass(frozen=True, kw_only=True)
class Factor:
    """Something in which two arms differ and that can be exchanged by itself."""

    name: str  # "work_mem", "version"
    base: str  # its value in the base, in words
    arm: str  # and in the arm


@dataclass(frozen=True, kw_only=True)
class Design:
    """Two arms of a plan, and the arms that mix their factors."""

    kind: DesignKind
    base: str  # an arm's name
    arm: str
    factors: tuple[Factor, ...]  # in the order in which `one at a time` changes them
    values: Mapping[str, tuple[int, ...]]  # by arm, for each factor: 0 as in the base, 1 as in arm

    @property
    def written(self) -> Json:
        """As plan.json and `dyno compare --json` have it: there the values are `levels`."""
        return {"levels" if key == "values" else key: value for key, value in asdict(self).items()}


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a factor does to a metric, or an interaction: how one changes what another one does."""

    factors: tuple[str, ...]  # one; of an interaction two
    change: Ratio | None  # None: no block has all arms that tell it
    q: float | None = None  # over all effects of the metric in the step; None with one block
    significant: bool = False  # whether it is told from 1 after that adjustment


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """A metric of a step: what the arm has more of it than the base, and by which factors."""

    metric: str
    whole: Ratio | None  # arm by base
    effects: tuple[Effect, ...]  # one for each factor, in the design's order
    interactions: tuple[Effect, ...]  # none where the design cannot tell them
    remainder: Ratio | None  # what the effects together lack of the whole; None: by design nothing
