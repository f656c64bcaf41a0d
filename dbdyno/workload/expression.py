"""Arithmetic in braces: `{rate*seconds}`, `{min(1200, 60 + clients*rows/1e6)}`.

Numbers, texts, names, `+ - * / // %`, comparisons, `and or not`, `a if c else b`, brackets, and a
few functions; nothing else of Python. Numbers are exact fractions until the end, so that `4*rows/3`
of 30,000,000 rows is 40,000,000. A result is an int where it is whole, else a float; what is true
is 1, what is not is 0.
"""

import ast
import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dbdyno.model.document import suggestion

Scalar = int | float | str
"""The types of a parameter, or of one of a list's items."""
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
    "sum": sum,
}
OF_LISTS = ("max", "min", "sum")
"""Functions of any number of numbers, or of a list of them."""
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
WORDS = ("and", "or", "not", "if", "else")
TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
WHOLE = re.compile(r"\{([^{}]*)\}")


class ExpressionError(ValueError):
    """An expression cannot be computed; the text is a sentence without its place."""


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """The value of the expression in braces. A bare name may also be a text or a list."""
    bare = text.strip()
    if bare in names:
        value = names[bare]
        return value if isinstance(value, (str, list)) else _plain(_exact(value))
    if len(bare) > EXPRESSION_CHARACTERS_MAX:
        raise ExpressionError(f"an expression has at most {EXPRESSION_CHARACTERS_MAX} characters")
    try:
        tree = ast.parse(bare, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"`{{{text}}}` is not arithmetic") from None
    result = _any(tree.body, names, text)
    return result if isinstance(result, str) else _plain(result)


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
    expressions = (TEXT.sub("", match[1]) for match in TOKEN.finditer(text) if match[1])
    words = {word for part in expressions for word in re.findall(r"(?<![\w.])[A-Za-z_]\w*", part)}
    return words - set(WORDS)


def is_text(written: str) -> bool:
    """Whether a default is a text, by its look: no expression, or a choice between texts."""
    whole = WHOLE.fullmatch(written)
    if whole is None:
        return "{" not in written
    try:
        tree = ast.parse(whole[1].strip(), mode="eval").body
    except SyntaxError:
        return False  # who computes it says what is wrong
    while isinstance(tree, ast.IfExp):
        tree = tree.body
    return isinstance(tree, ast.Constant) and isinstance(tree.value, str)


def _scalar(value: Value) -> Scalar:
    if isinstance(value, list):
        raise ExpressionError("a list within a list")
    return value


def _any(node: ast.expr, names: Mapping[str, Value], text: str) -> Fraction | str:
    """One node of the tree that may be a text; of a condition only the branch that is taken."""
    match node:
        case ast.Constant(value=str() as value):
            return value
        case ast.Name(id=name) if isinstance(known := names.get(name), str):
            return known
        case ast.IfExp(test=test, body=body, orelse=other):
            return _any(body if _number(test, names, text) else other, names, text)
    return _number(node, names, text)


def _number(node: ast.expr, names: Mapping[str, Value], text: str) -> Fraction:
    """One node of the tree. Decimals are taken as written: 0.1 is one tenth."""
    match node:
        case ast.IfExp():
            value = _any(node, names, text)
            if isinstance(value, str):
                raise ExpressionError(f"`{{{text}}}`: {value!r} is not a number")
            return value
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compared([left, *others], ops, names, text)
        case ast.BoolOp(op=op, values=parts):
            truths = (bool(_number(part, names, text)) for part in parts)
            return Fraction(all(truths) if isinstance(op, ast.And) else any(truths))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Fraction(not _number(operand, names, text))
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
            return _call(name, _arguments(name, arguments, names, text), text)
    raise ExpressionError(
        f"`{{{text}}}`: only numbers, parameters, + - * / // %, comparisons, "
        f"{', '.join(WORDS)}, and {', '.join(FUNCTIONS)} are known"
    )


def _compared(
    nodes: list[ast.expr], ops: list[ast.cmpop], names: Mapping[str, Value], text: str
) -> Fraction:
    """1 where each comparison of a chain holds, else 0."""
    values = [_any(node, names, text) for node in nodes]
    for op, (left, right) in zip(ops, itertools.pairwise(values), strict=True):
        if type(op) not in COMPARISONS:
            raise ExpressionError(f"`{{{text}}}`: use only == != < <= > >= to compare")
        if isinstance(left, str) != isinstance(right, str):
            raise ExpressionError(f"`{{{text}}}` compares a number with a text")
        if not COMPARISONS[type(op)](left, right):
            return Fraction(0)
    return Fraction(1)


def _arguments(
    name: str, nodes: list[ast.expr], names: Mapping[str, Value], text: str
) -> list[Fraction]:
    match nodes:
        case [ast.Name(id=only)] if name in OF_LISTS and isinstance(names.get(only), list):
            items = names[only]
            if isinstance(items, list) and not any(isinstance(item, str) for item in items):
                return [_exact(item) for item in items if not isinstance(item, str)]
    return [_number(node, names, text) for node in nodes]


def _call(name: str, arguments: list[Fraction], text: str) -> Fraction:
    if len(arguments) != 1 and (name not in OF_LISTS or not arguments):
        raise ExpressionError(f"`{{{text}}}`: {name} has {len(arguments)} arguments")
    result = FUNCTIONS[name](arguments) if name in OF_LISTS else FUNCTIONS[name](*arguments)
    return Fraction(result)


def _known(name: str, names: Mapping[str, Value], text: str) -> int | float:
    if name not in names:
        raise ExpressionError(f"`{{{text}}}`: no parameter `{name}`; {suggestion(name, names)}")
    value = names[name]
    if isinstance(value, (str, list)):
        raise ExpressionError(f"`{{{text}}}`: `{name}` is not a number")
    return value


def _exact(value: int | float) -> Fraction:
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("a number is infinite or no number")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _plain(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
