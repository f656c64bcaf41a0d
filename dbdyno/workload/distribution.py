"""Distributions of which some integers are likelier than others, as a job has them.

Distributions that the generator would refuse are refused here, before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model import Json
from dbdyno.workload.maker_schema import (
    Bates,
    Exponential,
    Gaussian,
    Number,
    Numbers,
    Pareto,
    Special,
    Zipf,
)
from dbdyno.workload.scope import Scope

EXPONENT_MAX = 1000
ITERATIONS_MAX = 1000
GAUSSIAN_PARAMETER_MIN = 2.0
"""pgbench's: below it, too many draws would be thrown away."""

KINDS = ("zipf", "pareto", "special", "bates", "gaussian", "exponential")


def of(maker: Numbers) -> Zipf | Pareto | Special | Bates | Gaussian | Exponential | None:
    """The distribution of a maker, if it has one."""
    given = (getattr(maker, kind) for kind in KINDS)
    return next((one for one in given if one is not None), None)


def made(written: Zipf | Pareto | Special | Bates | Gaussian | Exponential, scope: Scope) -> Json:
    """The job's form of a distribution; `scope` is its place."""
    entry: Json = {"range": span(written.range, scope.at("range"))}
    match written:
        case Zipf():
            exponent = _within(written.exponent, scope.at("exponent"), 0, EXPONENT_MAX)
            entry |= {"exponent": exponent, "scattered": written.scattered}
        case Pareto():
            place = scope.at("h")
            h = place.positive(written.h)
            if h >= 1:
                raise place.error(f"must be below 1, not {h}")
            entry["h"] = float(h)
        case Special():
            entry["iterations"] = _iterations(written.iterations, scope)
            entry["percent"] = _within(written.percent, scope.at("percent"), 0, 100)
            entry["share"] = _within(written.share, scope.at("share"), 0, 100)
        case Bates():
            entry["iterations"] = _iterations(written.iterations, scope)
        case Gaussian():
            place = scope.at("parameter")
            entry["parameter"] = float(place.number(written.parameter, low=GAUSSIAN_PARAMETER_MIN))
        case Exponential():
            entry["parameter"] = float(scope.at("parameter").positive(written.parameter))
    return entry


def span(written: Sequence[Number], scope: Scope) -> list[int]:
    """Two whole numbers, the lower one first."""
    low, high = (scope.integer(bound) for bound in written)
    if low > high:
        raise scope.error(f"the lower bound {low} is above the upper bound {high}")
    return [low, high]


def extent(values: Sequence[Json], number: int, rows: int | None = None) -> tuple[int, int] | None:
    """The least and the greatest number that a job's value can be, where the job alone says it.

    `rows` are those of the fill that it is for.
    """
    match values[number]:
        case {"uniform": [int() as low, int() as high]}:
            return low, high
        case {"constant": constant}:
            return constant, constant
        case {"row": first} if rows is not None:
            return first, first + rows - 1
        case {"add": {"value": base, "plus": plus}}:
            inner = extent(values, base, rows)
            return inner and (inner[0] + plus, inner[1] + plus)
        case {"add": {"value": one, "other": two}}:
            # Two that have something in common may not reach their bounds together.
            if with_bases(values, one) & with_bases(values, two):
                return None
            ends = extent(values, one, rows), extent(values, two, rows)
            return ends[0] and ends[1] and (ends[0][0] + ends[1][0], ends[0][1] + ends[1][1])
        case value:
            ranges = [value[kind]["range"] for kind in (*KINDS, "permutation") if kind in value]
            return (ranges[0][0], ranges[0][1]) if ranges else None


def with_bases(values: Sequence[Json], number: int) -> set[int]:
    """A job's value and those that it is computed from."""
    found, open_ends = set(), {number}
    while open_ends:
        found.add(at := open_ends.pop())
        made: Json = values[at].get("add") or values[at].get("permutation") or {}
        open_ends |= {made[key] for key in ("value", "other") if key in made} - found
    return found


def _iterations(written: Number, scope: Scope) -> int:
    place = scope.at("iterations")
    iterations = place.integer(written, low=1)
    if iterations > ITERATIONS_MAX:
        raise place.error(f"at most {ITERATIONS_MAX}, not {iterations}")
    return iterations


def _within(written: Number, scope: Scope, low: float, high: float) -> float:
    number = scope.number(written, low=low)
    if number > high:
        raise scope.error(f"must be at most {high}, not {number}")
    return float(number)
