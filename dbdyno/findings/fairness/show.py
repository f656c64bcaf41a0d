"""How evenly a step served its clients: finish times, Jain's index, rates, and where it stalled.

Columns and formulas of the finish times are the published ones: min_time, max_time, diff, pct.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import median

from dbdyno.findings.fairness.facts import Fairness, FairnessFacts
from dbdyno.model import Cell, StepComparison, StepRun
from dbdyno.model.headlines import kind_of
from dbdyno.model.metric.over import taken
from dbdyno.parts import cells, number, over_time
from dbdyno.parts.drawing import Line, Lines
from dbdyno.parts.part import Chart, Group, Section, Subject
from dbdyno.parts.table import Column, Row, Table, TableCell

EVEN_SHARE_MIN = 0.95
"""Where the slowest client has this much of the fastest one's rate all count as served alike."""
SAME_SHARE_MAX = 0.05
"""Where each client's rates in two roles lie as close as this, one follows the other."""

CLIENT_LINES_MAX = 16
"""So many clients are drawn in a panel; of more some from the slowest to the fastest."""

Of = Callable[[Fairness], float | None]

_CLIENTS: dict[str, str] = {
    "query": "Queries per second of each client",
    "insert": "Rows inserted per second by each client",
    "delete": "Rows deleted per second by each client",
    "other": "Operations per second of each client",
}

_FINISH: tuple[tuple[str, Of], ...] = (
    ("min_time", lambda fair: fair.min_s),
    ("max_time", lambda fair: fair.max_s),
    ("diff", lambda fair: fair.diff_s),
)
_RATES: tuple[tuple[str, Of], ...] = (
    ("slowest", lambda fair: min(fair.rates)),
    ("median", lambda fair: median(fair.rates)),
    ("fastest", lambda fair: max(fair.rates)),
)


def tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """The fairness of a step's clients; nothing for a single client that never stalled."""
    roles = told(step)
    if roles:
        yield _whole(step, roles, prefix)
    if any(stalls.stalled for facts in step.each(FairnessFacts) for stalls in facts.stalls):
        yield _stalls(step, prefix)


def of_headline(run: StepRun) -> Fairness | None:
    """The fairness among the clients that do what the step's headline counts."""
    kind = kind_of(run.facts.headline)
    found = [fair for fair in run.of(FairnessFacts).fairness if fair.kind == kind.times_of]
    others = [fair for fair in run.of(FairnessFacts).fairness if fair.kind == "other"]
    if kind.whole:  # of whatever kind of work
        others += run.of(FairnessFacts).fairness
    return next(iter([*found, *others]), None)


def told(step: StepComparison) -> dict[str, str]:
    """The roles of which there is something to say, and the unit of what each counts.

    That is the headline's; of others those whose clients were not served alike, and that did not
    merely follow another role, as deletes follow the inserts that they are tied to.
    """
    units = _units(step)
    first = next((fair.role for run in step.runs if (fair := of_headline(run))), None)
    shown: list[str] = []
    for role in sorted(units, key=lambda role: role != first):
        follows = any(_follows(step, role, other) for other in shown)
        if role == first or not (_even(step, role) or follows):
            shown.append(role)
    return {role: units[role] for role in shown}


def _units(step: StepComparison) -> dict[str, str]:
    return {fair.role: fair.unit for facts in step.each(FairnessFacts) for fair in facts.fairness}


def _of_role(runs: StepComparison | Cell, role: str) -> list[Fairness]:
    return [fair for facts in runs.each(FairnessFacts) if (fair := facts.of(role)) is not None]


def _even(step: StepComparison, role: str) -> bool:
    """Whether in every run the slowest client did nearly as much as the fastest."""
    every = [fair.rates for fair in _of_role(step, role)]
    return all(min(rates) >= EVEN_SHARE_MIN * max(rates) for rates in every)


def _follows(step: StepComparison, role: str, other: str) -> bool:
    """Whether in every run each client had the same rate in both roles."""
    pairs = (
        pair
        for facts in step.each(FairnessFacts)
        if (own := facts.of(role)) and (beside := facts.of(other))
        for pair in zip(own.rates, beside.rates, strict=False)
    )
    return all(abs(own - beside) <= SAME_SHARE_MAX * max(own, beside) for own, beside in pairs)


def _left_out(step: StepComparison, shown: dict[str, str]) -> str:
    """The roles outside the tables, in a sentence."""
    names = ", ".join(role for role in _units(step) if role not in shown)
    said = f"Not shown, because their clients ran alike or like those above: {names}. "
    return said if names else ""


# --- Each role as a whole --------------------------------------------------------------------


def _whole(step: StepComparison, roles: dict[str, str], prefix: str) -> Table:
    """The published columns, Jain's index, and the slowest, median and fastest client."""
    finish = _FINISH if _bound_by_work(step) else ()
    groups = {role: f"{role}, {unit}/s" for role, unit in roles.items()}
    rows = cells.rows(step, groups, lambda result, role: _whole_cells(result, role, finish))
    columns = Column.heads(
        "arm",
        *(Column(text=f"{name}, s", group="finish") for name, _ in finish),
        *((Column(text="pct", group="finish", title="diff / min_time · 100"),) if finish else ()),
        Column(text="Jain", title="(Σ rate)² / (clients · Σ rate²): 1 if all are equal"),
        *(Column(text=name, group="rate of a client") for name, _ in _RATES),
    )
    meaning = (
        "min_time, max_time: when the first and the last client finished; diff: their difference; "
        "pct: diff / min_time · 100. "
    )
    return Table(
        name=f"{prefix}-evenness",
        title="Fairness between clients",
        narrow="figures",
        columns=columns,
        rows=rows,
        note=f"{meaning if finish else ''}Jain: 1 if all clients are equally fast, 1/n if one "
        f"of n does all. {_left_out(step, roles)}{cells.blocks_note(step.blocks)}".strip(),
    )


def _bound_by_work(step: StepComparison) -> bool:
    """Whether clients end when their work is done; with a target rate that is when its time is."""
    paced = any(run.facts.sla_target is not None for run in step.runs)
    every = (fair for facts in step.each(FairnessFacts) for fair in facts.fairness)
    return not paced and any(fair.finish_s for fair in every)


def _whole_cells(result: Cell, role: str, finish: Sequence[tuple[str, Of]]) -> Iterable[TableCell]:
    found = _of_role(result, role)
    yield from (cells.over_blocks(map(of, found), seconds) for _, of in finish)
    if finish:
        yield cells.over_blocks((fair.pct for fair in found), percent)
    yield cells.over_blocks((fair.jain for fair in found), index)
    yield from (cells.over_blocks(map(of, found)) for _, of in _RATES)


def seconds(value: float | None) -> str:
    """A time in seconds, whole where it is long, as published."""
    size = abs(value or 0.0)
    return number.number(value, 0 if size >= 100 else 1 if size >= 10 else 2)


def percent(value: float | None) -> str:
    """The published pct, with one digit as there."""
    return number.number(value, 1)


def index(value: float | None) -> str:
    """Jain's index with three digits."""
    return number.number(value, 3)


# --- Stalls ----------------------------------------------------------------------------------


def _stalls(step: StepComparison, prefix: str) -> Table:
    """The seconds in which a role all but stood still, over all blocks."""
    roles = dict.fromkeys(
        stalls.role for run in step.runs for stalls in run.of(FairnessFacts).stalls
    )
    return Table(
        name=f"{prefix}-stalls",
        title="Stalls",
        narrow="figures",
        columns=Column.heads("arm", "median second, 1/s", "stalled seconds", "longest run, s"),
        rows=cells.rows(step, {role: role for role in roles}, _stall_cells),
        note="Whole seconds, all clients together, with under 10 % of the median second's rate; "
        "counted over all blocks. The median second: mean of the blocks.",
    )


def _stall_cells(result: Cell, role: str) -> Iterable[TableCell]:
    found = [
        (run.block, stall)
        for run in result.runs
        for stall in run.of(FairnessFacts).stalls
        if stall.role == role
    ]
    if not found:
        return [TableCell(text=number.MISSING)] * 3
    seconds = sum(one.seconds for _, one in found)
    stalled = sum(one.stalled for _, one in found)
    block, worst = max(found, key=lambda pair: pair[1].longest_s)
    several = len(result.runs) > 1 and worst.longest_s > 0
    return (
        TableCell(text=number.number(taken(one.median for _, one in found))),
        TableCell(text=f"{stalled:,}", detail=f"of {seconds:,}", tone="notice" if stalled else ""),
        TableCell(text=str(worst.longest_s), detail=f"block {block}" if several else ""),
    )


# --- Over the steps --------------------------------------------------------------------------


def summary(steps: Sequence[StepComparison], prefix: str) -> Table | None:
    """pct and Jain's index of every step by arm; None where no step has several clients."""
    shown = [step for step in steps if any(of_headline(run) is not None for run in step.runs)]
    if not shown:
        return None
    arms = [result.arm for result in shown[0].cells]
    parts: tuple[tuple[str, Of, Callable[[float | None], str]], ...] = (
        ("pct", lambda fair: fair.pct, percent),
        ("Jain's index", lambda fair: fair.jain, index),
    )
    rows = tuple(
        Row.of(
            arm,
            *(
                _summary_cell(step.cells[place], of, words)
                if group != "pct" or _bound_by_work(step)
                else TableCell(text="")
                for step in shown
            ),
            group=group,
            arm=arm,
        )
        for group, of, words in parts
        for place, arm in enumerate(arms)
    )
    return Table(
        name=f"{prefix}-fairness",
        title="Fairness between clients",
        columns=Column.heads("arm", *(step.step for step in shown)),
        rows=rows,
        note="For the clients whose work the step's throughput counts. pct, as published: how much "
        "later the last client ended than the first, in percent of the first one's time; steps "
        "whose target rate sets their length have none. Jain's index of the clients' rates: 1 if "
        "all are equally fast, 1/n if one of n does all. "
        + cells.blocks_note(max(step.blocks for step in shown)),
    )


def _summary_cell(result: Cell, of: Of, words: Callable[[float | None], str]) -> TableCell:
    every = filter(None, map(of_headline, result.runs))
    values = [value for fair in every if (value := of(fair)) is not None]
    return cells.over_blocks(values, words) if values else TableCell(text="")


# --- Each client, over time -----------------------------------------------------------------------


def charts(step: StepComparison, prefix: str) -> Iterable[Chart]:
    """A chart with a line for each client, for kinds of whose clients there is something to say."""
    roles = told(step)
    kinds = {
        fair.kind
        for run in over_time.drawn(step)
        for fair in run.of(FairnessFacts).fairness
        if fair.role in roles
    }
    for kind, title in _CLIENTS.items():
        runs = over_time.drawn(step) if kind in kinds else ()
        lines = tuple(line for run in runs for line in client_lines(run, kind))
        if lines:
            data = Lines(logarithmic=False, scale=1.0, lines=lines)
            yield over_time.chart(step, f"{prefix}-{kind}-clients", title, data)


def client_lines(run: StepRun, kind: str) -> Iterable[Line]:
    """A run's clients by number; of very many as many as fit, evenly from slow to fast."""
    start, end = f"{kind}.client.", ".rate"
    rates = {
        int(name.removeprefix(start).removesuffix(end)): series
        for name, series in run.series.items()
        if name.startswith(start) and name.endswith(end) and series.x_s
    }
    by_rate = sorted(rates, key=lambda client: sum(rates[client].y))
    last = len(by_rate) - 1
    if len(by_rate) > CLIENT_LINES_MAX:
        places = {round(turn * last / (CLIENT_LINES_MAX - 1)) for turn in range(CLIENT_LINES_MAX)}
        by_rate = [by_rate[place] for place in sorted(places)]
    for client in sorted(by_rate):
        yield over_time.line(run, rates[client], f"client {client}")


def _parts(subject: Subject) -> Iterable[Group]:
    step, name = subject.step, f"{subject.anchor}-fairness"
    shown = list(tables(step, subject.anchor))
    if shown:
        more = (replace(table, depth="detail") for table in shown[1:])
        pair = Group(name="", parts=(shown[0], *more), entry="", pair=True)
        yield Group(name=name, parts=(pair,), entry="fairness")
    clients = tuple(charts(step, subject.anchor))
    if clients:
        yield Group(
            name=f"{subject.anchor}-clients",
            title="Each client per second",
            parts=clients,
            note="One line per client, in the colour of its arm.",
            entry="",
            look="graphs",
            joins=name,
        )


SECTION = Section("step", _parts)
