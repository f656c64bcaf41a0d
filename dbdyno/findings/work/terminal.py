"""The counts of a race in lines of at most 80 columns, for the terminal."""

import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dbdyno.findings.work import show as section
from dbdyno.model.work import WorkChange, WorkComparison

COLUMNS = 80
NOT_CALIBRATED = "intervals: by these repeats; after `dyno calibrate` with `--count` by this host's"


def lines(work: WorkComparison, report: Path | None = None) -> Iterator[str]:
    """A line of words, two or three for each step, what counts do not see, the report's place."""
    for arm in work.arms[1:]:
        changes = [change for change in work.changes if change.arm == arm]
        words = Counter(section.WORDS[change.word] for change in changes)
        events = Counter(
            section.event_word(event) for row in changes for event in row.changed_events
        )
        counts = [f"{words[word]} {word}" for word in section.WORDS.values() if words[word]]
        counts += [f"{count} {event}" for event, count in sorted(events.items())]
        first = f"{arm} against {work.base}: {', '.join(counts)}; {work.repeats} repeats each"
        yield from textwrap.wrap(first, COLUMNS, subsequent_indent="  ")
        width = max((len(change.step) for change in changes), default=0)
        for change in changes:
            yield from of_step(change, width)
    if any(change.changed_events for change in work.changes):
        yield from textwrap.wrap(section.EVENTS, COLUMNS)
    for text in section.open_events(work):
        yield from textwrap.wrap(text, COLUMNS, subsequent_indent="  ")
    if work.calibration is None or not work.calibration.repeats:
        yield from textwrap.wrap(NOT_CALIBRATED, COLUMNS, subsequent_indent="  ")
    yield from textwrap.wrap(section.fills(work), COLUMNS)
    yield from textwrap.wrap(section.NOTICE, COLUMNS)
    if report is not None:
        yield f"report: {report}"


def of_step(change: WorkChange, width: int) -> Iterator[str]:
    """point-query  42,574 → 43,968  more work +3.27 % [+3.26, +3.28], and what changed."""
    name = f"{change.step:{width}}"
    figures = ""
    if change.of_base is not None and change.of_arm is not None:
        figures = f"{change.of_base.instructions:,.0f} → {change.of_arm.instructions:,.0f}  "
    yield f"{name}  {figures}{section.verdict(change)}"
    indent = " " * (width + 2)
    functions = ", ".join(section.functions(change))
    for text in filter(None, (*section.withheld(change), functions, *section.events(change))):
        yield from textwrap.wrap(text, COLUMNS, initial_indent=indent, subsequent_indent=indent)
