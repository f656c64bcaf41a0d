"""Arithmetic in braces: `{rate*seconds}`, `{min(1200, 60 + clients*rows/1e6)}`.

Numbers, names, `+ - * / // %`, brackets, and the functions min, max, round, ceil and floor; nothing
else of Python. Numbers are exact fractions until the end, so that `4*rows/3` of 30,000,000 rows is
40,000,000. A result is an int where it is whole, else a float.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from dbdyno.workload.document import suggestion

Scalar = int | float | str
"""What a parameter or one of a list's items can be."""
Value = Scalar | list[Scalar]

EXPRESSION_CHARACTERS_MAX = 200

OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
FUNCTIONS: dict[str, Callable[..., Fraction | int]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "max": max,
    "min": min,
    "round": round,
}
TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
WHOLE = re.compile(r"\{([^{}]*)\}")


class ExpressionError(ValueError):
    """An expression cannot be computed; the text is a sentence without its place."""


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """What stands in the braces, computed. A bare name may also be a text or a list."""
    bare = text.strip()
    if bare in names:
        value = names[bare]
        return value if isinstance(value, (str, list)) else _plain(_exact(value))
    if len(bare) > EXPRESSION_CHARACTERS_MAX:
        raise ExpressionError(f"an expression has at most {EXPRESSION_CHARACTERS_MAX} characters")
    try:
        tree = ast.parse(bare, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"`{{{text}}}` is no arithmetic") from None
    return _plain(_number(tree.body, names, text))


def fill_in(text: str, names: Mapping[str, Value]) -> str:
    """The text with every `{expression}` replaced; `{{` and `}}` stand for braces."""

    def replaced(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        if match[1] is None:
            raise ExpressionError(f"a single `{match[0]}` in {text!r}; write it twice")
        value = evaluate(match[1], names)
        if isinstance(value, list):
            raise ExpressionError(f"`{match[0]}` is a list, which no text can hold")
        return str(value)

    return TOKEN.sub(replaced, text)


def resolve(value: Value, names: Mapping[str, Value]) -> Value:
    """A value of the file: numbers as they are, text filled in, lists item by item.

    A text that is one expression and nothing else becomes that expression's value.
    """
    if isinstance(value, list):
        return [_scalar(resolve(item, names)) for item in value]
    if not isinstance(value, str):
        return value
    whole = WHOLE.fullmatch(value)
    return evaluate(whole[1], names) if whole else fill_in(value, names)


def names_of(text: str) -> set[str]:
    """The names that a text's expressions use."""
    found = (match[1] for match in TOKEN.finditer(text) if match[1])
    return {word for part in found for word in re.findall(r"(?<![\w.])[A-Za-z_]\w*", part)}


def _scalar(value: Value) -> Scalar:
    if isinstance(value, list):
        raise ExpressionError("a list within a list")
    return value


def _number(node: ast.expr, names: Mapping[str, Value], text: str) -> Fraction:
    """One node of the tree. Decimals are taken as written: 0.1 is one tenth."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _exact(value)
        case ast.Name(id=name):
            return _exact(_known(name, names, text))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, names, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            pair = _number(left, names, text), _number(right, names, text)
            if pair[1] == 0 and isinstance(op, (ast.Div, ast.FloorDiv, ast.Mod)):
                raise ExpressionError(f"`{{{text}}}` divides by zero")
            return Fraction(OPERATORS[type(op)](*pair))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return _call(name, [_number(argument, names, text) for argument in arguments], text)
    raise ExpressionError(
        f"`{{{text}}}`: only numbers, parameters, + - * / // % and {', '.join(FUNCTIONS)} are known"
    )


def _call(name: str, arguments: list[Fraction], text: str) -> Fraction:
    if len(arguments) != 1 and (name in ("ceil", "floor", "round") or not arguments):
        raise ExpressionError(f"`{{{text}}}`: {name} has {len(arguments)} arguments")
    result = FUNCTIONS[name](arguments) if name in ("min", "max") else FUNCTIONS[name](*arguments)
    return Fraction(result)


def _known(name: str, names: Mapping[str, Value], text: str) -> int | float:
    if name not in names:
        raise ExpressionError(f"`{{{text}}}`: no parameter `{name}`; {suggestion(name, names)}")
    value = names[name]
    if isinstance(value, (str, list)):
        raise ExpressionError(f"`{{{text}}}`: `{name}` is no number")
    return value


def _exact(value: int | float) -> Fraction:
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("a number is infinite or no number")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _plain(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
