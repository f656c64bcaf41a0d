"""Expressions of scripts as a job has them, and the same in pgbench's own words."""

from typing import Any

Tree = list[Any]

BETWEEN = {
    "and": "AND",
    "or": "OR",
    "lt": "<",
    "le": "<=",
    "eq": "=",
    "ne": "<>",
    "gt": ">",
    "ge": ">=",
    "bit_or": "|",
    "bit_xor": "#",
    "bit_and": "&",
    "shift_left": "<<",
    "shift_right": ">>",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
}
BEFORE = {"not": "NOT", "bit_not": "~", "negate": "-"}
BEHIND = {"is_null": "IS NULL", "is_true": "IS TRUE", "is_false": "IS FALSE"}


def i(number: int) -> Tree:
    """An integer."""
    return ["integer", number]


def d(number: float) -> Tree:
    """A double."""
    return ["double", number]


T, F, N = ["boolean", True], ["boolean", False], ["null"]
FIVE = ["variable", 0]
"""What is known only when the script runs; the only variable here."""
BIG = 2**62


def text(tree: Tree) -> str:
    """The expression as pgbench's script language has it; variable 0 is `five`."""
    name, *arguments = tree
    match name, arguments:
        case (("integer" | "double"), [int() | float() as number]):
            return f"({number!r})"
        case "boolean", [bool() as truth]:
            return str(truth).lower()
        case "null", _:
            return "NULL"
        case "variable", _:
            return ":five"
        case "case", _:
            parts = [text(one) for one in arguments]
            whens = zip(parts[:-1:2], parts[1::2], strict=True)
            when = " ".join(f"WHEN {condition} THEN {value}" for condition, value in whens)
            return f"CASE {when} ELSE {parts[-1]} END"
        case _:
            return called(name, [text(one) for one in arguments])


def called(name: str, parts: list[str]) -> str:
    """A function of parts that are texts already."""
    if name in BETWEEN:
        return f"({parts[0]} {BETWEEN[name]} {parts[1]})"
    if name in BEFORE:
        return f"({BEFORE[name]} {parts[0]})"
    if name in BEHIND:
        return f"({parts[0]} {BEHIND[name]})"
    return f"{name}({', '.join(parts)})"


EXACT: list[Tree] = [
    ["add", FIVE, i(7)],
    ["subtract", i(2), ["multiply", FIVE, i(-3)]],
    ["multiply", i(BIG), i(-2)],
    ["divide", i(-7), i(2)],
    ["divide", FIVE, d(2.0)],
    ["divide", d(1.0), i(3)],
    ["divide", i(1), d(0.0)],
    ["remainder", i(-7), FIVE],
    ["remainder", i(7), i(-1)],
    ["mod", d(7.5), i(3)],
    ["mod", d(6.5), i(4)],
    ["negate", FIVE],
    ["negate", d(0.5)],
    ["lt", FIVE, d(5.5)],
    ["le", d(5.0), FIVE],
    ["gt", FIVE, i(5)],
    ["ge", i(6), FIVE],
    ["eq", i(5), d(5.0)],
    ["ne", FIVE, i(5)],
    ["eq", N, N],
    ["and", T, N],
    ["and", F, N],
    ["and", N, F],
    ["or", T, ["divide", i(1), i(0)]],
    ["or", N, T],
    ["or", F, F],
    ["not", ["lt", FIVE, i(3)]],
    ["not", N],
    ["is_null", N],
    ["is_null", FIVE],
    ["is_true", ["eq", FIVE, i(5)]],
    ["is_false", T],
    ["is_true", N],
    ["case", i(0), i(1), d(0.5), i(2), i(3)],
    ["case", N, i(1), N],
    ["case", ["gt", FIVE, i(3)], ["double", FIVE], ["divide", i(1), i(0)]],
    ["bit_and", i(12), i(10)],
    ["bit_or", i(12), i(3)],
    ["bit_xor", i(12), i(-10)],
    ["bit_not", FIVE],
    ["shift_left", i(3), i(40)],
    ["shift_left", i(1), i(63)],
    ["shift_right", i(-16), i(2)],
    ["abs", i(-17)],
    ["abs", d(-1.25)],
    ["double", FIVE],
    ["int", d(2.5)],
    ["int", d(3.5)],
    ["int", d(-0.6)],
    ["greatest", i(1), FIVE, i(3)],
    ["greatest", i(1), d(0.5), FIVE],
    ["least", i(1), d(0.5), FIVE],
    ["least", FIVE],
    ["greatest", N, i(1)],
    ["power", i(2), i(10)],
    ["power", i(10), i(15)],
    ["power", d(3.0), d(-0.5)],
    ["exp", i(1)],
    ["exp", d(-30.5)],
    ["ln", d(10.0)],
    ["sqrt", i(2)],
    ["sqrt", i(16)],
    ["pi"],
    ["multiply", ["pi"], d(1e-6)],
    ["multiply", d(1e200), d(1e100)],
    ["add", d(0.1), d(0.2)],
    ["hash_murmur2", FIVE, i(42)],
    ["hash_murmur2", i(-1), i(-BIG)],
    ["hash_fnv1a", FIVE, i(42)],
    ["hash_fnv1a", i(BIG), i(0)],
    ["permute", FIVE, i(6), i(1)],
    ["permute", i(12345), i(1_000_000), i(-17)],
    ["permute", i(-5), i(1000), i(7)],
    ["permute", i(BIG), i(2**63 - 1), i(42)],
    ["random", FIVE, i(5)],
    ["random", N, i(5)],
    ["double", N],
]
"""What does not depend on chance."""

FAULTS: list[Tree] = [
    ["add", i(2**63 - 1), FIVE],
    ["subtract", i(-(2**63) + 1), FIVE],
    ["multiply", i(BIG), FIVE],
    ["divide", FIVE, i(0)],
    ["remainder", FIVE, i(0)],
    ["int", d(1e19)],
    ["eq", T, T],
    ["and", i(1), T],
    ["not", FIVE],
    ["double", T],
    ["random", FIVE, i(4)],
    ["random", i(0), i(2**63 - 1)],
    ["random_gaussian", i(1), FIVE, d(1.5)],
    ["random_zipfian", i(1), FIVE, i(1)],
    ["random_exponential", i(1), FIVE, i(0)],
    ["permute", FIVE, i(0), i(1)],
]
"""What pgbench refuses when it comes to it."""

DRAWS: list[Tree] = [
    ["random", i(1), i(20)],
    ["random_exponential", i(1), i(20), d(2.5)],
    ["random_gaussian", i(-9), i(10), d(2.5)],
    ["random_zipfian", i(1), i(20), d(1.3)],
    ["permute", ["random_zipfian", i(0), i(19), FIVE], i(20), i(3)],
]
"""What depends on it: twenty integers each."""
