"""The values of a workload file, as a job has them (contract/README.md, "values")."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from dbdyno.model.job import values
from dbdyno.workload import computed, distribution, joined
from dbdyno.workload.computed import ValueInputs
from dbdyno.workload.maker_schema import Maker, TextForm
from dbdyno.workload.samples import Samples
from dbdyno.workload.scope import Scope

SCOPES = ("item", "statement", "transaction")
"""How often a value is drawn, the narrowest first."""

CURSOR = re.compile(r"cursor:(\w+?)\s*(?:([+-])\s*(\d+))?")
MAKERS = (
    *("uniform", *distribution.KINDS, "add", "permutation", "compute", "join"),
    *(
        "sequence",
        "count",
        "newest",
        "item",
        "client",
        "text",
        "pattern",
        "clock",
        "constant",
        "sample",
    ),
)
ALPHABET_MAX = 128
"""The most characters of an alphabet, as dyno-loadgen has it."""
ROW = ":row"
"""The name that a fill's column has in place of a value: the row's number, from 1."""
ITEM = "item"
"""The name of a child's number among its parent's, from 1."""


@dataclass(frozen=True)
class FillRow:
    """The row of a fill that values are made for; `columns` are the numbers of values by column.

    `rows` are those of the table, of children those of their parent, which has up to `items` each.
    """

    rows: int | None = None
    items: int | None = None
    columns: Mapping[str, int] = field(default_factory=dict)


NO_ROW = FillRow()

FORMATS: Mapping[str, values.Format] = {
    "text": "text",
    "pattern": "text",
    "join": "text",
    "clock": "timestamp",
    "sample": "text",
}
"""How a maker's values are written where the file does not say; else as integers."""


def like(maker: Maker, model: Maker) -> Maker:
    """The maker after its model: `per` and `format` may be its own."""
    written = maker.model_fields_set & {"per", "format"}
    return model.model_copy(update={key: getattr(maker, key) for key in written})


def cursor_names(maker: Maker, scope: Scope) -> list[str]:
    """The cursors that bound a value."""
    texts = [bound for bound in maker.uniform or () if isinstance(bound, str)]
    return [m[1] for text in texts if (m := CURSOR.fullmatch(scope.at("uniform").text(text)))]


def base_names(maker: Maker, scope: Scope) -> list[str]:
    """The values that another is made from, or refers to."""
    if maker.add is not None:
        other = scope.at("add").value(maker.add[1])
        return [str(maker.add[0]), *([other] if isinstance(other, str) else [])]
    if maker.permutation is not None:
        return [maker.permutation.value]
    if maker.newest is not None:
        return [maker.newest]
    if maker.compute is not None:
        return computed.names(maker.compute, scope.at("compute"))
    return [] if maker.join is None else joined.names(maker.join)


def made(
    name: str, maker: Maker, scope: Scope, needed: ValueInputs, samples: Samples
) -> values.Value:
    """A value as a job has it; `needed` are the values and cursors that it is made from.

    `samples` are the files that the job's values are drawn from.
    """
    numbers = needed.numbers
    given = [maker_name for maker_name in MAKERS if getattr(maker, maker_name) is not None]
    if len(given) != 1:
        raise scope.error(f"needs exactly one of {', '.join(MAKERS)}, not {len(given)}")
    given_maker = given[0]
    place = scope.at(given_maker)
    skewed = distribution.of(maker)
    if maker.uniform is not None:
        content: object = uniform(maker.uniform, place, numbers)
    elif skewed is not None:
        content = distribution.made(skewed, place)
    elif maker.add is not None:
        content = _added(maker.add, place, numbers)
    elif maker.permutation is not None:
        content = values.Permutation(
            value=numbers[maker.permutation.value],
            range=distribution.span(maker.permutation.range, place.at("range")),
        )
    elif maker.compute is not None:
        content = computed.made(maker.compute, place, needed)
    elif maker.join is not None:
        content = joined.made(name, maker.join, place, numbers)
    elif maker.sequence is not None:
        content = values.Sequence(
            first=place.at("first").integer(maker.sequence.first),
            each=place.at("each").integer(maker.sequence.each, low=1),
            step=place.at("step").integer(maker.sequence.step),
        )
    elif maker.count is not None:
        if maker.per != "transaction":
            raise scope.error('a `count` gives an operation one number; add per = "transaction"')
        content = values.SharedCounter(place.at("first").integer(maker.count.first))
    elif maker.newest is not None:
        if needed.values[numbers[maker.newest]].count is None:
            raise place.error(f"`{maker.newest}` is no `count`; name one")
        content = values.NewestNumber(numbers[maker.newest])
    elif maker.item is not None:
        if maker.per != "item":
            raise scope.at("per").error("an `item` counts a repetition's items; leave `per` out")
        content = values.Item(place.at("first").integer(maker.item.first))
    elif maker.client is not None:
        content = values.ClientNumber(
            first=place.at("first").integer(maker.client.first),
            step=place.at("step").integer(maker.client.step),
        )
    elif maker.text is not None:
        content = _text(maker.text, place)
    elif maker.sample is not None:
        for key in ("per", "format"):
            if key in maker.model_fields_set:
                sentence = "a `sample` is drawn once for each operation, and written as it stands"
                raise scope.at(key).error(f"{sentence}; leave `{key}` out")
        content = samples.column(maker.sample, place)
    elif maker.constant is not None:
        content = place.integer(maker.constant)
    else:
        content = getattr(maker, given_maker)
    value = values.Value(
        name=name, per=maker.per, format=maker.format or FORMATS.get(given_maker, "integer")
    )
    return replace(value, **{given_maker: content})


def uniform(
    bounds: list[int | float | str], scope: Scope, numbers: Mapping[str, int]
) -> tuple[int | values.CursorBound, int | values.CursorBound]:
    """Both bounds, inclusive: numbers, or a cursor with an offset."""
    low, high = (_bound(bound, scope, numbers) for bound in bounds)
    if isinstance(low, int) and isinstance(high, int) and low > high:
        raise scope.error(f"the lower bound {low} is above the upper bound {high}")
    return low, high


def _bound(
    bound: int | float | str, scope: Scope, numbers: Mapping[str, int]
) -> int | values.CursorBound:
    if isinstance(bound, str):
        match = CURSOR.fullmatch(scope.text(bound))
        if match:
            plus = int(f"{match[2]}{match[3]}") if match[2] else 0
            return values.CursorBound(numbers[f"cursor:{match[1]}"], plus)
    return scope.integer(bound)


def check_permutation(number: int, scope: Scope, needed: ValueInputs) -> None:
    """Refuses a permutation of a value that is known to leave its range."""
    made = needed.values
    permutation = made[number].permutation
    if permutation is None:
        return
    inside = distribution.extent(made, permutation.value, needed.rows, needed.items)
    low, high = permutation.range
    if inside and not (low <= inside[0] and inside[1] <= high):
        name = made[permutation.value].name
        raise scope.at("permutation", "range").error(
            f"`{name}` runs from {inside[0]} to {inside[1]}, which is not inside of {low} to {high}"
        )


def _added(
    written: Sequence[int | float | str], scope: Scope, numbers: Mapping[str, int]
) -> values.Addition:
    """A value and a number, or two values."""
    value, other = numbers[str(written[0])], scope.value(written[1])
    if isinstance(other, str):
        return values.Addition(value=value, other=numbers[other])
    return values.Addition(value=value, plus=scope.integer(written[1]))


def _text(text: TextForm, scope: Scope) -> values.RandomText:
    shortest, longest = (scope.at("length").integer(bound, low=0) for bound in text.length)
    if shortest > longest:
        raise scope.at("length").error(f"the shortest, {shortest}, is above {longest}")
    random = scope.at("random").number(text.random, low=0)
    if random > 1:
        raise scope.at("random").error(f"is a share from 0 to 1, not {random}")
    alphabet = scope.at("alphabet").text(text.alphabet)
    if not alphabet.isascii() or len(alphabet) > ALPHABET_MAX:
        raise scope.at("alphabet").error(f"takes at most {ALPHABET_MAX} ASCII characters")
    return values.RandomText(
        fill=text.fill, length=(shortest, longest), random=random, alphabet=alphabet
    )
