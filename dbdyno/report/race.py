"""A race's verdict in five lines of at most 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dbdyno.model import Cell, Comparison, StepComparison
from dbdyno.model.compiler import flags_of, for_size
from dbdyno.model.metric.primary import called
from dbdyno.model.open_steps import is_open
from dbdyno.report import number
from dbdyno.report.section import verdicts
from dbdyno.report.section.headline import step_name

COLUMNS = 80


def lines(comparison: Comparison, report: Path) -> list[str]:
    """Five lines: what is decided, the figures of two more, the builds, where the report is."""
    return [
        *(line[:COLUMNS] for line in told(comparison)),
        of_builds(comparison),
        of_report(report),
    ]


def told(comparison: Comparison) -> tuple[str, str, str]:
    """The first three: with several challengers a line for each of the first two."""
    base, blocks = comparison.base, number.blocks(comparison.blocks)
    if comparison.blocks == 0:
        return f"no block is complete: nothing is known of {base}'s challengers", "", ""
    challengers = comparison.arms[1:]
    if len(challengers) > 1:
        first = f"against {base}, after {blocks}, {ending(comparison)}"
        more = [f"… and {len(challengers) - 2} more arms, in the report"]
        rows = [of_arm(comparison, arm) for arm in challengers]
        kept = rows if len(rows) == 2 else [joined("", rows[:1], f"; {more[0]}"), more[0]]
        return first, kept[0], kept[1]
    (arm,) = challengers
    its = cells_of(comparison, arm)
    decided = [one for one in its if not is_open(one[1])]
    still = [one for one in its if is_open(one[1])]
    first = f"{arm} against {base}: {counted(its)}; {blocks}, {ending(comparison)}"
    decided.sort(key=lambda one: size(one[1]), reverse=True)
    second = joined("decided: ", [with_word(comparison, *one) for one in decided])
    third = joined("open: ", [figures(comparison, *one) for one in still])
    return first, second, third


def cells_of(comparison: Comparison, arm: str) -> list[tuple[StepComparison, Cell]]:
    """The steps in which an arm is judged."""
    return [
        (step, cell)
        for step in comparison.steps
        for cell in step.cells[1:]
        if cell.arm == arm and cell.verdict is not None
    ]


def of_arm(comparison: Comparison, arm: str) -> str:
    """An arm among several: its words counted, and its largest changes, decided ones if any."""
    its = cells_of(comparison, arm)
    decided = [one for one in its if not is_open(one[1])]
    shown = sorted(decided or its, key=lambda one: size(one[1]), reverse=True)
    return joined(f"{arm}: {counted(its)}; ", [figures(comparison, *one) for one in shown])


def counted(its: Sequence[tuple[StepComparison, Cell]]) -> str:
    """2 faster, 1 same, 1 cannot tell."""
    words = Counter(cell.verdict.word for _, cell in its if cell.verdict is not None)
    order = [word for word in verdicts.ORDER if word in words]
    return ", ".join(f"{words[word]} {word}" for word in order) or "no step is judged"


def with_word(comparison: Comparison, step: StepComparison, cell: Cell) -> str:
    """hot-points faster +98 % [+91, +105]."""
    assert cell.verdict is not None
    name, _, change = figures(comparison, step, cell).partition(" ")
    return f"{name} {cell.verdict.word} {change}".rstrip()


def figures(comparison: Comparison, step: StepComparison, cell: Cell) -> str:
    """hot-points +98 % [+91, +105], by the metric that decides; CPU is named."""
    assert cell.verdict is not None
    by = [judgement for judgement in cell.verdict.judgements if judgement.metric in cell.verdict.by]
    one = next(iter(by or cell.verdict.judgements), None)
    name = step_name(comparison, step).replace(" ", "/")
    if one is None:
        return f"{name} {cell.verdict.outcome}".rstrip()
    what = "" if called(one.metric) == "throughput" else f"{called(one.metric)} "
    return f"{name} {what}{verdicts.change(one, cell.ratio_bound)}"


def size(cell: Cell) -> float:
    """The size of the change behind a cell's word, as a ratio of 1 or more."""
    verdict = cell.verdict
    judgements = () if verdict is None else verdict.judgements
    ratios = [
        judgement.told[0]
        for judgement in judgements
        if verdict is None or judgement.metric in verdict.by
    ]
    return max((max(ratio, 1 / ratio) for ratio in ratios if ratio > 0), default=1.0)


def joined(before: str, parts: Sequence[str], none: str = "none") -> str:
    """As many parts as the line has room for; the others are counted."""
    line = before + (parts[0] if parts else none)
    for number_of, part in enumerate(parts[1:], 1):
        rest = len(parts) - number_of
        longer = f"{line}; {part}"
        if len(longer) > COLUMNS - (len(f" +{rest - 1} more") if rest > 1 else 0):
            return f"{line[: COLUMNS - 9]} +{rest} more"
        line = longer
    return line


def ending(comparison: Comparison) -> str:
    """The reason for the end of the race."""
    steps = [cell for step in comparison.steps for cell in step.cells[1:]]
    return "time is up" if any(map(is_open, steps)) else "all decided"


def of_builds(comparison: Comparison) -> str:
    """The sides that are compiled for size, and the remedy."""
    flags = {arm: flags_of(server) for arm, server in comparison.servers.items()}
    small = [arm for arm in comparison.arms if for_size(flags.get(arm))]
    if not small:
        return "builds: none says that it is compiled for size (-Os)"
    names = " and ".join(small) if len(small) < 3 else f"{len(small)} sides"
    line = f"builds: {names}: -Os, for size not speed; for speed: '18;build=o2nofp'"
    return line if len(line) <= COLUMNS else f"builds: {len(small)} sides are -Os, not for speed"


def of_report(report: Path) -> str:
    """The report's path; of a long one the end."""
    line = f"report: {report}"
    return line if len(line) <= COLUMNS else f"report: …{str(report)[-(COLUMNS - 9) :]}"
