"""What functions and subsystems of the server cost for an operation, of each profiled step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dbdyno.model import StepComparison
from dbdyno.model.headlines import kind_of
from dbdyno.model.profile import NO_SYMBOL, Difference, FunctionCost, Profile, ProfileComparison
from dbdyno.parts import number
from dbdyno.parts.colors import ARROWS, Tone
from dbdyno.parts.part import (
    Column,
    Finding,
    Group,
    Row,
    Section,
    Subject,
    Table,
    TableCell,
    Text,
)

ROWS_MAX = 20
"""So many functions have a row of their own, the surest changes first."""
DEAREST_MAX = 10
"""So many of the others have one, too."""
SUREST, DEAREST = "surest changes", "others, the dearest first"
TOLD_MAX = 5
"""So many functions are told in a sentence."""
LESS, MORE = "surely less;", "surely more, beyond chance among all rows tested."
COLORS = f"Green: {LESS} red: {MORE}"
MARKS = f"{ARROWS['faster']}: {LESS} {ARROWS['slower']}: {MORE}"
MS_MIN, S_MIN = 1e4, 1e7
"""Microseconds of an operation from which on its parts are in milliseconds, and in seconds."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """How the costs of one comparison are written, so that a column adds up."""

    unit: str
    divisor: float
    digits: int
    one: str  # what the costs are for: "query"
    beside: bool  # whether there are two arms, and changes

    @classmethod
    def of(cls, step: StepComparison, compared: ProfileComparison) -> Form:
        """The form that fits the CPU of an operation."""
        most = max(compared.base_us, compared.arm_us)
        unit, divisor = (
            ("s", 1e6) if most >= S_MIN else ("ms", 1e3) if most >= MS_MIN else ("µs", 1)
        )
        digits = min(number.digits_alike([most / divisor], 9) + 1, 4)
        one = kind_of(step.headline).unit
        return cls(unit=unit, divisor=divisor, digits=digits, one=one, beside=not compared.alone)

    def figure(self, us: float) -> str:
        """A cost: 0.92."""
        return number.number(us / self.divisor, self.digits)

    def more(self, us: float) -> str:
        """A change with its sign: +0.92."""
        return number.difference(us / self.divisor, 0.0, self.digits)


# --- Sentences -------------------------------------------------------------------------------


def changed(step: StepComparison, compared: ProfileComparison) -> str:
    """The functions whose cost surely changed, in a sentence; empty where none did."""
    found = [function for function in compared.functions if function.found]
    if not found:
        return ""
    form = Form.of(step, compared)
    first, *others = found[:TOLD_MAX]
    words = [_changed(first, form, first=True), *(_changed(other, form) for other in others)]
    more = f"; and {len(found) - TOLD_MAX} more functions" if len(found) > TOLD_MAX else ""
    return number.unbroken(f"{compared.arm}: {'; '.join(words)}{more}.")


def _changed(cost: FunctionCost, form: Form, *, first: bool = False) -> str:
    """`_bt_compare` 0.92 µs more CPU per query [0.51, 1.33]."""
    change = cost.change
    of = " CPU" if first else ""
    size = (
        f"{form.figure(abs(change.value))} {form.unit} {'more' if change.value > 0 else 'less'}{of}"
    )
    return f"{_called(cost)} {size}{f' per {form.one}' if first else ''}{_ends(change, form)}"


def _called(cost: FunctionCost) -> str:
    if cost.name == NO_SYMBOL:
        return f"what has no symbol in {cost.binary}"
    return f"`{cost.name}`"


def _ends(change: Difference, form: Form) -> str:
    """The interval in the direction that the change has: ` [0.51, 1.33]`."""
    if change.low is None or change.high is None:
        return ""
    sign = 1 if change.value > 0 else -1
    low, high = sorted(sign * end for end in (change.low, change.high))
    return f" [{form.figure(low)}, {form.figure(high)}]"


def _said(step: StepComparison, prefix: str) -> Iterable[Text]:
    """What is told of the arms; with one block nothing can be."""
    judged = [profile for profile in step.profiles if not profile.alone and profile.blocks > 1]
    if judged:
        none = "no function changed more than chance explains."
        items = (changed(step, one) or f"{one.arm}: {none}" for one in judged)
        yield Text(
            name=f"{prefix}-functions-changed",
            title="Functions whose cost changed",
            items=tuple(Finding(text=text) for text in items),
        )


# --- Tables ----------------------------------------------------------------------------------


def tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """Subsystems, then functions, of each arm beside the base."""
    for compared in step.profiles:
        form = Form.of(step, compared)
        name = f"{prefix}-{compared.arm}" if form.beside else prefix
        arm = compared.arm if form.beside else None
        yield Table(
            name=f"{name}-subsystems",
            title=f"CPU of a {form.one} by subsystem, {compared.title}",
            columns=_columns(compared, form, "subsystem"),
            rows=(
                *(_row(subsystem, form) for subsystem in compared.subsystems),
                _sum(compared, form, width=1),
            ),
            colors=COLORS,
            arrows=MARKS,
            narrow="figures",
            arm=arm,
        )
        yield Table(
            name=f"{name}-functions",
            title=f"CPU of a {form.one} by function, {compared.title}",
            columns=_columns(compared, form, "function"),
            rows=tuple(_function_rows(compared, form)),
            note=" ".join(_note(step, compared, form)),
            colors=COLORS,
            arrows=MARKS,
            narrow="figures",
            arm=arm,
        )


def _columns(compared: ProfileComparison, form: Form, what: str) -> tuple[Column, ...]:
    arms = dict.fromkeys((compared.base, compared.arm))

    def figures(group: str) -> Iterable[Column]:
        yield from (Column(text=arm, group=group) for arm in arms)
        if form.beside:
            yield Column(text="change", group=group)

    words = (what,) if what == "subsystem" else (what, "subsystem", "binary")
    return (
        *(Column(text=text, left=True) for text in words),
        *figures(f"{form.unit} by itself"),
        *figures("with what it calls"),
    )


def _function_rows(compared: ProfileComparison, form: Form) -> Iterable[Row]:
    """The surest changes, the dearest and unknown of the others, the rest of them, and their sum.

    An arm alone has no changes: its functions are sorted by what they cost.
    """
    costly = [function for function in compared.functions if function.base_us or function.arm_us]
    named = [one for one in costly if one.name != NO_SYMBOL]
    unknown = [one for one in costly if one.name == NO_SYMBOL]
    surest, others = named[:ROWS_MAX], named[ROWS_MAX:]
    others.sort(key=lambda one: -max(one.base_us, one.arm_us))
    beside, rest = (*others[:DEAREST_MAX], *unknown), others[DEAREST_MAX:]
    first, second = (SUREST, DEAREST) if form.beside else ("", "")
    for group, costs in ((first, surest), (second, beside)):
        for one in costs:
            yield replace(_row(one, form, function=True), group=group)
    if rest:
        own = (math.fsum(one.base_us for one in rest), math.fsum(one.arm_us for one in rest))
        row = _total(f"{len(rest)} other functions", form, own, width=3)
        yield replace(row, group=second)
    yield replace(_sum(compared, form, width=3), group=second and "all")


def _row(cost: FunctionCost, form: Form, *, function: bool = False) -> Row:
    named = "no symbol" if cost.name == NO_SYMBOL else cost.name
    words = (named, cost.subsystem, cost.binary) if function else (named,)
    own = (cost.base_us, cost.arm_us) if form.beside else (cost.base_us,)
    both = (cost.base_inclusive_us, cost.arm_inclusive_us)
    whole = both if form.beside else both[:1]
    return Row(
        cells=(
            *(TableCell(text=text) for text in words),
            *(TableCell(text=form.figure(value)) for value in own),
            *((_change(cost.change, form, _tone(cost)),) if form.beside else ()),
            *(TableCell(text=form.figure(value)) for value in whole),
            *((_change(cost.inclusive_change, form, ""),) if form.beside else ()),
        )
    )


def _tone(cost: FunctionCost) -> Tone:
    """Colour is given to what is told from chance, and to nothing else."""
    if not cost.found:
        return ""
    return "slower" if cost.change.value > 0 else "faster"


def _change(change: Difference, form: Form, tone: Tone) -> TableCell:
    if change.low is None or change.high is None:
        return TableCell(text=form.more(change.value), tone=tone)
    ends = " to ".join(form.figure(end) for end in (change.low, change.high))
    return TableCell(text=form.more(change.value), detail=ends, tone=tone)


def _sum(compared: ProfileComparison, form: Form, *, width: int) -> Row:
    own = (compared.base_us, compared.arm_us)
    return _total("the whole server", form, own, width=width, tone="total")


def _total(words: str, form: Form, own: tuple[float, float], *, width: int, tone: Tone = "") -> Row:
    """A row of what has no figures with what it calls; `width`: its columns of words."""
    empty = (TableCell(text=""),)
    figures = (
        TableCell(text=form.figure(value), tone=tone) for value in (own if form.beside else own[:1])
    )
    change = (TableCell(text=form.more(own[1] - own[0]), tone=tone),) if form.beside else ()
    return Row(
        cells=(
            TableCell(text=words, tone=tone),
            *empty * (width - 1),
            *figures,
            *change,
            *empty * (3 if form.beside else 1),
        )
    )


# --- Notes -----------------------------------------------------------------------------------


def _note(step: StepComparison, compared: ProfileComparison, form: Form) -> Iterable[str]:
    """How the figures come about, from how many samples, and what profiling cost."""
    profiles = _profiles(step, compared)
    events = sorted({profile.event for profile in profiles})
    hertz = sorted({profile.hertz for profile in profiles})
    yield (
        f"{compared.samples:,} samples ({', '.join(events)}, "
        f"{' and '.join(map(str, hertz))} a second) in {number.blocks(compared.blocks)}; a "
        f"function's share of them, times the server's CPU for a {form.one} in the judged window."
    )
    if form.beside and compared.blocks > 1:
        yield "Smaller: the 95 % interval. Changes are exploratory and part of no verdict."
    yield from _cost_of_profiling(compared, form)
    lost = sum(profile.lost for profile in profiles)
    if lost:
        yield f"perf lost {lost:,} further samples."
    yield from _without_symbols(profiles)


def _profiles(step: StepComparison, compared: ProfileComparison) -> list[Profile]:
    arms = (compared.base, compared.arm)
    runs = [run for result in step.cells if result.arm in arms for run in result.runs]
    return [run.profile for run in runs if run.profile is not None]


def _cost_of_profiling(compared: ProfileComparison, form: Form) -> Iterable[str]:
    """What an operation cost more in the profiled windows than in the judged ones."""
    both = {
        compared.base: (compared.base_us, compared.base_window_us),
        compared.arm: (compared.arm_us, compared.arm_window_us),
    }
    words = [
        f"{number.change(window_us / judged_us)} in {arm}"
        for arm, (judged_us, window_us) in both.items()
        if window_us is not None
    ]
    if words:
        yield (
            f"CPU of a {form.one} in the profiled windows beside the judged ones: "
            f"{', '.join(words)}."
        )


def _without_symbols(profiles: Sequence[Profile]) -> Iterable[str]:
    """Which binaries have no symbols, and how much of the samples that concerns."""
    samples = sum(profile.samples for profile in profiles)
    found: Counter[str] = Counter()
    for one in profiles:
        found.update(one.without_symbols)
    if found:
        words = (
            f"{binary} ({number.number(100 * n / samples, 1)} %)"
            for binary, n in found.most_common()
        )
        yield f"Samples in binaries without symbols: {', '.join(words)}."


def _parts(subject: Subject) -> Iterable[Group]:
    if not subject.step.profiles:
        return
    yield Group(
        name=f"{subject.anchor}-functions-part",
        title="",
        parts=(*_said(subject.step, subject.anchor), *tables(subject.step, subject.anchor)),
        depth="detail",
        entry="functions",
        fold="CPU by function",
    )


SECTION = Section("step", _parts)
