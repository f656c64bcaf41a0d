"""Texts that are joined of fixed ones, values, and words of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dbdyno.model.job.values import JoinPart
from dbdyno.workload.maker_schema import Maker, Part
from dbdyno.workload.scope import Scope

VALUE = re.compile(r":([A-Za-z_]\w*)")
"""A part that is a value, in place of a fixed text."""

Parts = Sequence[str | Part]


def names(parts: Parts) -> list[str]:
    """The values that stand in a joined text by themselves."""
    texts = (part for part in parts if isinstance(part, str))
    return [match[1] for text in texts if (match := VALUE.fullmatch(text))]


def expressions(name: str, maker: Maker, scope: Scope) -> Iterator[tuple[str, Maker, Scope]]:
    """The values of its own that a joined text computes: name, maker and place."""
    for place, part in enumerate(maker.join or ()):
        if not isinstance(part, str):
            own = Maker(compute=part.compute, per=maker.per)
            yield f"{name}[{place}]", own, scope.at("join", place)


def made(
    name: str, parts: Parts, scope: Scope, numbers: Mapping[str, int]
) -> tuple[str | JoinPart, ...]:
    """The parts as a job has them; `numbers` are those of values, also of the text's own."""
    made: list[str | JoinPart] = []
    for place, part in enumerate(parts):
        here = scope.at(place)
        if isinstance(part, Part):
            number = numbers[f"{name}[{place}]"]
            words = tuple(here.at("of").text(word) for word in part.of or ())
            made.append(JoinPart(of=words, at=number) if words else JoinPart(value=number))
        elif match := VALUE.fullmatch(part):
            made.append(JoinPart(value=numbers[match[1]]))
        else:
            made.append(here.text(part))
    return tuple(made)
