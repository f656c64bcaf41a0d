"""Values of a job: what each is made from, which is the one maker among its keys."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from dbdyno.model.job.programs import Expression
from dbdyno.model.json import Natural, always

Per = Literal["item", "statement", "transaction"]
"""How long a value stays the same."""
Format = Literal["integer", "decimal2", "hundredths", "text", "timestamp"]
"""How a value is written as a literal."""
Span = tuple[int, int]
"""The least and the greatest number, both inclusive."""


class CursorBound(Struct, frozen=True):
    """A bound that a cursor of the job moves, by its number."""

    cursor: Natural
    plus: int = 0


class Zipf(Struct, frozen=True, kw_only=True):
    """Integers of which the k-th is likely by a power of 1/k; `scattered`: in no order."""

    range: Span
    exponent: int | float
    scattered: bool


class Pareto(Struct, frozen=True, kw_only=True):
    """sysbench's: the share `h` of the range has the share 1 - `h` of the draws."""

    range: Span
    h: int | float


class Special(Struct, frozen=True, kw_only=True):
    """sysbench 1.0's default: a small hot zone in the middle of a bell."""

    range: Span
    iterations: Natural
    percent: int | float
    share: int | float


class Bates(Struct, frozen=True, kw_only=True):
    """sysbench's gaussian: the mean of several uniform numbers."""

    range: Span
    iterations: Natural


class Gaussian(Struct, frozen=True, kw_only=True):
    """pgbench's: normal, cut off at `parameter` standard deviations on both sides."""

    range: Span
    parameter: int | float


class Exponential(Struct, frozen=True, kw_only=True):
    """pgbench's: each part of the range is likelier than the next."""

    range: Span
    parameter: int | float


Distribution = Zipf | Pareto | Special | Bates | Gaussian | Exponential


class Addition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The sum of a value and a number, or of two values."""

    value: Natural
    plus: int | None = None
    other: Natural | None = None


class Permutation(Struct, frozen=True, kw_only=True):
    """Another value in its place in a permutation of a range."""

    value: Natural
    range: Span


class ComputedValue(Struct, frozen=True, kw_only=True):
    """What an expression makes of other values: its variables are their numbers.

    `range` is proved: the expression can be computed of all that the values can be, and lies in it.
    """

    expression: Expression
    range: Span


class JoinPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a joined text: a value, or a word of a list by the number that a value is.

    It is left out where the value `when` is 0.
    """

    value: Natural | None = None
    of: tuple[str, ...] = ()
    at: Natural | None = None
    when: Natural | None = None


class Sequence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Numbers counted up over a role's operations, of which `each` in a row have the same."""

    first: int
    each: Natural = 1
    step: int = 1


class SharedCounter(Struct, frozen=True):
    """Numbers counted up by all connections of a step together."""

    first: int


class NewestNumber(Struct, frozen=True):
    """The newest number of a value of `count`, by its number, whose operations have all ended."""

    value: Natural


class Item(Struct, frozen=True):
    """The number of the item in its repetition."""

    first: int


class ClientNumber(Struct, frozen=True, kw_only=True):
    """A number of each client's own."""

    first: int
    step: int


class RandomText(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A text: `fill` characters in front, random ones behind, which are the share `random`.

    Random ones are of the alphabet; where that is empty, of base64.
    """

    fill: str
    length: Span
    random: int | float
    alphabet: str = ""


class SampleColumn(Struct, frozen=True, kw_only=True):
    """A column of a file's tuples, of which each operation draws one.

    `of` is the SHA-256 of the file's content, by which the job's `samples` say where it is.
    """

    of: str
    column: Natural  # from 0


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value that statements and fills use; exactly one of its makers is there."""

    name: str
    per: Per = always("item")
    format: Format
    uniform: tuple[int | CursorBound, int | CursorBound] | None = None
    zipf: Zipf | None = None
    pareto: Pareto | None = None
    special: Special | None = None
    bates: Bates | None = None
    gaussian: Gaussian | None = None
    exponential: Exponential | None = None
    add: Addition | None = None
    permutation: Permutation | None = None
    compute: ComputedValue | None = None
    join: tuple[str | JoinPart, ...] | None = None
    sequence: Sequence | None = None
    count: SharedCounter | None = None
    newest: NewestNumber | None = None
    item: Item | None = None
    client: ClientNumber | None = None
    text: RandomText | None = None
    pattern: str | None = None
    clock: Literal["second"] | None = None
    constant: int | None = None
    row: int | None = None
    sample: SampleColumn | None = None

    @property
    def distribution(self) -> Distribution | None:
        """Its maker where some integers are likelier than others; None: it has another."""
        return (
            self.zipf
            or self.pareto
            or self.special
            or self.bates
            or self.gaussian
            or self.exponential
        )

    @property
    def bases(self) -> frozenset[int]:
        """The numbers of the values that it is computed from."""
        if self.permutation is not None:
            return frozenset({self.permutation.value})
        if self.compute is not None:
            return frozenset(variables(self.compute.expression))
        if self.join is not None:
            parts = [part for part in self.join if isinstance(part, JoinPart)]
            numbers = [number for part in parts for number in (part.value, part.at, part.when)]
            return frozenset(number for number in numbers if number is not None)
        if self.add is None:
            return frozenset()
        others = () if self.add.other is None else (self.add.other,)
        return frozenset({self.add.value, *others})

    @property
    def is_text(self) -> bool:
        """Whether it makes a text, with which nothing can be computed."""
        return (self.text or self.pattern or self.sample or self.join) is not None


def variables(expression: Expression) -> Iterator[int]:
    """The numbers of the variables in an expression, each as often as it stands there."""
    form, *arguments = expression
    if form == "variable":
        yield from arguments
    for argument in arguments:
        if isinstance(argument, list):
            yield from variables(argument)
