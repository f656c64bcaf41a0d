"""Sets a result beside what was published: step by step, with a verdict on each direction.

    python tools/published.py RESULT --write docs/studies/sysbench-2025-09.md

writes the tables anew between the two marks of the page; without --write it prints them. The
studies lie in docs/published/*.toml (tools/published_data.py reads them). A result of one of
their plans is set beside the post that the plan repeats. --study NAME chooses another post (its
plan's name, or a file's), and --as ARM=PUBLISHED says what an arm of the result stands for. Without
--study, a result of any other plan is set beside all studies that have the major versions of its
base and of --arm. How a direction is decided stands in tools/published_pairs.py; docs/published.md
says the same in words (a test compares).
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any, get_args

from dbdyno.analysis import compare
from dbdyno.model import Cell, Comparison, Ratio, ToldFacts, WorkloadUse
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.doubt import DoubtSubject
from dbdyno.model.error import DynoError, ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.metric.over import taken
from dbdyno.model.metric.primary import cpu_of
from dbdyno.model.metric.state import StateFacts
from dbdyno.model.plan_record import ArmRecord, WorkloadRecord
from dbdyno.model.server_facts import ServerFacts
from dbdyno.parts import cells, number
from published_data import SIGNS, Key, Said, Study, Table, read
from published_pairs import (
    Pair,
    Row,
    Verdict,
    by_step,
    by_version,
    names,
    ours,
    rows,
    version_of,
    wanted,
)

STUDIES = Path(__file__).parent.parent / "docs" / "published"
BEGIN = "<!-- made by tools/published.py: begin -->"
END = "<!-- made by tools/published.py: end -->"
VISIBLE = "all_visible_share"
FOUND = "found_share"


# --- The page's part -------------------------------------------------------------------------


def document(pairs: Sequence[Pair], whole: Comparison, studies: Sequence[Study] = ()) -> str:
    """What stands between the marks: what was measured, a table for each group, counts.

    `whole` is the comparison with the plan's base; of `studies` come the tables that divide steps
    by steps, or no figure by another.
    """
    parts = [_measured(pairs, whole)]
    for pair in pairs:
        if len(pairs) > 1:
            parts.append(f"### `{pair.arm}` against `{pair.comparison.base}`")
        for title, its in rows(pair).items():
            heading = "####" if len(pairs) > 1 else "###"
            parts.append(f"{heading} {_capital(title)}\n\n{_table(pair, its)}")
        conditions = _conditions(pair, [row.key for its in rows(pair).values() for row in its])
        if conditions:
            heading = "####" if len(pairs) > 1 else "###"
            parts.append(f"{heading} What the steps met\n\n{conditions}")
    for study in studies:
        for group in study.groups:
            if group.by is not None or group.values:
                made = _steps_table if group.by is not None else _values_table
                parts.append(f"### {_capital(group.title)}\n\n{made(whole, study, group)}")
    parts.append(f"### Counts\n\n{_counts(pairs, whole, studies)}")
    return "\n\n".join(parts)


def _capital(title: str) -> str:
    return title[0].upper() + title[1:]


def _measured(pairs: Sequence[Pair], whole: Comparison) -> str:
    blocks = f"{whole.blocks} block{'' if whole.blocks == 1 else 's'}"
    turns = whole.plan.schedule.interleave
    if len(pairs) == 1:
        one, base = pairs[0], pairs[0].comparison.base
        builds = [f"{_build(one.comparison, one.arm)} against {_build(one.comparison, base)}"]
    else:
        builds = [_build(whole, arm) for arm in whole.arms]
    lines = [
        *(f"- {text}" for text in builds),
        f"- {blocks}, interleaved by {turns}{_begun(whole.generator)}",
        *(f"- {workload_words(use)}" for use in whole.plan.workloads),
        f"- {_machine(whole.host)}",
    ]
    if whole.incomplete:
        lines.append(f"- not complete: {whole.incomplete}")
    if void := sum(
        len(group.items) for group in whole.doubts if group.subject is DoubtSubject.VOID
    ):
        lines.append(f"- void blocks, not judged: {void}")
    return "\n".join(_wrapped(line) for line in lines)


def _wrapped(item: str) -> str:
    """A list's item within the columns of a page's prose."""
    return fill(item, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


PRODUCTS = {"postgres": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}


def _build(comparison: Comparison, arm: str) -> str:
    server = comparison.servers.get(arm, ServerFacts())
    planned = comparison.plan.arm(arm) or ArmRecord(name=arm)
    details = [f"`{arm}`"]
    details += [f"configuration {planned.config}"] if planned.config else []
    details += [f"sized for {planned.memory}"] if planned.memory else []
    details += [server.compiler] if server.compiler else []
    engine = planned.engine
    version = version_of(comparison, arm) or "of unknown version"
    return f"{PRODUCTS.get(engine, engine)} {version} ({', '.join(details)})"


def _begun(generator: Ceiling | None) -> str:
    """The day on which the load generator's ceiling was measured, before the first block."""
    if generator is None or not generator.unix_ns:
        return ""
    return f", begun {datetime.fromtimestamp(generator.unix_ns / 1e9, UTC):%Y-%m-%d}"


def workload_words(use: WorkloadUse | WorkloadRecord) -> str:
    """A workload with what its plan gives it."""
    keys = ("set", "preset", "fill")
    chosen = [f"{key} {getattr(use, key)}" for key in keys if getattr(use, key)]
    given = [f"{name} = {value}" for name, value in use.parameters.items()]
    return ", ".join([f"workload `{use.name}`", *chosen, *given])


def _machine(host: HostFacts) -> str:
    parts = [host.cpu.model or "a processor of unknown model"]
    parts += [f"{host.cpu.cores} cores"] if host.cpu.cores else []
    parts += [number.size_bytes(host.memory_bytes)] if host.memory_bytes else []
    parts += [f"a virtual machine ({host.virtual})"] if host.virtual else []
    return ", ".join(parts)


def _table(of: Pair, its: Sequence[Row]) -> str:
    heads = [f"{study.label}: {arm} ÷ {base}" for study, base, arm in of.studies]
    own = [version_of(of.comparison, arm) for arm in (of.arm, of.comparison.base)]
    same = own[0] == own[1]  # then the arms' names tell them apart
    here = f"here: {of.arm} ÷ {of.comparison.base}" if same else f"here: {own[0]} ÷ {own[1]}"
    columns = ["step", *heads, here, "finding", "CPU per operation", "verdict"]
    lines = [_line(columns), _line(["---", *["---:"] * (len(heads) + 1), "---", "---:", "---"])]
    for row in its:
        published = [_said(one) for one in row.published]
        found = row.finding if row.cell is not None else "–"
        cpu = _cpu(row.cell) if row.key.metric is None else "–"
        lines.append(_line([_name(row.key), *published, _here(row), found, cpu, row.verdict]))
    return "\n".join(lines)


def _steps_table(whole: Comparison, study: Study, group: Table) -> str:
    """Each step by one of the same arm."""
    heads = [f"{study.label}: {arm}" for arm in group.arms]
    columns = ["step", "by", *heads, "arm", "here", "finding", "verdict"]
    lines = [
        _line(columns),
        _line(["---", "---", *["---:"] * len(heads), "---", "---:", *["---"] * 2]),
    ]
    for arm, row in by_step(whole, group):
        published = [_said(one) for one in row.published]
        found = row.finding if row.cell is not None else "–"
        here = [f"`{arm}`", _here(row), found, row.verdict]
        lines.append(_line([_name(row.key), str(group.by), *published, *here]))
    return "\n".join(lines)


def _values_table(whole: Comparison, study: Study, group: Table) -> str:
    """Figures side by side, without a verdict."""
    heads = [*(f"{study.label}: {arm}" for arm in group.arms), *(f"`{arm}`" for arm in whole.arms)]
    lines = [_line(["step", *heads]), _line(["---", *["---:"] * len(heads)])]
    for key, figures in group.figures.items():
        shown = [figure if isinstance(figure, str) else _value(figure) for figure in figures]
        mine = [_value(_own(ours(whole, key, arm), key)) for arm in whole.arms]
        lines.append(_line([_name(key), *shown, *mine]))
    return "\n".join(lines)


def _own(cell: Cell | None, key: Key) -> float | None:
    """A cell's figure of a metric; of one that the workload's steps tell, the median of blocks."""
    if cell is None or key.metric is None:
        return None if cell is None else cell.value
    told = (facts.numbers.get(key.metric) for facts in cell.each(ToldFacts))
    known = [value for value in told if value is not None]
    return median(known) if known else cell.metrics.get(key.metric)


def _value(value: float | tuple[float, float] | None) -> str:
    if isinstance(value, tuple):
        return "–".join(_value(one) for one in value)
    if value is None:
        return "–"
    return number.number(value, 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2)


def _name(key: Key) -> str:
    step = f"{key.workload}: {key.step}" if key.workload else key.step
    return step if key.metric is None else f"{step}, `{key.metric}`"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _said(said: Said | None) -> str:
    return "–" if said is None else said.text


def _here(row: Row) -> str:
    if row.cell is None:
        return "not run"
    if row.ratio is None:
        failed = [run for run in row.cell.runs if run.ending.status != "ok"]
        return "failed" if failed else "no figure"
    return cells.signed(_ratio(row.ratio), row.bound)


def _cpu(cell: Cell | None) -> str:
    ratio = cell.estimates.get(cpu_of([cell])) if cell is not None else None
    if ratio is None or ratio.low is None or ratio.high is None:
        return "–" if ratio is None else _ratio(ratio)
    sign = SIGNS[("up",)] if ratio.low > 1 else SIGNS[("down",)] if ratio.high < 1 else ""
    return f"{_ratio(ratio)}{sign}"


def _ratio(ratio: Ratio) -> str:
    interval = number.interval(ratio.low, ratio.high)
    return f"{number.ratio(ratio.value)}{f' ({interval})' if interval else ''}"


def _conditions(of: Pair, keys: Sequence[Key]) -> str:
    """Pages that index-only scans need not fetch, deletes that found a row; "" where unknown."""
    lines = []
    base = of.comparison.base
    for key in keys:
        cells = [ours(of.comparison, key, arm) for arm in (base, of.arm)]
        visible = [_before(cell, VISIBLE) if "-covered" in key.step else None for cell in cells]
        found = [
            cell.metrics.get(FOUND) if cell and key.step == "delete" else None for cell in cells
        ]
        for what, shares in (("pages all visible, %", visible), ("deletes found a row, %", found)):
            if any(share is not None for share in shares):
                shown = (number.number(share, 1) for share in shares)
                lines.append(_line([key.step, what, *shown]))
    head = _line(["step", "what", f"`{base}`", f"`{of.arm}`"])
    own = dict.fromkeys(lines)  # a step has a key for each of its published figures
    return "\n".join([head, _line(["---", "---", "---:", "---:"]), *own]) if lines else ""


def _before(cell: Cell | None, state: str) -> float | None:
    """A state before the step, the mean of the runs that have it."""
    runs = cell.runs if cell is not None else ()
    return taken(run.of(StateFacts).at("before").get(state) for run in runs)


def _counts(pairs: Sequence[Pair], whole: Comparison, studies: Sequence[Study]) -> str:
    verdicts: tuple[Verdict, ...] = get_args(Verdict)
    lines = [_line(["study", *verdicts, "no figure"]), _line(["---", *["---:"] * 4])]
    for link, counts in _counted(pairs, whole, studies):
        lines.append(_line([link, *(str(counts[one]) for one in (*verdicts, None))]))
    return "\n".join(lines)


def _counted(
    pairs: Sequence[Pair], whole: Comparison, studies: Sequence[Study]
) -> Iterator[tuple[str, Counter[Verdict | None]]]:
    """Each study's link and how often it agrees, by pair, then by table of steps."""
    for pair in pairs:
        groups = rows(pair).values()
        for place, (study, base, arm) in enumerate(pair.studies):
            again = f", {base} as measured earlier" if base in study.reused else ""
            link = f"[{study.label}]({study.url}): {arm} ÷ {base}{again}"
            every = (row for its in groups for row in its)
            yield (
                link,
                Counter(row.verdicts[place] for row in every if _there(row, study, base, arm)),
            )
    for study in studies:
        for group in study.groups:
            if group.by is not None:
                link = f"[{study.label}]({study.url}): {group.title}"
                yield (
                    link,
                    Counter(
                        verdict for _, row in by_step(whole, group) for verdict in row.verdicts
                    ),
                )


def _there(row: Row, study: Study, base: str, arm: str) -> bool:
    """Whether the study has such a step of both arms at all."""
    return study.said(row.key, base, arm) is not None


# --- The command -----------------------------------------------------------------------------


def placed(page: str, part: str) -> str:
    """The page with `part` between its marks. Raises ResultError where a mark is missing."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ResultError(f"the page has no marks; put these two lines into it: {BEGIN} {END}")
    return f"{head}{begin}\n\n{part}\n\n{end}{tail}"


def chosen(studies: Sequence[Study], plan: str, asked: str | None) -> list[Study]:
    """The studies of a post: as asked for, or that the plan repeats. Raises ResultError."""
    name = asked or plan
    found = [study for study in studies if name in (study.plan, study.name)]
    if asked is not None and not found:
        known = sorted({study.plan or study.name for study in studies})
        raise ResultError(f"there is no study `{asked}`; there is {names(known)}")
    return found


def part(asked: Any) -> str:
    """The text of what the command's line asks for. Raises DynoError."""
    whole = compare.load(asked.result, base=asked.base)
    if whole.plan.schedule.placement != "free":
        raise ResultError(
            f'{asked.result}: measured with placement = "{whole.plan.schedule.placement}", and '
            "published figures are of clients and servers placed freely"
        )
    every = read(STUDIES)
    studies = chosen(every, whole.plan.name, asked.study)
    if not studies:
        return document([by_version(whole, asked.arm, every)], whole)
    given = dict(_given(asked.stands_for or [], whole))
    pairs = {
        (base, arm): its
        for (base, arm), its in wanted(whole, studies, given).items()
        if asked.base in (None, base) and asked.arm in (None, arm)
    }
    bases = {base: compare.load(asked.result, base=base) for base, _ in pairs}
    made = [
        Pair(comparison=bases[base], arm=arm, studies=its) for (base, arm), its in pairs.items()
    ]
    steps = [study for study in studies for group in study.groups if group.by or group.values]
    if not made and not steps:
        there = names(tuple(dict.fromkeys(arm for study in studies for arm in study.arms)))
        raise ResultError(
            f"no two arms of {names(whole.arms)} stand for two of the study; say which by"
            f" --as ARM=PUBLISHED, of {there}"
        )
    return document(made, whole, studies)


def _given(words: Iterable[str], whole: Comparison) -> Iterator[tuple[str, str]]:
    for word in words:
        arm, equals, published = word.partition("=")
        if not equals or arm not in whole.arms:
            raise ResultError(f"--as `{word}`: write ARM=PUBLISHED, ARM of {names(whole.arms)}")
        yield arm, published


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", type=Path, help="the result folder")
    parser.add_argument("--study", help="the post to set it beside; without it, the plan's")
    parser.add_argument(
        "--as",
        dest="stands_for",
        action="append",
        metavar="ARM=PUBLISHED",
        help="what an arm stands for in the study; may be repeated",
    )
    parser.add_argument("--base", help="the arm to divide by; without it, the study's or plan's")
    parser.add_argument("--arm", help="the other arm; without it, all, or the only other")
    parser.add_argument("--write", type=Path, help="the page with the marks; without it, print")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Writes or prints the page's part; 2 and one line where that cannot be."""
    asked: Any = _arguments(words)
    try:
        text = part(asked)
        if asked.write is None:
            print(text)
        else:
            page = asked.write.read_text(encoding="utf-8")
            asked.write.write_text(placed(page, text), encoding="utf-8")
    except (DynoError, OSError) as error:
        print(f"published: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
