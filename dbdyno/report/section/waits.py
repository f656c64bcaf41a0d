"""The sampled activity of the server's sessions: a chart over time and a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from dbdyno.model import Cell, StepComparison, Waits
from dbdyno.model.metric.over import taken
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Chart, Column, Group, Layers, Row, Stack, Table, TableCell
from dbdyno.report.section.cost_by_owner import owner_name
from dbdyno.report.section.over_time import CHART_BLOCKS_MAX

ROWS_MAX = 24
"""So many of what sessions did have a row of their own, the most frequent; the rest have one."""

KINDS = (
    "CPU",
    "IO",
    "LWLock",
    "Lock",
    "IPC",
    "BufferPin",
    "Timeout",
    "Extension",
    "Client",
    "idle in transaction",
)
"""The kinds of activity, in the stacking order of charts."""

NOTE = (
    "Sampled, one mean per second; a session that waits for its client is not active. CPU: active "
    "and not waiting, on a core or ready for one."
)
"""Explains the chart."""

_Key = tuple[str, str, str, str]  # kind, event, statement, owner


def parts(step: StepComparison, base: str, prefix: str) -> Iterable[Group | Table]:
    """Returns the chart over time under its heading, then the table; nothing without samples."""
    drawn = tuple(charts(step, prefix))
    if drawn:
        yield Group(
            name=f"{prefix}-waits",
            title="What sessions do, per second",
            parts=drawn,
            note=NOTE,
            entry="",
            look="graphs stacks",
        )
    yield from tables(step, base, prefix)


def charts(step: StepComparison, prefix: str) -> Iterable[Chart]:
    """Active sessions by kind over time; none where nothing was sampled."""
    stacks = tuple(
        Stack(arm=run.arm, block=run.block, layers=run.server.waits.over_time)
        for result in step.cells
        for run in result.runs[:CHART_BLOCKS_MAX]
        if run.server.waits is not None
        and any(one.x_s for one in run.server.waits.over_time.values())
    )
    if not stacks:
        return
    kinds = sorted(
        {kind for stack in stacks for kind in stack.layers},
        key=lambda kind: (kind_place(kind), kind),
    )
    title = "Active sessions by what they do"
    yield Chart(
        name=f"{prefix}-waits",
        title=title,
        describe=f"{title}: {_describe(step)}",
        of=step.step,
        note=NOTE,
        data=Layers(kinds=tuple(kinds), stacks=stacks),
    )


def kind_place(kind: str) -> int:
    """A kind's place among KINDS; those that are not known share the last."""
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def _describe(step: StepComparison) -> str:
    """The mean sessions of each kind by arm in words, for readers who cannot see the chart."""
    words = []
    for result in step.cells:
        kinds: dict[str, float] = {}
        for one, sessions in _mean_load(result).items():
            kinds[one[0]] = kinds.get(one[0], 0.0) + sessions
        known = sorted(kinds.items(), key=lambda item: -item[1])
        told = ", ".join(f"{kind} {number.number(sessions)}" for kind, sessions in known)
        words.append(f"{result.arm} {told or 'not sampled'}")
    return "; ".join(words)


def tables(step: StepComparison, base: str, prefix: str) -> Iterable[Table]:
    """Mean sessions by owner, wait and statement, of each arm and more than the base."""
    sampled = [wait for result in step.cells for wait in _waits(result)]
    if not sampled:
        return
    others = [result for result in step.cells if result.arm != base]
    yield Table(
        name=f"{prefix}-sessions",
        title="What sessions do",
        columns=(
            Column(text="seen", left=True),
            *(Column(text=result.arm, group="mean sessions") for result in step.cells),
            *(Column(text=result.arm, group=f"more than {base}") for result in others),
        ),
        rows=tuple(_rows(step)),
        note=_note(step, sampled),
    )


# --- Rows ------------------------------------------------------------------------------------


def _waits(result: Cell) -> list[Waits]:
    return [run.server.waits for run in result.runs if run.server.waits is not None]


def _mean_load(result: Cell) -> dict[_Key, float]:
    """Mean sessions over the blocks that were sampled."""
    return _means(
        result,
        lambda waits: {
            (one.kind, one.event, one.statement, one.owner): one.sessions for one in waits.load
        },
    )


def _mean_idle(result: Cell) -> dict[_Key, float]:
    return _means(
        result, lambda waits: {("", "", "", owner): idle for owner, idle in waits.idle.items()}
    )


def _means(result: Cell, of: Callable[[Waits], Mapping[_Key, float]]) -> dict[_Key, float]:
    found = [of(waits) for waits in _waits(result)]
    keys = dict.fromkeys(key for one in found for key in one)
    return {key: taken(one.get(key, 0.0) for one in found) or 0.0 for key in keys}


def _rows(step: StepComparison) -> Iterable[Row]:
    """By owner, the busiest first, what its sessions did, the most frequent first; then the sum.

    What is too rare for a row of its own is in the sum alone, and the last row but one says so.
    """
    load = [_mean_load(result) if _waits(result) else None for result in step.cells]
    idle = [_mean_idle(result) if _waits(result) else None for result in step.cells]
    most, digits = _most_first(load), _digits(load)
    shown, rare = most[:ROWS_MAX], most[ROWS_MAX:]
    waiting = {key[-1]: key for key in _most_first(idle)}
    for owner in dict.fromkeys(key[-1] for key in (*shown, *waiting.values())):
        for key in shown:
            if key[-1] == owner:
                yield _row(_seen(key), [_of(one, [key]) for one in load], digits, owner)
        if owner in waiting:
            values = [_of(one, [waiting[owner]]) for one in idle]
            yield _row("idle: waits for its client", values, digits, owner)
    if rare:
        yield _row(f"{len(rare)} more, rare", [_of(one, rare) for one in load], digits, "")
    yield _row("all active", [_of(one, most) for one in load], digits, "", "total")


def _seen(key: _Key) -> str:
    """A session's observed activity: `IO: DataFileRead, market`."""
    kind, event, statement, _ = key
    doing = f"{kind}: {event}" if event else kind
    return f"{doing}, {statement}" if statement else doing


def _most_first(load: Sequence[Mapping[_Key, float] | None]) -> list[_Key]:
    """The activities of all arms' sessions, sorted by the arm with the most."""
    largest: dict[_Key, float] = {}
    for one in load:
        for key, sessions in (one or {}).items():
            largest[key] = max(largest.get(key, 0.0), sessions)
    return sorted(largest, key=lambda key: (-largest[key], key))


def _digits(load: Sequence[Mapping[_Key, float] | None]) -> int:
    """Enough that a sample more or less shows, and that columns add up."""
    sums = [math.fsum(one.values()) for one in load if one is not None]
    return min(number.digits_alike(sums, 9) + 1, 4)


def _of(load: Mapping[_Key, float] | None, keys: Iterable[_Key]) -> float | None:
    return None if load is None else math.fsum(load.get(key, 0.0) for key in keys)


def _row(
    words: str, values: Sequence[float | None], digits: int, owner: str, tone: Tone = ""
) -> Row:
    base, *others = values
    return Row(
        cells=(
            TableCell(text=words, tone=tone),
            *(TableCell(text=number.number(value, digits), tone=tone) for value in values),
            *(_difference(value, base, digits, tone) for value in others),
        ),
        group=owner_name(owner) if owner else "all owners",
    )


def _difference(value: float | None, base: float | None, digits: int, tone: Tone) -> TableCell:
    if value is None or base is None:
        return TableCell(text="")
    return TableCell(text=number.difference(value, base, digits), tone=tone)


# --- Words -----------------------------------------------------------------------------------


def _note(step: StepComparison, sampled: Sequence[Waits]) -> str:
    """How often was sampled, how evenly, and what it cost."""
    samples = sum(one.samples for one in sampled)
    interval_s = math.fsum(one.interval_s * one.samples for one in sampled) / max(samples, 1)
    longest_s = max(one.interval_s_max for one in sampled)
    sample_us = math.fsum(one.sample_us * one.samples for one in sampled) / max(samples, 1)
    asked = number.time_us(1e6 * sampled[0].asked_s)
    notes = [
        f"Mean sessions in {samples:,} samples of all blocks, {number.time_us(1e6 * interval_s)} "
        f"apart (requested: {asked}; at most {number.time_us(1e6 * longest_s)}).",
        f"A sample took {number.time_us(sample_us)}{_cost(step)}.",
        "CPU: active and not waiting, on a core or ready for one.",
        *_hidden(sampled),
    ]
    return " ".join(notes)


def _hidden(sampled: Sequence[Waits]) -> Iterable[str]:
    """How many sessions the server keeps from the plan's user."""
    most = max(one.hidden for one in sampled)
    if most:
        yield (
            f"The server does not show the plan's user what up to {number.number(most, 1)} of its "
            "processes and other users' sessions do: they are left out (PostgreSQL: grant "
            "pg_monitor)."
        )


def _cost(step: StepComparison) -> str:
    """The cost of sampling in shares of a core, as far as known."""
    runs = [(run.server.waits, run.window.seconds) for result in step.cells for run in result.runs]
    known = [(waits, seconds) for waits, seconds in runs if waits is not None and seconds]
    whole_us = 1e6 * math.fsum(seconds for _, seconds in known)
    if not whole_us:
        return ""
    lab = 100 * math.fsum(waits.lab_cpu_us for waits, _ in known) / whole_us
    text = f" and sampling {number.number(lab, 1)} % of a core in dyno"
    server = [waits.server_cpu_us for waits, _ in known if waits.server_cpu_us is not None]
    if len(server) < len(known):
        return text
    return f"{text}, {number.number(100 * math.fsum(server) / whole_us, 1)} % in the server"
