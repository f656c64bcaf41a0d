"""Texts that are joined of fixed ones, values, and words of lists."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from dbdyno.model.job.values import JoinPart
from dbdyno.workload.computed import condition
from dbdyno.workload.maker_schema import Maker, TextPartForm
from dbdyno.workload.scope import Scope

VALUE = re.compile(r":([A-Za-z_]\w*)")
"""A part that is a value, in place of a fixed text."""

Parts = Sequence[str | TextPartForm]


def names(parts: Parts) -> list[str]:
    """The values that stand in a joined text by themselves."""
    texts = (part if isinstance(part, str) else part.text or "" for part in parts)
    return [match[1] for text in texts if (match := VALUE.fullmatch(text))]


def expressions(name: str, maker: Maker, scope: Scope) -> Iterator[tuple[str, Maker, Scope]]:
    """The values of its own that a joined text computes: name, maker and place."""
    for place, part in enumerate(maker.join or ()):
        if isinstance(part, str):
            continue
        here = scope.at("join", place)
        if (part.compute is None) == (part.text is None):
            raise here.error("needs one of `compute` and `text`")
        if part.compute is not None:
            own = Maker(compute=part.compute, per=maker.per)
            yield f"{name}[{place}]", own, here
        if part.when is not None:
            own = Maker(compute=condition(part.when), per=maker.per)
            yield f"{name}[{place}] stands", own, here.at("when")


def made(
    name: str, parts: Parts, scope: Scope, numbers: Mapping[str, int]
) -> tuple[str | JoinPart, ...]:
    """The parts as a job has them; `numbers` are those of values, also of the text's own."""
    made: list[str | JoinPart] = []
    for place, part in enumerate(parts):
        here = scope.at(place)
        if isinstance(part, str):
            match = VALUE.fullmatch(part)
            made.append(JoinPart(value=numbers[match[1]]) if match else here.text(part))
            continue
        when = numbers.get(f"{name}[{place}] stands")
        if part.compute is not None:
            number = numbers[f"{name}[{place}]"]
            words = tuple(here.at("of").text(word) for word in part.of or ())
            own = JoinPart(of=words, at=number) if words else JoinPart(value=number)
        else:
            own = _text(part.text or "", here, numbers, when)
        made.append(replace(own, when=when))
    return tuple(made)


def _text(text: str, scope: Scope, numbers: Mapping[str, int], when: int | None) -> JoinPart:
    """A value by its name, or the one word of a list, which any number chooses."""
    if match := VALUE.fullmatch(text):
        return JoinPart(value=numbers[match[1]])
    if when is None:
        raise scope.error("a text that always stands is a part by itself; write it without `text`")
    return JoinPart(of=(scope.at("text").text(text),), at=when)
