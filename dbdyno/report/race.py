"""A race's verdict in five lines of at most 80 columns; a longer one goes on below."""

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdyno.findings.answer.show import cells_of, counted, size
from dbdyno.findings.application import own_query as own_query
from dbdyno.findings.application import show as application
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.findings.work import show as work
from dbdyno.model import Cell, Comparison, StepComparison
from dbdyno.model.compiler import flags_of, for_size
from dbdyno.model.open_steps import is_open, open_steps
from dbdyno.model.work import WorkComparison
from dbdyno.parts import known, number, tolerate
from dbdyno.report import fail_on

COLUMNS = 80


def lines(comparison: Comparison, report: Path) -> list[str]:
    """Five lines: what is decided, the figures of two more, the builds, where the report is.

    Before them one with the answer, where a tolerance is asked for, and what is said of an
    application; one with the counts, where work was counted.
    """
    if comparison.applications and not any(step.headline for step in comparison.steps):
        return [*of_applications(comparison), of_report(report)]
    safe = tolerate.line(comparison)
    return [
        *([safe] if safe else []),
        *of_applications(comparison),
        *(part for line in told(comparison) for part in wrapped(line)),
        *(wrapped(of_work(counts)) if (counts := comparison.of(WorkComparison)).repeats else []),
        of_builds(comparison),
        of_report(report),
    ]


def wrapped(line: str) -> list[str]:
    """A line in pieces of at most COLUMNS."""
    return textwrap.wrap(line, COLUMNS, subsequent_indent="  ") or [""]


def of_applications(comparison: Comparison) -> Iterator[str]:
    """What is said of an application on each arm, in lines; none where there is none."""
    for result in comparison.applications:
        answer = application.ApplicationAnswer(comparison, result)
        yield from textwrap.wrap(answer.sentence, COLUMNS)
        for each in (*answer.lists(), *answer.sums()):
            yield from textwrap.wrap(own_query.line(each), COLUMNS)
            for item in each.items:
                words = textwrap.wrap(own_query.line(item), COLUMNS - 4)
                yield from (
                    f"{'    ' if place else '  '}{line}" for place, line in enumerate(words)
                )


def told(comparison: Comparison) -> tuple[str, str, str]:
    """The first three: with several challengers a line for each of the first two."""
    base, blocks = comparison.base, number.blocks(comparison.blocks)
    if comparison.blocks == 0:
        return f"no block is complete: nothing is known of {base}'s challengers", "", ""
    challengers = comparison.arms[1:]
    if len(challengers) > 1:
        on = known.on_one_fill(comparison)
        first = f"against {base}{on}, after {blocks}, {ending(comparison)}"
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
    on = known.on_one_fill(comparison) if decided else ""
    second = joined(f"decided{on}: ", [with_word(comparison, *one) for one in decided])
    takes = known.to_check(
        judgement
        for _, cell in still
        if cell.verdict is not None
        for judgement in known.undecided(cell.verdict)
    )
    bounds = [with_bound(comparison, *one) for one in still]
    third = joined("open: ", bounds, after=f"; {takes}" if takes else "")
    return first, second, third


def of_work(counts: WorkComparison) -> str:
    """The work of operations, the largest change first: counted: point-query more work +3.2 %."""
    changes = sorted(counts.changes, key=lambda change: -abs(change.instructions_change))
    several = len(counts.arms) > 2
    return joined(
        "counted: ",
        [
            (f"{change.arm} " if several else "") + f"{change.step} {work.brief(change)}"
            for change in changes
        ],
    )


def of_arm(comparison: Comparison, arm: str) -> str:
    """An arm among several: its words counted, and its largest changes, decided ones if any."""
    its = cells_of(comparison, arm)
    decided = [one for one in its if not is_open(one[1])]
    shown = sorted(decided or its, key=lambda one: size(one[1]), reverse=True)
    return joined(f"{arm}: {counted(its)}; ", [figures(comparison, *one) for one in shown])


def with_word(comparison: Comparison, step: StepComparison, cell: Cell) -> str:
    """hot-points faster +98 % [+91, +105]."""
    assert cell.verdict is not None
    name, _, change = figures(comparison, step, cell).partition(" ")
    return f"{name} {cell.verdict.word}: {change}".removesuffix(": ")


def with_bound(comparison: Comparison, step: StepComparison, cell: Cell) -> str:
    """hot-points no loss beyond 2.1 %; hot-points blocks drift; else its figures."""
    assert cell.verdict is not None
    drifts = cell.verdict.reason == "blocks drift"
    bound = cell.verdict.reason if drifts else known.bound(cell.verdict, cell.ratio_bound)
    if not bound:
        return figures(comparison, step, cell)
    return f"{comparison.name_of(step).replace(' ', '/')} {bound}"


def figures(comparison: Comparison, step: StepComparison, cell: Cell) -> str:
    """hot-points +98 % [+91, +105], by the metric that decides; CPU is named."""
    assert cell.verdict is not None
    by = [judgement for judgement in cell.verdict.judgements if judgement.metric in cell.verdict.by]
    one = next(iter(by or cell.verdict.judgements), None)
    name = comparison.name_of(step).replace(" ", "/")
    if one is None:
        return f"{name} {cell.verdict.outcome}".rstrip()
    return f"{name} {verdicts.figures(one, cell.ratio_bound)}"


def joined(before: str, parts: Sequence[str], none: str = "none", after: str = "") -> str:
    """As many parts as the line has room for; the others are counted. `after` ends the line."""
    line, most = before + (parts[0] if parts else none), COLUMNS - len(after)
    for number_of, part in enumerate(parts[1:], 1):
        rest = len(parts) - number_of
        longer = f"{line}; {part}"
        if len(longer) > most - (len(f" +{rest - 1} more") if rest > 1 else 0):
            more = f" +{rest} more"
            return f"{line}{more if len(line + more) <= most else ''}{after}"
        line = longer
    return f"{line}{after}"


def ending(comparison: Comparison) -> str:
    """The reason for the end of the race."""
    if fail_on.uncompared(comparison) is not None:
        return "nothing compared"
    if open_steps(comparison.steps):
        return "time is up"
    return "answered" if comparison.tolerances else "all decided"


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
    """The report's path."""
    return f"report: {report}"
