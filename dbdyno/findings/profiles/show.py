"""What functions and subsystems of the server cost for an operation, of each profiled step."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.findings.profiles import flame
from dbdyno.findings.profiles.facts import FunctionCost, ProfileComparison, ProfileFacts
from dbdyno.findings.profiles.form import CostForm
from dbdyno.model import StepRun
from dbdyno.model.profile import NO_SYMBOL, Profile
from dbdyno.parts import hints, number
from dbdyno.parts.colors import ARROWS, Tone
from dbdyno.parts.part import Finding, Flame, Group, Section, Subject, Text
from dbdyno.parts.table import Column, Row, Table, TableCell

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


# --- Sentences -------------------------------------------------------------------------------


def changed(compared: ProfileComparison) -> str:
    """The functions whose cost surely changed, in a sentence; empty where none did."""
    surely = [function for function in compared.functions if function.changed]
    if not surely:
        return ""
    form = CostForm.of(compared)
    first, *others = surely[:TOLD_MAX]
    words = [_changed(first, form, first=True), *(_changed(other, form) for other in others)]
    more = f"; and {len(surely) - TOLD_MAX} more functions" if len(surely) > TOLD_MAX else ""
    return number.unbroken(f"{compared.arm}: {'; '.join(words)}{more}.")


def _changed(cost: FunctionCost, form: CostForm, *, first: bool = False) -> str:
    """`_bt_compare` 0.92 µs more CPU per query [0.51, 1.33]."""
    name = f"`{cost.name}`" if cost.name != NO_SYMBOL else f"what has no symbol in {cost.binary}"
    size = f"{form.figure(abs(cost.more_us))} {form.unit} {'more' if cost.more_us > 0 else 'less'}"
    return f"{name} {size}{f' CPU per {form.per}' if first else ''}{_ends(cost, form)}"


def _ends(cost: FunctionCost, form: CostForm) -> str:
    """The interval in the direction that the change has: ` [0.51, 1.33]`."""
    if cost.low_us is None or cost.high_us is None:
        return ""
    sign = 1 if cost.more_us > 0 else -1
    low, high = sorted(sign * end for end in (cost.low_us, cost.high_us))
    return f" [{form.figure(low)}, {form.figure(high)}]"


def _sentences(profiles: Iterable[ProfileComparison], prefix: str) -> Iterable[Text]:
    """What is told of the arms; with one block nothing can be."""
    judged = [profile for profile in profiles if not profile.alone and profile.blocks > 1]
    if judged:
        none = "no function changed more than chance explains."
        items = (changed(profile) or f"{profile.arm}: {none}" for profile in judged)
        yield Text(
            name=f"{prefix}-functions-changed",
            title="Functions whose cost changed",
            items=Finding.each(items),
        )


# --- Tables ----------------------------------------------------------------------------------


def tables(
    runs: Sequence[StepRun], profiles: Iterable[ProfileComparison], prefix: str
) -> Iterable[Table]:
    """Subsystems, then functions, of each arm beside the base."""
    for compared in profiles:
        form = CostForm.of(compared)
        name = f"{prefix}-{compared.arm}" if form.beside else prefix
        arm = compared.arm if form.beside else None
        yield Table(
            name=f"{name}-subsystems",
            title=f"CPU of a {form.per} by subsystem, {compared.title}",
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
            title=f"CPU of a {form.per} by function, {compared.title}",
            columns=_columns(compared, form, "function"),
            rows=tuple(_function_rows(compared, form)),
            note=" ".join(_note(runs, compared, form)),
            colors=COLORS,
            arrows=MARKS,
            narrow="figures",
            arm=arm,
        )


def _columns(compared: ProfileComparison, form: CostForm, what: str) -> tuple[Column, ...]:
    heads = (compared.base, compared.arm, "change") if form.beside else (compared.arm,)
    return (
        *Column.words(*((what,) if what == "subsystem" else (what, "subsystem", "binary"))),
        *Column.under(f"{form.unit} by itself", *heads),
        *Column.under("with what it calls", *heads),
    )


def _function_rows(compared: ProfileComparison, form: CostForm) -> Iterable[Row]:
    """The surest changes, the dearest and unknown of the others, the rest of them, and their sum.

    An arm alone has no changes: its functions are sorted by what they cost.
    """
    costly = [cost for cost in compared.functions if cost.base_us or cost.arm_us]
    named = [cost for cost in costly if cost.name != NO_SYMBOL]
    unknown = [cost for cost in costly if cost.name == NO_SYMBOL]
    surest, others = named[:ROWS_MAX], named[ROWS_MAX:]
    others.sort(key=lambda cost: -max(cost.base_us, cost.arm_us))
    beside, rest = (*others[:DEAREST_MAX], *unknown), others[DEAREST_MAX:]
    first, second = (SUREST, DEAREST) if form.beside else ("", "")
    for group, costs in ((first, surest), (second, beside)):
        for cost in costs:
            yield replace(_row(cost, form), group=group)
    if rest:
        own = (math.fsum(cost.base_us for cost in rest), math.fsum(cost.arm_us for cost in rest))
        row = _total(f"{len(rest)} other functions", form, own, width=3)
        yield replace(row, group=second)
    yield replace(_sum(compared, form, width=3), group=second and "all")


def _row(cost: FunctionCost, form: CostForm) -> Row:
    named = "no symbol" if cost.name == NO_SYMBOL else cost.name
    place = (cost.subsystem or "", cost.binary or "") if cost.kind == "function" else ()
    arms, whole = 2 if form.beside else 1, (cost.base_whole_us, cost.arm_whole_us)
    tone: Tone = "slower" if cost.more_us > 0 else "faster"
    return Row.of(
        *(named, *place),
        *(form.figure(us) for us in (cost.base_us, cost.arm_us)[:arms]),
        *_change(form, cost.more_us, cost.low_us, cost.high_us, tone if cost.changed else ""),
        *(form.figure(us) for us in whole[:arms]),
        *_change(form, cost.more_whole_us, cost.low_whole_us, cost.high_whole_us),
    )


def _change(
    form: CostForm, more_us: float, low_us: float | None, high_us: float | None, tone: Tone = ""
) -> Iterable[TableCell]:
    """A change with its interval; nothing of an arm alone."""
    if form.beside:
        ends = [form.figure(end) for end in (low_us, high_us) if end is not None]
        yield TableCell(text=form.more(more_us), detail=" to ".join(ends), tone=tone)


def _sum(compared: ProfileComparison, form: CostForm, *, width: int) -> Row:
    own = (compared.base_us, compared.arm_us)
    return _total("the whole server", form, own, width=width, tone="total")


def _total(
    words: str, form: CostForm, own: tuple[float, float], *, width: int, tone: Tone = ""
) -> Row:
    """A row of what has no figures with what it calls; `width`: its columns of words."""
    figures = (
        TableCell(text=form.figure(value), tone=tone) for value in (own if form.beside else own[:1])
    )
    change = (TableCell(text=form.more(own[1] - own[0]), tone=tone),) if form.beside else ()
    return Row.of(
        TableCell(text=words, tone=tone),
        *[""] * (width - 1),
        *figures,
        *change,
        *[""] * (3 if form.beside else 1),
    )


# --- Notes -----------------------------------------------------------------------------------


def _note(runs: Sequence[StepRun], compared: ProfileComparison, form: CostForm) -> Iterable[str]:
    """How the figures come about, from how many samples, and what profiling cost."""
    arms = (compared.base, compared.arm)
    profiles = [run.profile for run in runs if run.arm in arms and run.profile is not None]
    events = sorted({profile.event for profile in profiles})
    hertz = sorted({profile.hertz for profile in profiles})
    yield (
        f"{compared.samples:,} samples ({', '.join(events)}, "
        f"{' and '.join(map(str, hertz))} a second) in {number.blocks(compared.blocks)}; a "
        f"function's share of them, times the server's CPU for a {form.per} in the judged window."
    )
    if form.beside and compared.blocks > 1:
        yield "Smaller: the 95 % interval. Changes are exploratory and part of no verdict."
    yield from _cost_of_profiling(compared, form)
    lost = sum(profile.lost for profile in profiles)
    if lost:
        yield f"perf lost {lost:,} further samples."
    yield from _without_symbols(profiles)


def _cost_of_profiling(compared: ProfileComparison, form: CostForm) -> Iterable[str]:
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
            f"CPU of a {form.per} in the profiled windows beside the judged ones: "
            f"{', '.join(words)}."
        )


def _without_symbols(profiles: Sequence[Profile]) -> Iterable[str]:
    """Which binaries have no symbols, and how much of the samples that concerns."""
    samples = sum(profile.samples for profile in profiles)
    without: Counter[str] = Counter()
    for profile in profiles:
        without.update(profile.without_symbols)
    if without:
        words = (
            f"{binary} ({number.number(100 * n / samples, 1)} %)"
            for binary, n in without.most_common()
        )
        yield f"Samples in binaries without symbols: {', '.join(words)}."


# --- Flame graphs ----------------------------------------------------------------------------


def _graphs(profiles: Sequence[ProfileComparison], name: str, command: str) -> Iterable[Group]:
    """Where each arm's CPU time goes, coloured by what changed; `command` draws it into files."""
    graphs = tuple(
        Flame(
            name=f"{name}-{place}",
            title=f"Flame graph of {profile.title}",
            arm=profile.arm,
            graph=flame.graph(profile),
            command=command,
        )
        for place, profile in enumerate(profiles)
        if any(profile.arm_stacks.values())
    )
    if graphs:
        yield Group(
            name=name,
            title="Flame graphs",
            parts=graphs,
            note=" ".join(_flame_note(profiles[0], command)),
            entry="flame graphs",
        )


def _flame_note(profile: ProfileComparison, command: str) -> Iterable[str]:
    yield (
        "A frame is as wide as its share of the CPU that the server spends for each "
        f"{profile.unit}, with what it calls."
    )
    base = profile.base
    if not profile.alone:
        yield (
            f"Red: by itself it costs more than in {base}; blue: less; the second percentage is "
            "that change as a share of the whole. Colours show differences of means, sure or not."
        )
    yield "Click to zoom, Ctrl-F to search by a regular expression."
    if not profile.alone:
        yield f"`{command}` also draws {base}'s own graph, with what only {base} calls."


# --- Sections --------------------------------------------------------------------------------


def _parts(subject: Subject) -> Iterable[Group]:
    step, anchor = subject.step, subject.anchor
    runs = list(step.runs)
    profiles = subject.comparison.of(ProfileFacts).of(step)
    if profiles:
        yield Group(
            name=f"{anchor}-functions-part",
            parts=(*_sentences(profiles, anchor), *tables(runs, profiles, anchor)),
            depth="detail",
            entry="functions",
            fold="CPU by function",
        )
        yield from _graphs(profiles, f"{anchor}-flame", hints.flames(subject.comparison.folder))


def _overview(subject: Subject) -> Iterable[Text]:
    """A sentence for each arm and step; nothing where no function is told from chance."""
    facts = subject.comparison.of(ProfileFacts)
    items = tuple(
        Finding(text=f"{step.step}, {words}")
        for step in subject.steps
        for compared in facts.of(step)
        if (words := changed(compared))
    )
    if items:
        yield Text(
            name=f"{subject.overview}-functions",
            title="Functions whose CPU changed",
            items=items,
            depth="brief",
        )


SECTION = Section("step", _parts)
OVERVIEW = Section("workload", _overview)
"""The functions whose cost surely changed, of all steps of a workload."""
