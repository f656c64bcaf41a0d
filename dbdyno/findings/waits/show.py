"""Where the time of an operation goes, as a ledger that adds up, and what sessions do."""

import math
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.findings.waits.facts import IDLE, SERIES, Sampling, WaitFacts, kind_place
from dbdyno.model import Cell, StepComparison
from dbdyno.model.grouping import grouped
from dbdyno.model.headlines import kind_of
from dbdyno.model.metric.over import taken
from dbdyno.model.metric.primary import REMAINDER, SAMPLED, SESSIONS_CPU, TIME
from dbdyno.parts import cells, number, over_time
from dbdyno.parts import owner as owners
from dbdyno.parts.colors import Tone
from dbdyno.parts.drawing import Layers, Stack
from dbdyno.parts.part import AnyPart, Chart, Group, Section, Subject
from dbdyno.parts.table import Column, Row, Table, TableCell

ROWS_MAX = 24
"""So many of what sessions did have a row of their own, the most frequent; the rest have one."""
NOTE = (
    "Sampled, one mean per second; a session that waits for its client is not active. CPU: active "
    "and not waiting, on a core or ready for one."
)
"""Explains the chart."""
_LEDGER: tuple[tuple[str, str, str], ...] = (  # metric, name, what it says where it is not known
    (SESSIONS_CPU, "on CPU", number.MISSING),
    ("runnable_us_per_op", "ready, without a core", number.MISSING),
    ("wait_io_us_per_op", "waiting: reads and writes", "not sampled"),
    ("wait_lwlock_us_per_op", "waiting: the server's own locks", "not sampled"),
    ("wait_lock_us_per_op", "waiting: locks", "not sampled"),
    ("wait_ipc_us_per_op", "waiting: other server processes", "not sampled"),
    ("wait_other_us_per_op", "waiting: anything else", "not sampled"),
    ("client_us_per_op", "waiting: the client", "not sampled"),
    (REMAINDER, "not accounted for", number.MISSING),
    (TIME, "connection time", number.MISSING),
)

Activity = tuple[str, str, str, str]
"""Kind, event, statement and owner; empty where there is none."""
Sessions = Mapping[Activity, float]


def _columns(step: StepComparison, first: str, figures: str) -> tuple[Column, ...]:
    """What the rows are, the figures of each arm, and how much more each has than the base."""
    base, *others = step.cells
    return (
        *Column.words(first),
        *Column.under(figures, *(cell.arm for cell in step.cells)),
        *Column.under(f"more than {base.arm}", *(cell.arm for cell in others)),
    )


def _digits(sums: Sequence[float | None]) -> int:
    """Those after the point that sums have with three that count, and one more."""
    return min(number.digits_alike(sums, 9) + 1, 4)


# --- The ledger ------------------------------------------------------------------------------


def ledger(step: StepComparison, prefix: str) -> Iterable[Table]:
    """Microseconds of an operation by what its connection did; none where they are not known."""
    if all(cell.metrics.get(TIME) is None for cell in step.cells):
        return
    kind = kind_of(step.headline)
    digits = _digits([cell.metrics.get(TIME) for cell in step.cells])
    yield Table(
        name=f"{prefix}-ledger",
        look="inline",
        title=f"Where the time of a {kind.singular} goes",
        columns=_columns(step, "µs", f"for each {kind.singular}"),
        rows=tuple(Row.of(*_ledger_cells(step, row, digits)) for row in _LEDGER),
        note=_ledger_note(step, kind.many),
    )


def _ledger_cells(
    step: StepComparison, row: tuple[str, str, str], digits: int
) -> Iterable[TableCell]:
    name, title, unknown = row
    tone: Tone = "total" if name == TIME else ""
    yield TableCell(text=title, title=name, tone=tone)
    for cell in step.cells:
        value = cell.metrics.get(name)
        known = TableCell(text=number.number(value, digits), tone=tone)
        yield TableCell(text=unknown, tone="quiet") if value is None else known
    for cell in step.cells[1:]:
        more = cell.estimates.get(name)
        if more is None or more.kind == "ratio" or cell.metrics[name] is None:
            yield TableCell(text="")
        else:
            text, detail = cells.difference(more, digits)
            yield TableCell(text=text, detail=detail, tone=tone)


def _ledger_note(step: StepComparison, many: str) -> str:
    """Explains the rows, and the time without an account."""
    sampled = any(cell.metrics.get(name) is not None for cell in step.cells for name in SAMPLED)
    return cells.sentences(
        f"Connections of the role times the window, divided by its {many}; means of the blocks.",
        "The system counts “on CPU” and “ready”.",
        "For the rest, sessions slept; samples divide that time by what they waited for."
        if sampled
        else "Waits were not sampled (`[observe] waits` in the plan): “not accounted for” includes "
        "them, and the client.",
        "Smaller: the 95 % interval of the differences of the blocks."
        if len(step.cells) > 1
        else "",
    )


# --- What sessions do, over time -----------------------------------------------------------------


def charts(step: StepComparison, prefix: str) -> Iterable[Chart]:
    """Active sessions by kind over time; none where nothing was sampled."""
    stacks = tuple(
        Stack(arm=run.arm, block=run.block, layers=layers)
        for run in over_time.drawn(step)
        if (
            layers := {
                name.removeprefix(SERIES): run.series[name]
                for name in run.series
                if name.startswith(SERIES)
            }
        )
    )
    if not stacks:
        return
    title = "Active sessions by what they do"
    yield Chart(
        name=f"{prefix}-waits",
        title=title,
        describe=f"{title}: {'; '.join(map(_described, step.cells))}",
        of=step.step,
        note=NOTE,
        data=Layers(
            kinds=tuple(
                sorted(
                    {kind for stack in stacks for kind in stack.layers},
                    key=lambda kind: (kind_place(kind), kind),
                )
            ),
            stacks=stacks,
        ),
    )


def _described(cell: Cell) -> str:
    """An arm's mean sessions of each kind in words, for readers who cannot see the chart."""
    means = _means(cell) or {}
    load = {key: sessions for key, sessions in means.items() if key[0] != IDLE}
    kinds = {kind: _sum(load, (key for key in load if key[0] == kind)) for kind, *_ in load}
    most = sorted(kinds.items(), key=lambda item: -(item[1] or 0.0))
    words = ", ".join(f"{kind} {number.number(sessions)}" for kind, sessions in most)
    return f"{cell.arm} {words or 'not sampled'}"


# --- What sessions do, in all --------------------------------------------------------------------


def _means(cell: Cell) -> Sessions | None:
    """Mean sessions of an arm over the blocks that were sampled; None where none was."""
    blocks = [
        {
            (load.kind, load.event or "", load.statement or "", load.owner): load.sessions
            for load in facts.loads
        }
        for facts in cell.each(WaitFacts)
        if facts.waits
    ]
    keys = dict.fromkeys(key for block in blocks for key in block)
    means = {key: taken(block.get(key, 0.0) for block in blocks) or 0.0 for key in keys}
    return means if blocks else None


def _sum(load: Sessions | None, keys: Iterable[Activity]) -> float | None:
    return None if load is None else math.fsum(load.get(key, 0.0) for key in keys)


def tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """Mean sessions by owner, wait and statement, of each arm and more than the base."""
    sampled = [sampling for facts in step.each(WaitFacts) for sampling in facts.waits]
    if sampled:
        yield Table(
            name=f"{prefix}-sessions",
            title="What sessions do",
            columns=_columns(step, "seen", "mean sessions"),
            rows=tuple(_rows([_means(cell) for cell in step.cells])),
            note=_note(step, sampled),
        )


def _rows(loads: Sequence[Sessions | None]) -> Iterable[Row]:
    """By owner, the busiest first, what its sessions did, the most frequent first; then the sum.

    What is too rare for a row of its own is in the sum alone, and the last row but one says so.
    """
    keys = _most_first(loads)
    active = [key for key in keys if key[0] != IDLE]
    idle = [key for key in keys if key[0] == IDLE]
    shown, rare = active[:ROWS_MAX], active[ROWS_MAX:]
    digits = _digits([_sum(load, active) for load in loads if load is not None])

    def row(title: str, keys: Sequence[Activity], owner: str = "", tone: Tone = "") -> Row:
        base, *others = values = [_sum(load, keys) for load in loads]
        texts = (
            title,
            *(number.number(value, digits) for value in values),
            *(
                "" if value is None or base is None else number.difference(value, base, digits)
                for value in others
            ),
        )
        return Row.of(
            *(TableCell(text=text, tone=tone if text else "") for text in texts),
            group=owners.words(owner) if owner else "all owners",
        )

    for owner in dict.fromkeys(key[-1] for key in (*shown, *idle)):
        yield from (row(_words(key), [key], owner) for key in (*shown, *idle) if key[-1] == owner)
    if rare:
        yield row(f"{len(rare)} more, rare", rare)
    yield row("all active", active, tone="total")


def _words(key: Activity) -> str:
    """A session's observed activity: `IO: DataFileRead, market`."""
    kind, event, statement, _ = key
    if kind == IDLE:
        return "idle: waits for its client"
    doing = f"{kind}: {event}" if event else kind
    return f"{doing}, {statement}" if statement else doing


def _most_first(loads: Sequence[Sessions | None]) -> list[Activity]:
    """The activities of all arms' sessions, sorted by the arm with the most."""
    by_key = grouped(pair for load in loads for pair in (load or {}).items())
    return sorted(by_key, key=lambda key: (-max(by_key[key]), key))


# --- Words -----------------------------------------------------------------------------------


def _note(step: StepComparison, sampled: Sequence[Sampling]) -> str:
    """How often was sampled, how evenly, and what it cost."""
    samples = sum(sampling.samples for sampling in sampled)
    apart_s, took_us = (
        math.fsum(of * sampling.samples for of, sampling in zip(values, sampled, strict=True))
        / max(samples, 1)
        for values in (
            [sampling.interval_s for sampling in sampled],
            [sampling.sample_us for sampling in sampled],
        )
    )
    longest_s = max(sampling.interval_s_max for sampling in sampled)
    hidden = max(sampling.hidden for sampling in sampled)
    return cells.sentences(
        f"Mean sessions in {samples:,} samples of all blocks, {number.time_us(1e6 * apart_s)} "
        f"apart (requested: {number.time_us(1e6 * sampled[0].asked_s)}; at most "
        f"{number.time_us(1e6 * longest_s)}).",
        f"A sample took {number.time_us(took_us)}{_cost(step)}.",
        "CPU: active and not waiting, on a core or ready for one.",
        f"The server does not show the plan's user what up to {number.number(hidden, 1)} of its "
        "processes and other users' sessions do: they are left out (PostgreSQL: grant pg_monitor)."
        if hidden
        else "",
    )


def _cost(step: StepComparison) -> str:
    """The cost of sampling in shares of a core, as far as known."""
    known = [
        (sampling, run.window.seconds)
        for run in step.runs
        for sampling in run.of(WaitFacts).waits
        if run.window.seconds
    ]
    whole_us = 1e6 * math.fsum(seconds for _, seconds in known)
    if not whole_us:
        return ""
    lab = 100 * math.fsum(sampling.lab_cpu_us for sampling, _ in known) / whole_us
    text = f" and sampling {number.number(lab, 1)} % of a core in dyno"
    server = [sampling.server_cpu_us for sampling, _ in known if sampling.server_cpu_us is not None]
    if len(server) < len(known):
        return text
    return f"{text}, {number.number(100 * math.fsum(server) / whole_us, 1)} % in the server"


def _parts(subject: Subject) -> Iterable[Group]:
    step, anchor = subject.step, subject.anchor
    parts: list[AnyPart] = list(ledger(step, anchor))
    drawn = tuple(charts(step, anchor))
    if drawn:
        heading = "What sessions do, per second"
        parts.append(
            Group(name=f"{anchor}-waits", title=heading, parts=drawn, note=NOTE, entry="",
                  look="graphs stacks")
        )  # fmt: skip
    parts += tables(step, anchor)
    if parts:
        yield Group(
            name=f"{anchor}-time",
            parts=tuple(parts),
            depth="detail",
            entry="time",
            fold="where the time goes",
        )


SECTION = Section("step", _parts)
