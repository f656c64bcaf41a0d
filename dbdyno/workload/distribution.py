"""Distributions of which some integers are likelier than others, as a job has them.

Distributions that the generator would refuse are refused here, before anything runs.
"""

from collections.abc import Sequence

from dbdyno.model.job import values
from dbdyno.workload.maker_schema import (
    BatesForm,
    ExponentialForm,
    GaussianForm,
    Number,
    Numbers,
    ParetoForm,
    SpecialForm,
    ZipfForm,
)
from dbdyno.workload.scope import Scope

EXPONENT_MAX = 1000
ITERATIONS_MAX = 1000
GAUSSIAN_PARAMETER_MIN = 2.0
"""pgbench's: below it, too many draws would be thrown away."""

COUNTED_MAX = 2**62
"""No run counts so far: at a million a second in 140,000 years."""

KINDS = ("zipf", "pareto", "special", "bates", "gaussian", "exponential")


def of(
    maker: Numbers,
) -> ZipfForm | ParetoForm | SpecialForm | BatesForm | GaussianForm | ExponentialForm | None:
    """The distribution of a maker, if it has one."""
    given = (getattr(maker, maker_name) for maker_name in KINDS)
    return next((distribution for distribution in given if distribution is not None), None)


def made(
    written: ZipfForm | ParetoForm | SpecialForm | BatesForm | GaussianForm | ExponentialForm,
    scope: Scope,
) -> values.Distribution:
    """The job's form of a distribution; `scope` is its place."""
    range = span(written.range, scope.at("range"))
    match written:
        case ZipfForm():
            exponent = _within(written.exponent, scope.at("exponent"), 0, EXPONENT_MAX)
            return values.Zipf(range=range, exponent=exponent, scattered=written.scattered)
        case ParetoForm():
            place = scope.at("h")
            h = place.positive(written.h)
            if h >= 1:
                raise place.error(f"must be below 1, not {h}")
            return values.Pareto(range=range, h=float(h))
        case SpecialForm():
            return values.Special(
                range=range,
                iterations=_iterations(written.iterations, scope),
                percent=_within(written.percent, scope.at("percent"), 0, 100),
                share=_within(written.share, scope.at("share"), 0, 100),
            )
        case BatesForm():
            return values.Bates(range=range, iterations=_iterations(written.iterations, scope))
        case GaussianForm():
            place = scope.at("parameter")
            parameter = place.number(written.parameter, low=GAUSSIAN_PARAMETER_MIN)
            return values.Gaussian(range=range, parameter=float(parameter))
        case ExponentialForm():
            parameter = scope.at("parameter").positive(written.parameter)
            return values.Exponential(range=range, parameter=float(parameter))


def span(written: Sequence[Number], scope: Scope) -> tuple[int, int]:
    """Two whole numbers, the lower one first."""
    low, high = (scope.integer(bound) for bound in written)
    if low > high:
        raise scope.error(f"the lower bound {low} is above the upper bound {high}")
    return low, high


def extent(
    made: Sequence[values.Value], number: int, rows: int | None = None, items: int | None = None
) -> tuple[int, int] | None:
    """The least and the greatest number that a job's value can be, where the job alone says it.

    `rows` are those of the fill that it is for, `items` the most that a row has of children.
    """
    value = made[number]
    match value:
        case values.Value(uniform=(int() as low, int() as high)):
            return low, high
        case values.Value(constant=int() as constant):
            return constant, constant
        case values.Value(count=values.SharedCounter(first=first)):
            return first, COUNTED_MAX
        case values.Value(newest=values.NewestNumber(value=base)):
            inner = extent(made, base, rows, items)
            return inner and (inner[0] - 1, inner[1])
        case values.Value(row=int() as first) if rows is not None:
            return first, first + rows - 1
        case values.Value(item=values.Item(first=first)) if items is not None:
            return first, first + items - 1
        case values.Value(add=values.Addition(value=base, plus=int() as plus)):
            inner = extent(made, base, rows, items)
            return inner and (inner[0] + plus, inner[1] + plus)
        case values.Value(add=values.Addition(value=base, other=int() as other)):
            # Two that have something in common may not reach their bounds together.
            if with_bases(made, base) & with_bases(made, other):
                return None
            ends = extent(made, base, rows, items), extent(made, other, rows, items)
            return ends[0] and ends[1] and (ends[0][0] + ends[1][0], ends[0][1] + ends[1][1])
    ranged = value.permutation or value.compute or value.distribution
    return ranged.range if ranged else None


def with_bases(made: Sequence[values.Value], number: int) -> set[int]:
    """A job's value and those that it is computed from."""
    numbers: set[int] = set()
    open_ends = {number}
    while open_ends:
        numbers.add(base := open_ends.pop())
        open_ends |= made[base].bases - numbers
    return numbers


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
