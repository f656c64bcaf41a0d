"""Which columns follow from which: functional dependencies and their closure.

Columns, expressions and rows are numbers. A column has two where equal values may look different:
one stands for what it is equal to, one for how it looks (C. Beeri, "On the Membership Problem for
Functional and Multivalued Dependencies", 1980, has the closure).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Dependency:
    """Rows that agree in all of `given` agree in all of `fixed`."""

    given: frozenset[int]
    fixed: frozenset[int]
    nulls: bool = False  # also among the rows to which an outer join gives NULL for all of these


def closure(
    known: Iterable[int], dependencies: Sequence[Dependency], first: int = 0
) -> frozenset[int]:
    """All that is fixed where `known` is; numbers before `first` are of outer rows, and fixed."""
    fixed = set(known)
    left = list(dependencies)
    while True:
        applying = [each for each in left if all(n < first or n in fixed for n in each.given)]
        if not applying:
            return frozenset(fixed)
        for each in applying:
            fixed |= each.fixed
            left.remove(each)


def nullable(dependencies: Iterable[Dependency], matched: int) -> list[Dependency]:
    """The dependencies of a join's side that may be missing, by whether it is there."""
    return [
        each if each.nulls else Dependency(each.given | {matched}, each.fixed)
        for each in dependencies
    ]
