"""Where runs left a plateau, and what else changed in the same seconds; nothing is a cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dbdyno.model import Cell, StepComparison
from dbdyno.model.headlines import kind_of
from dbdyno.model.rate_change import Event, Moved, RateChange
from dbdyno.report import number
from dbdyno.report.parts import Finding, Section, Subject, Text
from dbdyno.report.section.cost_by_owner import owner_name

CHANGES_MAX = 12
"""So many changes of an arm are listed, the largest; the others are counted."""
MOVED_MAX = 6
"""So many values that changed with one are named, the surest."""

CAUTION = (
    "What else changed in the same seconds is where to look first. dyno does not claim that it is "
    "the cause: it may as well follow from the change, or from what caused both."
)

_DEVICES = {"disk": "device", "wal_disk": "log's device"}
_VALUES: dict[str, tuple[str, str]] = {
    "cpu_per_op": ("CPU per {one}", " µs"),
    "ready_per_op": ("ready without a core, per {one},", " µs"),
    "pages_per_op": ("pages read into the server's cache per {one}", ""),
    "errors": ("errors", "/s"),
    "retries": ("retries", "/s"),
    "steal": ("stolen time", " % of all cores"),
    "swap": ("swapping", " pages/s"),
    "read_mbps": ("reads of the {device}", " MB/s"),
    "write_mbps": ("writes to the {device}", " MB/s"),
    "read_ms": ("a read of the {device}", " ms"),
    "write_ms": ("a write to the {device}", " ms"),
}
"""Of dbdyno.analysis.step.second_values by name, or its last part: its words and unit."""


def findings(step: StepComparison) -> Iterable[Finding]:
    """A finding for each arm with a change of plateau, with its changes by block and second."""
    for result in step.cells:
        runs = [run for run in result.runs if run.window.shape is not None]
        changes = [change for run in runs for change in run.rate_changes]
        if not changes:
            continue
        changed = sum(bool(run.rate_changes) for run in runs)
        times = number.times(len(changes))
        text = f"{result.arm}: the plateau changed {times}, in {changed} of {_runs(len(runs))}"
        together = "; ".join([text, *_together(changes)])
        yield Finding(text=f"{together}.", items=tuple(_listed(result, step.headline)))


def largest(step: StepComparison) -> Iterable[str]:
    """A line for each arm whose rate changed its plateau: the largest change, and how many."""
    for result in step.cells:
        changes = [(run.block, change) for run in result.runs for change in run.rate_changes]
        if changes:
            block, change = max(changes, key=lambda each: _size(each[1]))
            more = f"; {len(changes) - 1} more" if len(changes) > 1 else ""
            words = f"block {block}, {_change(change, step.headline)}{more}"
            yield f"{result.arm}, {step.step}: {number.unbroken(words)}"


def _runs(count: int) -> str:
    return f"{count} run{'s' if count > 1 else ''}"


def _together(changes: Sequence[RateChange]) -> Iterable[str]:
    """`a checkpoint began at 4 of them, where 0.3 would by chance`, the most frequent first."""
    sharp = [change for change in changes if change.sharp]
    kinds: dict[str, Event] = {event.what: event for change in sharp for event in change.events}
    counts = {
        what: sum(any(event.what == what for event in change.events) for change in sharp)
        for what in kinds
    }
    for what, count in sorted(counts.items(), key=lambda item: -item[1]):
        chance = sum(change.by_chance.get(what, 0.0) for change in sharp)
        times = "at it" if len(changes) == 1 else f"at {count} of them"
        yield (f"{_event(kinds[what])} {times}, where {number.number(chance, 2)} would by chance")


def _event(event: Event) -> str:
    return {"checkpoint": "a checkpoint", "autovacuum": "autovacuum"}.get(
        event.kind, event.kind
    ) + f" {event.edge}"


def _listed(result: Cell, headline: str | None) -> Iterable[Finding]:
    """The largest changes of an arm, by block and second."""
    found = [(run.block, change) for run in result.runs for change in run.rate_changes]
    largest = sorted(found, key=lambda one: -_size(one[1]))[:CHANGES_MAX]
    for block, change in found:
        if (block, change) in largest:
            words = f"block {block}, {_change(change, headline)}; {_others(change, headline)}"
            yield Finding(text=number.unbroken(words))
    if len(found) > CHANGES_MAX:
        yield Finding(text=f"{len(found) - CHANGES_MAX} smaller changes")


def _size(change: RateChange) -> float:
    return abs(change.after - change.before) / max(change.before, change.after)


def _change(change: RateChange, headline: str | None) -> str:
    """`after 143 s: −20.4 %, 12,345 → 9,827 queries/s`."""
    first, last = round(change.first_s), round(change.last_s)
    at = f"after {round(change.at_s)} s" if change.sharp else f"between {first} and {last} s"
    if change.sharp and first != last:
        at += f" (between {first} and {last})"
    share = f"{number.change(change.after / change.before)}, " if change.before else ""
    plateaus = f"{number.number(change.before)} → {number.number(change.after)}"
    return f"{at}: {share}{plateaus} {kind_of(headline).rate}"


def _others(change: RateChange, headline: str | None) -> str:
    """What else changed then, in words."""
    if not change.sharp:
        return "too gradual to say what else changed then"
    events = [f"{_event(event)} ({event.label})" for event in change.events]
    moved = [moved_words(one, kind_of(headline).unit) for one in change.moved[:MOVED_MAX]]
    more = len(change.moved) - MOVED_MAX
    told = [*events, *moved, *([f"{more} more values"] if more > 0 else [])]
    return f"in the same seconds: {'; '.join(told)}" if told else "nothing else changed then"


def moved_words(moved: Moved, one: str) -> str:
    """`writes to the device 2.0 → 85.1 MB/s`."""
    digits = number.digits_alike((moved.before, moved.after), 2)
    before, after = (number.number(value, digits) for value in (moved.before, moved.after))
    words, unit = _words(moved.name, one)
    return f"{words} {before} → {after}{unit}"


def _words(name: str, one: str) -> tuple[str, str]:
    """What a value is called in a sentence, and its unit."""
    kind, _, rest = name.partition(".")
    of: dict[str, Callable[[str], tuple[str, str]]] = {
        "role": lambda role: (f"operations of `{role}`", "/s"),
        "cpu": lambda owner: (f"CPU of {owner_name(owner)}", " % of a core"),
        "wait": lambda wait: (f"sessions in {wait}", ""),
    }
    if kind in of:
        return of[kind](rest)
    words, unit = _VALUES[rest or kind]
    return words.format(one=one, device=_DEVICES.get(kind, "")), unit


def _parts(subject: Subject) -> Iterable[Text]:
    items = tuple(findings(subject.step))
    if items:
        yield Text(
            name=f"{subject.anchor}-levels",
            title="Where the rate changed its plateau",
            items=(*items, Finding(text=CAUTION)),
            entry="plateaus",
        )


SECTION = Section("step", _parts)
