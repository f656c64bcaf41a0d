"""Values that an expression makes of others: whole numbers that can always be computed.

Expressions are those of scripts, without draws and doubles. From the ranges of the values that an
expression takes follows the range that it has, and that nothing in it can fail: neither overflow
nor division by zero. So a row or an operation never does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from dbdyno.model.job import values
from dbdyno.model.job.programs import Expression
from dbdyno.workload import distribution
from dbdyno.workload.scope import Scope
from dbdyno.workload.script.compile import TREE_DEPTH_MAX
from dbdyno.workload.script.expression import DEFAULT_SEED, Node, parse
from dbdyno.workload.script.source import ScriptText

LEAST, GREATEST = -(2**63), 2**63 - 1
ANY = (LEAST, GREATEST)
COMPARISONS = frozenset({"lt", "le", "eq", "ne", "gt", "ge"})
HASHES = frozenset({"hash_fnv1a", "hash_murmur2"})
REMEDY = "use a value for a part of it"
"""Where an expression nests too deep."""
ROW = "row"
"""The variable that is a fill's number of the row, from 1."""


@dataclass(frozen=True)
class ValueInputs:
    """What a value is made from: numbers of values and cursors by name, and the job's values.

    `rows` are those of the fill that it is for, `items` the most that a row has of children.
    """

    numbers: Mapping[str, int]
    values: Sequence[values.Value]
    rows: int | None = None
    items: int | None = None

    def extent(self, number: int) -> tuple[int, int]:
        """The least and the greatest that a value can be."""
        return distribution.extent(self.values, number, self.rows, self.items) or ANY


@dataclass(frozen=True)
class Range:
    """The whole numbers that a part of an expression can be; of a truth value both are none."""

    low: int = 0
    high: int = -1

    @property
    def is_truth(self) -> bool:
        """Whether it is true or false, and no number."""
        return self.low > self.high


TRUTH = Range()


def names(text: str, scope: Scope) -> list[str]:
    """The values that an expression takes, each once; `:row` is a fill's number of the row.

    Raises WorkloadError where it is no expression.
    """
    used = [str(node.value) for node in read(text, scope, REMEDY).variables()]
    if DEFAULT_SEED in used:
        raise scope.error("give the hash its seed, as in `hash_fnv1a(:n, 0)`")
    return list(dict.fromkeys(f":{ROW}" if name == ROW else name for name in used))


def condition(text: str) -> str:
    """An expression that is 1 where a condition is true, otherwise 0."""
    return f"CASE WHEN {text} THEN 1 ELSE 0 END"


def made(text: str, scope: Scope, needed: ValueInputs) -> values.ComputedValue:
    """An expression as a job has it. Raises WorkloadError where it might not be computed."""
    proof = _Proof(scope, needed, scope.text(text))
    tree, range_ = proof.read(read(text, scope, REMEDY))
    if range_.is_truth:
        raise scope.error("is true or false; write `CASE WHEN … THEN 1 ELSE 0 END`")
    return values.ComputedValue(expression=tree, range=(range_.low, range_.high))


def evaluate(expression: Expression, value: Callable[[int], int]) -> int:
    """What a job's expression is with the values by their numbers, as the generator computes it."""
    form, *arguments = expression
    if form in ("integer", "boolean"):
        return int(arguments[0])
    if form == "variable":
        return value(arguments[0])
    if form == "case":
        *branches, otherwise = arguments
        for condition, then in zip(branches[::2], branches[1::2], strict=True):
            if evaluate(condition, value):
                return evaluate(then, value)
        return evaluate(otherwise, value)
    return _computed(form, [evaluate(argument, value) for argument in arguments])


def read(text: str, scope: Scope, remedy: str) -> Node:
    """The expression that is written at a place, with its braces filled in.

    `remedy`: what helps where it nests too deep. Raises WorkloadError.
    """
    source = ScriptText(f"{scope.source}: key `{scope.key}`", scope.text(text))
    node, end = parse(source, 0)
    if source.text[end:].strip():
        raise source.error(end, "an expression ends with its line; remove what follows")
    if node.depth > TREE_DEPTH_MAX:
        raise scope.error(f"nests deeper than {TREE_DEPTH_MAX} times; {remedy}")
    return node


@dataclass(frozen=True)
class _Proof:
    """Reads an expression from its leaves, each part with its range."""

    scope: Scope
    needed: ValueInputs
    text: str

    def read(self, node: Node) -> tuple[Expression, Range]:
        """A part of the expression and its range."""
        if node.form == "variable":
            return self._variable(str(node.value))
        if node.form == "integer":
            assert isinstance(node.value, int)
            return ["integer", node.value], Range(node.value, node.value)
        if node.form == "boolean":
            return ["boolean", node.value], TRUTH
        if not node.arguments:
            raise self.scope.error(f"`{node.form}` is for scripts alone; use whole numbers")
        parts = [self.read(argument) for argument in node.arguments]
        tree = [node.form, *(tree for tree, _ in parts)]
        range_ = self._range(node.form, [range_ for _, range_ in parts])
        if range_ != TRUTH and not (range_.low >= LEAST and range_.high <= GREATEST):
            raise self.scope.error(
                f"`{self.text}` can leave the 64 bits of a number; bound a part of it by `%`"
            )
        return tree, range_

    def _variable(self, name: str) -> tuple[Expression, Range]:
        number = self.needed.numbers[f":{ROW}" if name == ROW else name]
        return ["variable", number], Range(*self.needed.extent(number))

    def _range(self, form: str, parts: Sequence[Range]) -> Range:
        if form in ("and", "or", "not"):
            self._expect(form, parts, truth=True)
            return TRUTH
        if form == "case":
            self._expect(form, parts[:-1:2], truth=True)
            results = [*parts[1:-1:2], parts[-1]]
            self._expect(form, results, truth=False)
            return _around(bound for part in results for bound in (part.low, part.high))
        self._expect(form, parts, truth=False)
        if form in COMPARISONS:
            return TRUTH
        if form in HASHES:
            return Range(*ANY)
        if form in ("divide", "remainder", "mod") and parts[1].low <= 0 <= parts[1].high:
            raise self.scope.error(f"`{self.text}` can divide by zero; use greatest(…, 1)")
        ranges = RANGES.get(form)
        if ranges is None:
            raise self.scope.error(f"`{form}` is for scripts alone; compute with whole numbers")
        return ranges(parts)

    def _expect(self, form: str, parts: Iterable[Range], *, truth: bool) -> None:
        if any(part.is_truth != truth for part in parts):
            wanted = "true or false" if truth else "numbers"
            raise self.scope.error(f"`{form}` in `{self.text}` takes {wanted}")


def _around(bounds: Iterable[int]) -> Range:
    """The least range with all these numbers in it."""
    numbers = list(bounds)
    return Range(min(numbers), max(numbers))


def _corners(function: str) -> Callable[[Sequence[Range]], Range]:
    """Of a function that is monotonic in each of two arguments, whatever the other is."""

    def ranges(parts: Sequence[Range]) -> Range:
        first, second = parts
        pairs = product((first.low, first.high), (second.low, second.high))
        return _around(_exact(function, *pair) for pair in pairs)

    return ranges


def _remainder(parts: Sequence[Range]) -> Range:
    """Has the sign of the first; a first that is small enough stays as it is."""
    first, second = parts
    most = max(abs(second.low), abs(second.high)) - 1
    least = min(abs(second.low), abs(second.high))
    if first.low >= 0 and first.high < least:
        return first
    return Range(max(first.low, -most) if first.low < 0 else 0, min(max(first.high, 0), most))


def _absolute(parts: Sequence[Range]) -> Range:
    """As if -2^63 had an opposite: what leaves its range becomes the nearest number of it."""
    (part,) = parts
    if part.low >= 0:
        return part
    return Range(max(0, -part.high), min(GREATEST, max(-part.low, part.high)))


def _bits(form: str) -> Callable[[Sequence[Range]], Range]:
    def ranges(parts: Sequence[Range]) -> Range:
        first, second = parts
        if first.low < 0 or second.low < 0:
            return Range(*ANY)
        if form == "bit_and":
            return Range(0, min(first.high, second.high))
        width = max(first.high.bit_length(), second.high.bit_length())
        low = max(first.low, second.low) if form == "bit_or" else 0
        return Range(low, (1 << width) - 1)

    return ranges


def _shifted(form: str) -> Callable[[Sequence[Range]], Range]:
    def ranges(parts: Sequence[Range]) -> Range:
        first, by = parts
        if first.low < 0 or by.low != by.high or not 0 <= by.low < 64:
            return Range(*ANY)
        if form == "shift_right":
            return Range(first.low >> by.low, first.high >> by.low)
        return Range(first.low << by.low, first.high << by.low)

    return ranges


RANGES: Mapping[str, Callable[[Sequence[Range]], Range]] = {
    "add": _corners("add"),
    "subtract": _corners("subtract"),
    "multiply": _corners("multiply"),
    "divide": _corners("divide"),
    "remainder": _remainder,
    "mod": _remainder,
    "negate": lambda parts: Range(-parts[0].high, -parts[0].low),
    "abs": _absolute,
    "bit_not": lambda parts: Range(~parts[0].high, ~parts[0].low),
    "bit_and": _bits("bit_and"),
    "bit_or": _bits("bit_or"),
    "bit_xor": _bits("bit_xor"),
    "shift_left": _shifted("shift_left"),
    "shift_right": _shifted("shift_right"),
    "greatest": lambda parts: Range(max(p.low for p in parts), max(p.high for p in parts)),
    "least": lambda parts: Range(min(p.low for p in parts), min(p.high for p in parts)),
}
"""The range of a function of whole numbers, from those of its arguments."""


def _exact(form: str, first: int, second: int) -> int:
    """Without the limit of 64 bits; a quotient is cut towards zero, as in C."""
    match form:
        case "add":
            return first + second
        case "subtract":
            return first - second
        case "multiply":
            return first * second
    quotient = abs(first) // abs(second)
    quotient = quotient if (first < 0) == (second < 0) else -quotient
    return quotient if form == "divide" else first - second * quotient


def _computed(form: str, parts: Sequence[int]) -> int:
    """A function of numbers and truth values, of which a proof has shown that it can be."""
    first, last = parts[0], parts[-1]
    match form:
        case "add" | "subtract" | "multiply" | "divide" | "remainder":
            return _exact(form, first, last)
        case "mod":
            return _exact("remainder", first, last)
        case "negate":
            return -first
        case "abs":
            return _wrapped(abs(first))
        case "bit_not":
            return ~first
        case "bit_and" | "bit_or" | "bit_xor":
            return {"bit_and": first & last, "bit_or": first | last}.get(form, first ^ last)
        case "shift_left":
            return _wrapped(first << (last & 63))
        case "shift_right":
            return first >> (last & 63)
        case "greatest":
            return max(parts)
        case "least":
            return min(parts)
        case "not":
            return int(not first)
        case "and":
            return int(bool(first and last))
        case "or":
            return int(bool(first or last))
        case "hash_fnv1a":
            return _fnv1a(first, last)
        case "hash_murmur2":
            return _murmur2(first, last)
    compared = {"lt": first < last, "le": first <= last, "eq": first == last, "ne": first != last}
    return int({**compared, "gt": first > last, "ge": first >= last}[form])


def _wrapped(number: int) -> int:
    """The low 64 bits, as a signed number."""
    return (number - LEAST) % 2**64 + LEAST


def _fnv1a(number: int, seed: int) -> int:
    """FNV-1a of a number's eight bytes, the lowest first (Fowler, Noll and Vo)."""
    state = 0xCBF2_9CE4_8422_2325 ^ seed % 2**64
    for byte in (number % 2**64).to_bytes(8, "little"):
        state = (state ^ byte) * 0x0100_0000_01B3 % 2**64
    return _wrapped(state)


def _murmur2(number: int, seed: int) -> int:
    """MurmurHash64A of a number's eight bytes (Appleby)."""
    factor = 0xC6A4_A793_5BD1_E995

    def mixed(state: int) -> int:
        return (state ^ state >> 47) * factor % 2**64

    state = (seed ^ 8 * factor ^ mixed(number * factor % 2**64)) % 2**64 * factor % 2**64
    state = mixed(state)
    return _wrapped(state ^ state >> 47)
