"""Attribution: which of several factors makes two arms differ, told by arms that mix them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from dbdyno.model.json import Json

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
