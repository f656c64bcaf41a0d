"""The answer of `dyno plans`: on the first screen, as a page, for programs, as an exit status."""

import json
import textwrap
from collections.abc import Iterator, Sequence

import msgspec

from dbdyno import __version__
from dbdyno.findings.application.own_query import share
from dbdyno.model.document import suggestion
from dbdyno.model.error import DynoError
from dbdyno.model.plans_only import FLIP_WORDS, FlippedQuery, FlipWord, PlansRecord
from dbdyno.parts.number import few_signs
from dbdyno.parts.part import Page
from dbdyno.report import plans_parts

COLUMNS = 100
ROWS_MAX = 4
"""So many queries are named on the first screen."""
CAUTION = "Another plan is not a slower one. To time {} with the data of a whole DUMP:"


def page(record: PlansRecord, rows: Sequence[FlippedQuery]) -> Page:
    """The page of the answer."""
    names = tuple(arm.name for arm in record.arms)
    return Page(
        title=f"{' and '.join(names)}: which queries get another plan?",
        label="",
        dyno=__version__,
        base=names[0],
        arms=names,
        parts=tuple(plans_parts.parts(record, rows)),
    )


def lines(record: PlansRecord, rows: Sequence[FlippedQuery], report: str) -> Iterator[str]:
    """The first screen: of each arm at most twelve lines."""
    for answer in plans_parts.answers(record, rows):
        yield from textwrap.wrap(f"{answer.sentence} {answer.basis}", COLUMNS)
        listed = [*answer.of("fails"), *answer.of("another plan"), *answer.of("near")]
        shown = listed[:ROWS_MAX]
        width = max((len(row.query) for row in shown), default=0)
        for row in shown:
            where = f"fails: {row.where}" if row.word == "fails" else plans_parts.said(row)
            line = f"{share(row.share):>7}  {row.query:<{width}}  {where}"
            yield few_signs(line, COLUMNS)
        more = f"and {len(listed) - len(shown)} more" if len(listed) > len(shown) else ""
        if last := "; ".join(filter(None, (more, answer.near.removesuffix(".")))):
            yield f"{last}."
        if answer.reasons:
            yield from textwrap.wrap(answer.reasons, COLUMNS)
        if answer.flips and record.race:
            yield CAUTION.format("it" if len(answer.flips) == 1 else f"the {len(answer.flips)}")
            yield f"  {record.race}"
    if lacks := plans_parts.lacking(record):
        more = f" (and {len(lacks) - 1} more, in the report)" if lacks[1:] else ""
        yield from textwrap.wrap(f"The lab lacks: {lacks[0]}{more}", COLUMNS)
    yield f"report: {report}"


def document(record: PlansRecord, rows: Sequence[FlippedQuery]) -> str:
    """The answer for programs (docs/query-plans.md)."""
    whole = {
        "format": record.format,
        "command": record.command,
        "seconds": record.seconds,
        "base": record.arms[0].name,
        "arms": [
            {
                "name": arm.name,
                "version": arm.version,
                "settings": dict(arm.settings),
                "indexes": list(arm.indexes),
                "lacks": list(arm.lacks),
                "words": {
                    word: sum(row.word == word for row in rows if row.arm == arm.name)
                    for word in FLIP_WORDS.values()
                },
            }
            for arm in record.arms
        ],
        "hidden": msgspec.to_builtins(record.hidden),
        "left_out": list(record.left_out),
        "queries": [{name: getattr(row, name) for name in row.__struct_fields__} for row in rows],
    }
    return json.dumps(whole, indent=1, ensure_ascii=False)


def words(text: str) -> tuple[FlipWord, ...]:
    """The words of --fail-on. Raises DynoError where one is none."""
    return tuple(_word(part.strip()) for part in text.split(","))


def _word(text: str) -> FlipWord:
    name = text.replace(" ", "-")
    if name in FLIP_WORDS:
        return FLIP_WORDS[name]
    raise DynoError(f"--fail-on: `{text}`: no such word; {suggestion(name, FLIP_WORDS)}")


def found(rows: Sequence[FlippedQuery], wanted: Sequence[FlipWord]) -> str:
    """How many queries have one of the words, in a line; empty where none has."""
    counts = {word: sum(row.word == word for row in rows) for word in wanted}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)
