"""The makers of values as a workload file writes them (docs/workload.md explains them)."""

from typing import Annotated, Literal

from pydantic import Field

from dbdyno.model.document import Form

Number = int | float | str
"""A number, or an expression in braces."""
Range = Annotated[list[Number], Field(min_length=2, max_length=2)]
"""A lowest and a highest number, both inclusive."""


class ZipfForm(Form):
    """Integers of which the k-th is likely by a power of 1/k; `scattered`: in no order."""

    range: Range
    exponent: Number = 0.8
    scattered: bool = False


class ParetoForm(Form):
    """sysbench's: the share `h` of the range has the share 1 - `h` of the draws."""

    range: Range
    h: Number = 0.2


class SpecialForm(Form):
    """sysbench 1.0's default: a small hot zone in the middle of a bell."""

    range: Range
    iterations: Number = 12
    percent: Number = 1
    share: Number = 75


class BatesForm(Form):
    """sysbench's gaussian: the mean of several uniform numbers."""

    range: Range
    iterations: Number = 12


class GaussianForm(Form):
    """pgbench's: normal, cut off at `parameter` standard deviations on both sides."""

    range: Range
    parameter: Number


class ExponentialForm(Form):
    """pgbench's: each part of the range is likelier than the next."""

    range: Range
    parameter: Number


class PermutationForm(Form):
    """Another value in its place in a permutation of a range; `:row` in a fill."""

    value: str
    range: Range


class SequenceForm(Form):
    """Numbers counted up over a role's operations, of which `each` in a row have the same."""

    first: Number = 1
    each: Number = 1
    step: Number = 1


class CounterForm(Form):
    """Numbers counted up by all connections of a step together, without a gap."""

    first: Number = 1


class ItemForm(Form):
    """The number of the item in its repetition."""

    first: Number = 1


class ClientForm(Form):
    """A number of each client's own."""

    first: Number = 0
    step: Number = 1


class TextPartForm(Form):
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
    zipf: ZipfForm | None = None
    pareto: ParetoForm | None = None
    special: SpecialForm | None = None
    bates: BatesForm | None = None
    gaussian: GaussianForm | None = None
    exponential: ExponentialForm | None = None
    permutation: PermutationForm | None = None
    compute: str | None = None
    join: list[str | TextPartForm] | None = Field(default=None, min_length=1)
    constant: Number | None = None


class TextForm(Form):
    """A text: `fill` characters in front, random ones behind."""

    fill: str = Field(default="a", min_length=1, max_length=1)
    length: list[Number] = Field(min_length=2, max_length=2)
    random: Number = 0
    alphabet: str = ""


class SampleForm(Form):
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
    text: TextForm | None = None
    pattern: str | None = None
    clock: Literal["second"] | None = None
    sequence: SequenceForm | None = None
    count: CounterForm | None = None
    newest: str | None = None
    item: ItemForm | None = None
    client: ClientForm | None = None
    sample: SampleForm | None = None
    per: Literal["item", "statement", "transaction"] = "item"
    format: Literal["integer", "decimal2", "hundredths", "text", "timestamp"] | None = None
