"""Functions that versions from 14 on write by SQL's own syntax, as earlier ones wrote them. Pure.

`EXTRACT(month FROM x)` is `date_part(?, x)`, `(x AT TIME ZONE y)` is `timezone(y, x)` (ruleutils.c,
get_func_sql_syntax); in expressions without values the two are one.
"""

import re
from collections.abc import Callable, Iterator, Sequence

WORD = re.compile(r'\b(EXTRACT|SUBSTRING|POSITION|OVERLAY|TRIM)\(|(?P<quoted>"(?:[^"]|"")*")')
BETWEEN = re.compile(r" (?:FROM|FOR|IN|PLACING|SIMILAR|ESCAPE) ")
AT = " AT TIME ZONE "
TRIMS = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}
PLAIN_NAMES = {'"substring"(': "substring(", '"position"(': "position(", '"overlay"(': "overlay("}
"""How all versions quote what is also a word of SQL, where it is called as any function."""


def _trimmed(parts: Sequence[str]) -> str:
    """`BOTH ?` and what is trimmed."""
    side, _, characters = parts[0].partition(" ")
    return _call(TRIMS.get(side, "btrim"), [*parts[1:], *([characters] if characters else [])])


def _call(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(arguments)})"


FUNCTIONS: dict[str, Callable[[Sequence[str]], str]] = {
    "EXTRACT": lambda parts: _call("date_part", ["?", *parts[1:]]),
    "SUBSTRING": lambda parts: _call("substring", parts),
    "POSITION": lambda parts: _call("position", [bare(part) for part in reversed(parts)]),
    "OVERLAY": lambda parts: _call("overlay", parts),
    "TRIM": _trimmed,
}


def as_calls(expression: str) -> str:
    """An expression without values, whose functions are all written as calls."""
    for quoted, plain in PLAIN_NAMES.items():
        expression = expression.replace(quoted, plain)
    place = 0
    while (match := WORD.search(expression, place)) is not None:
        end = closing(expression, match.end())
        if match.group("quoted") or end is None:
            place = match.end()
            continue
        inner = as_calls(expression[match.end() : end])
        parts = [part.strip() for part in split(inner, BETWEEN)]
        written = FUNCTIONS[match[1]](parts) if parts[1:] else _call(match[1].lower(), parts)
        expression = expression[: match.start()] + written + expression[end + 1 :]
        place = match.start() + len(written)
    return _without_at(expression)


def _without_at(expression: str) -> str:
    """The same without AT TIME ZONE, which stands in parentheses of its own."""
    while (at := expression.find(AT)) >= 0:
        begin, end = opening(expression, at), closing(expression, at)
        if begin is None or end is None:
            break
        call = _call("timezone", [expression[at + len(AT) : end], expression[begin + 1 : at]])
        expression = expression[:begin] + call + expression[end + 1 :]
    return expression


def depths(text: str) -> Iterator[tuple[int, int]]:
    """The place of each character outside of quoted names, and how deep in parentheses it is."""
    depth, quoted = 0, False
    for place, character in enumerate(text):
        quoted ^= character == '"'
        depth += (character == "(") - (character == ")") if not quoted else 0
        if not quoted:
            yield place, depth


def closing(text: str, begin: int) -> int | None:
    """The place of the parenthesis that ends what `begin` is within; None: there is none."""
    return next((begin + place for place, depth in depths(text[begin:]) if depth < 0), None)


def opening(text: str, end: int) -> int | None:
    """The place of the parenthesis that begins what `end` is within; None: there is none."""
    turned = text[end - 1 :: -1].translate(str.maketrans("()", ")("))
    return next((end - 1 - place for place, depth in depths(turned) if depth < 0), None)


def bare(text: str) -> str:
    """A text without parentheses around the whole of it."""
    whole = text.startswith("(") and closing(text, 1) == len(text) - 1
    return text[1:-1] if whole else text


def split(text: str, between: re.Pattern[str]) -> list[str]:
    """The parts of a text at separators outside of parentheses."""
    outside = {place for place, depth in depths(text) if depth == 0}
    parts, begin = [], 0
    for match in between.finditer(text):
        if match.start() in outside:
            parts.append(text[begin : match.start()])
            begin = match.end()
    return [*parts, text[begin:]]
