"""The makers of values as a workload file writes them (docs/workload.md explains them)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dbdyno.model.document import Form

Number = int | float | str
"""A number, or an expression in braces."""
Range = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""A lowest and a highest number, both inclusive."""


class Zipf(Form):
    """Integers of which the k-th is likely by a power of 1/k; `scattered`: in no order."""

    range: Range
    exponent: Number = 0.8
    scattered: bool = False


class Pareto(Form):
    """sysbench's: the share `h` of the range has the share 1 - `h` of the draws."""

    range: Range
    h: Number = 0.2


class Special(Form):
    """sysbench 1.0's default: a small hot zone in the middle of a bell."""

    range: Range
    iterations: Number = 12
    percent: Number = 1
    share: Number = 75


class Bates(Form):
    """sysbench's gaussian: the mean of several uniform numbers."""

    range: Range
    iterations: Number = 12


class Gaussian(Form):
    """pgbench's: normal, cut off at `parameter` standard deviations on both sides."""

    range: Range
    parameter: Number


class Exponential(Form):
    """pgbench's: each part of the range is likelier than the next."""

    range: Range
    parameter: Number


class Permutation(Form):
    """Another value in its place in a permutation of a range; `:row` in a fill."""

    value: str
    range: Range


class Sequence(Form):
    """Numbers counted up over a role's operations, of which `each` in a row have the same."""

    first: Number = 1
    each: Number = 1
    step: Number = 1


class Count(Form):
    """Numbers counted up by all connections of a step together, without a gap."""

    first: Number = 1


class Item(Form):
    """The number of the item in its repetition."""

    first: Number = 1


class Client(Form):
    """A number of each client's own."""

    first: Number = 0
    step: Number = 1


class Part(Form):
    """A part of a joined text: a number that is computed, or the word of a list, or a `text`.

    The word is that of the number, modulo the words, which count from 0. `when` is the condition
    under which the part stands.
    """

    compute: str | None = None
    of: list[str] | None = Field(default=None, min_length=1)
    text: str | None = None
    when: str | None = None


class Numbers(Form):
    """The makers that are for statements and fills alike."""

    uniform: Range | None = None
    zipf: Zipf | None = None
    pareto: Pareto | None = None
    special: Special | None = None
    bates: Bates | None = None
    gaussian: Gaussian | None = None
    exponential: Exponential | None = None
    permutation: Permutation | None = None
    compute: str | None = None
    join: list[str | Part] | None = Field(default=None, min_length=1)
    constant: Number | None = None


class Text(Form):
    """A text: `fill` characters in front, random ones behind."""

    fill: str = Field(default="a", min_length=1, max_length=1)
    length: list[Number] = Field(min_length=2, max_length=2)
    random: Number = 0
    alphabet: str = ""


class Sample(Form):
    """A column of a file of tuples, of which each operation draws one.

    `type` is the SQL type that a bound parameter declares; without it the server infers one.
    """

    file: str = Field(min_length=1)
    column: Number = 1
    type: str = ""


class Maker(Numbers):
    """A value: exactly one of the makers, or that of another `value`, and how it is written."""

    value: str | None = None
    add: list[Number] | None = Field(default=None, min_length=2, max_length=2)
    text: Text | None = None
    pattern: str | None = None
    clock: Literal["second"] | None = None
    sequence: Sequence | None = None
    count: Count | None = None
    newest: str | None = None
    item: Item | None = None
    client: Client | None = None
    sample: Sample | None = None
    per: Literal["item", "statement", "transaction"] = "item"
    format: Literal["integer", "decimal2", "hundredths", "text", "timestamp"] | None = None
