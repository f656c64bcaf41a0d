"""The work of an operation: instructions that the server executes, counted, and by function."""

from collections.abc import Iterable, Iterator, Sequence

from dbdyno.model.grouping import grouped
from dbdyno.model.profile import NO_SYMBOL
from dbdyno.model.work import (
    Amounts,
    EventChange,
    FunctionChange,
    WorkChange,
    WorkComparison,
    WorkWord,
)
from dbdyno.parts import cells, number
from dbdyno.parts.part import AnyPart, Finding, Group, Section, Subject, Text
from dbdyno.parts.table import Column, Row, Table, TableCell

NOTICE = (
    "Counts user-space instructions of the server: not the kernel, waiting, cache misses or clock "
    "speed. Measure time before you publish."
)
STORAGE = ("log_bytes", "pages_hit", "pages_read", "pages_dirtied")
"""The amounts of log and pages."""
EVENTS = (
    "An atomic instruction or a system call more costs little here, and much on a host of 64 "
    "processors."
)
WORDS: dict[WorkWord, str] = {
    "more": "more work",
    "less": "less work",
    "same": "same work",
    "open": "open",
    "failed": "failed",
}
STEP_AND_ARM = Column.words("step", "arm")
FUNCTIONS_NAMED = 3
FUNCTIONS_MAX = 20


def verdict(change: WorkChange) -> str:
    """more work +3.27 % [+3.26, +3.28]."""
    if change.ratio is None:
        return f"{WORDS[change.word]}: {change.reason}"
    ratio = change.ratio
    return f"{WORDS[change.word]} {number.counted(ratio.value, ratio.low, ratio.high)}"


def withheld(change: WorkChange) -> list[str]:
    """Why an interval gives no word."""
    return [change.reason] if change.ratio is not None and change.reason else []


def brief(change: WorkChange) -> str:
    """more work +3.27 %, more atomics."""
    size = "" if change.ratio is None else f" {number.change(change.ratio.value, 2)}"
    return ", ".join([f"{WORDS[change.word]}{size}", *map(event_word, change.changed_events)])


def functions(change: WorkChange, most: int = FUNCTIONS_NAMED) -> list[str]:
    """The functions that changed most, each with the instructions that it has more."""
    largest = change.changed[:most]
    return [f"{named(function)} {number.signed(function.change)}" for function in largest]


def named(row: FunctionChange | EventChange) -> str:
    """A function's name in a sentence; all without a symbol are one."""
    return f"no symbol in {row.binary}" if row.function == NO_SYMBOL else row.function


def event_word(event: EventChange) -> str:
    """more atomics."""
    return f"{event.word} {event.event}"


def events(change: WorkChange) -> Iterator[str]:
    """more atomics: 32.0 → 33.0 an operation (LockBufHdr +1.0)."""
    for event in change.changed_events:
        own = number.signed(event.function_change, 1)
        function = f" ({named(event)} {own})" if event.function else ""
        amounts = of_operation(event.base_events, event.arm_events)
        yield f"{event_word(event)}: {amounts}{function}"


def of_operation(base: float, arm: float) -> str:
    """How many events an operation has on both: 32.0 → 33.0 an operation."""
    return f"{base:,.1f} → {arm:,.1f} an operation"


def open_events(work: WorkComparison) -> Iterator[str]:
    """system calls open in q1, q2: one more shows from 16 operations on."""
    rows = grouped(
        ((event.event, event.operations_needed is None), (change.step, event.operations_needed))
        for change in work.changes
        for event in change.events
        if event.word == "open"
    )
    for (name, _), of_steps in rows.items():
        steps = ", ".join(dict.fromkeys(step for step, _ in of_steps))
        yield f"{name} open in {steps}: {why_open(needed for _, needed in of_steps)}"


def why_open(operations_needed: Iterable[int | None]) -> str:
    """What it takes to tell one event more of an operation; None: more operations do not."""
    needed = sorted({number for number in operations_needed if number is not None})
    if not needed:
        return "repeats differ by one and more"
    ends = " to ".join(f"{number:,}" for number in dict.fromkeys((needed[0], needed[-1])))
    return f"one more shows from {ends} operations on"


def parts(subject: Subject) -> Iterable[AnyPart]:
    """The table of steps, then for each what changed by subsystem and function."""
    work = subject.comparison.of(WorkComparison)
    if not work.repeats:
        return
    yield Group(
        name="work",
        title="Work of an operation",
        parts=tuple(of_result(work)),
        depth="brief",
        note=NOTICE,
        entry="work",
    )


def of_result(work: WorkComparison) -> Iterator[AnyPart]:
    """The parts of a result's counts."""
    yield steps_table(work)
    yield from storage_table(work)
    yield from background_table(work)
    findings = [
        Finding(text=f"{change.step}, {change.arm}: {text}")
        for change in work.changes
        for text in events(change)
    ]
    unknown = [*Finding.each(open_events(work))]
    if findings or unknown:
        yield Text(
            name="work-events",
            title="Atomic instructions and system calls",
            depth="brief",
            items=(*findings, *unknown, Finding(text=EVENTS)),
        )
    for change in work.changes:
        if change.functions:
            yield subsystem_table(work, change)
            yield function_table(work, change)


def steps_table(work: WorkComparison) -> Table:
    """Instructions of each arm by step, the change, and the functions that changed most."""
    each = "one repeat" if work.repeats == 1 else f"{work.repeats} repeats"
    source = ", by these repeats alone: `dyno calibrate` with `--count` keeps what a host's have"
    if work.calibration is not None and work.calibration.repeats:
        source = f", by {work.calibration.repeats} counts of one build on this host"
    written = ", ".join(
        f"{name} = {value:,}" if isinstance(value, int) else f"{name} = {value}"
        for name, value in work.parameters.items()
    )
    return Table(
        name="work-steps",
        title="Instructions of an operation",
        depth="brief",
        columns=(
            *STEP_AND_ARM,
            Column(text=work.base),
            Column(text="arm's"),
            *Column.words("work", "functions"),
        ),
        rows=tuple(steps_row(change) for change in work.changes),
        note=cells.sentences(
            f"{each} by {work.tool}; left out, as their work depends on real time: "
            f"{', '.join(work.left_out) or 'nothing'}. A repeat's ratio scatters by "
            f"{100 * work.scatter:.3f} % where steps read, by {100 * work.scatter_of_writes:.3f} % "
            f"where they write{source}.",
            fills(work),
            f"Counted with {written}." if written else "",
        ),
        narrow="figures",
    )


SHARED = "Both began from the same files, whose fill no interval holds."
ON_ONE_FILL = "on one fill"


def fills(work: WorkComparison) -> str:
    """What arms began from, in a sentence; nothing of an older result, which does not tell."""
    known = {change.fills for change in work.changes if change.fills is not None}
    own = max(known, default=0)
    if not own:
        return SHARED if known else ""
    several = "one fill" if own == 1 else f"{own} fills"
    return (
        f"Arms that cannot share files have {several} each: intervals hold what differs between "
        "fills, or nothing is said."
    )


def steps_row(change: WorkChange) -> Row:
    """One step of one arm."""
    figures = [
        "" if amounts is None else f"{amounts.instructions:,.0f}"
        for amounts in (change.of_base, change.of_arm)
    ]
    verdict_on = f"{verdict(change)} {ON_ONE_FILL}" if change.fills == 0 else verdict(change)
    words = "; ".join([verdict_on, *withheld(change), *map(event_word, change.changed_events)])
    tone = {"more": "slower", "less": "faster"}.get(change.word, "")
    said = TableCell(text=words, tone=tone)  # type: ignore[arg-type]
    named = ", ".join(functions(change))
    return Row.of(change.step, change.arm, *figures, said, named, arm=change.arm)


def storage_table(work: WorkComparison) -> Iterator[Table]:
    """Log and pages of each step of both arms; nothing where servers told none."""
    known = [
        (change, [(getattr(base, name), getattr(arm, name)) for name in STORAGE])
        for change, base, arm in counted(work)
        if any(getattr(base, name) is not None for name in STORAGE)
    ]
    if known:
        yield Table(
            name="work-storage",
            title="Log and pages of an operation",
            depth="brief",
            columns=(
                *STEP_AND_ARM,
                Column(text="log, bytes"),
                *(Column(text=name.replace("_", " ")) for name in STORAGE[1:]),
            ),
            rows=tuple(both(change, figures, digits=1) for change, figures in known),
            note=f"By the servers' own counters over the same window: {work.base}, then the arm.",
            narrow="figures",
        )


def counted(work: WorkComparison) -> Iterator[tuple[WorkChange, Amounts, Amounts]]:
    """The changes of which both amounts are known."""
    for change in work.changes:
        if change.of_base is not None and change.of_arm is not None:
            yield change, change.of_base, change.of_arm


def both(
    change: WorkChange, figures: Iterable[tuple[float | None, float | None]], digits: int
) -> Row:
    """A step's figures, those of the base before the arm's; none where one is not told."""
    texts = (
        f"{base:,.{digits}f} → {arm:,.{digits}f}" if base is not None and arm is not None else ""
        for base, arm in figures
    )
    return Row.of(change.step, change.arm, *texts, arm=change.arm)


def background_table(work: WorkComparison) -> Iterator[Table]:
    """What background processes executed beside each step; nothing where no server said it."""
    known = [
        (change, base.background_by_kind, arm.background_by_kind)
        for change, base, arm in counted(work)
        if base.background_by_kind or arm.background_by_kind
    ]
    names = sorted({name for _, base, arm in known for name in (*base, *arm)})
    if known:
        yield Table(
            name="work-background",
            title="Instructions of background processes, for each operation",
            depth="detail",
            columns=(*STEP_AND_ARM, *(Column(text=name) for name in names)),
            rows=tuple(
                both(change, ((base.get(name, 0.0), arm.get(name, 0.0)) for name in names), 0)
                for change, base, arm in known
            ),
            note=(
                f"{work.base}, then the arm, in no other figure: over the whole step, warm-up "
                "included. Real time shapes them, so nothing is judged by them."
            ),
            narrow="figures",
        )


def subsystem_table(work: WorkComparison, change: WorkChange) -> Table:
    """Instructions by subsystem."""
    sums: dict[str, list[float]] = {}
    for function in change.functions:
        row = sums.setdefault(function.subsystem, [0.0, 0.0])
        row[0] += function.base_instructions
        row[1] += function.arm_instructions
    ordered = sorted(sums.items(), key=lambda row: -abs(row[1][1] - row[1][0]))
    return Table(
        name=f"work-{change.step}-{change.arm}-subsystems",
        title=f"Work by subsystem, {change.step}, {change.arm} against {work.base}",
        depth="detail",
        columns=figures_columns(work, change, ("subsystem",)),
        rows=tuple(Row.of(name, *figures(before, after)) for name, (before, after) in ordered),
        narrow="figures",
        arm=change.arm,
    )


def function_table(work: WorkComparison, change: WorkChange) -> Table:
    """Instructions by function, those that changed most, with their calls."""
    return Table(
        name=f"work-{change.step}-{change.arm}-functions",
        title=f"Work by function, {change.step}, {change.arm} against {work.base}",
        depth="detail",
        columns=(
            *figures_columns(work, change, ("function", "subsystem")),
            *Column.under("calls", work.base, change.arm),
        ),
        rows=tuple(function_rows(change)),
        note="The functions that changed beyond what repeats differ by, the largest change first.",
        narrow="figures",
        arm=change.arm,
    )


def figures_columns(
    work: WorkComparison, change: WorkChange, words: Sequence[str]
) -> tuple[Column, ...]:
    """Columns of words, then the instructions of both and their difference."""
    own = Column.under("instructions by itself", work.base, change.arm, "change")
    return (*Column.words(*words), *own)


def figures(before: float, after: float) -> tuple[str, str, str]:
    """Two figures and their difference."""
    return f"{before:,.0f}", f"{after:,.0f}", number.signed(after - before)


def function_rows(change: WorkChange) -> Iterator[Row]:
    """The functions that changed."""
    shown = change.changed[:FUNCTIONS_MAX]
    yield from map(function_row, shown)
    rest = [function for function in change.functions if function not in shown]
    before, after = (
        sum(getattr(row, name) for row in rest)
        for name in ("base_instructions", "arm_instructions")
    )
    yield Row.of(f"{len(rest)} other functions", "", *figures(before, after), "", "")


def function_row(function: FunctionChange) -> Row:
    """One function."""
    return Row.of(
        named(function),
        function.subsystem,
        *figures(function.base_instructions, function.arm_instructions),
        number.number(function.base_calls, 2),
        number.number(function.arm_calls, 2),
    )


SECTION = Section("page", parts)
