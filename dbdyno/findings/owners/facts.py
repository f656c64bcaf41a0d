"""What each owner cost in a window, and what those of the arm's servers cost between its turns."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import fsum
from typing import Annotated

from dbdyno.model import OwnerCost
from dbdyno.model.facts import Facts, says


@dataclass(frozen=True, kw_only=True)
class OwnerFacts(Facts):
    """The costs of a step; those of a window add up to the machine's."""

    costs: Annotated[
        tuple[OwnerCost, ...],
        says(
            "an owner's costs in exactly a step's window, of idle:OWNER between its turns; rest: "
            "costs without an owner"
        ),
    ] = ()

    def sum(self, owners: Collection[str], of: Callable[[OwnerCost], float | None]) -> float | None:
        """A cost of these owners together, as far as it is known; None where of none."""
        spent = [of(cost) for cost in self.costs if cost.owner in owners]
        known = [value for value in spent if value is not None]
        return fsum(known) if known else None
