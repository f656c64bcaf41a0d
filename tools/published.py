"""Sets a measured comparison of two PostgreSQL versions beside what was published of them.

    python tools/published.py RESULT --base pg12 --arm pg18 --write docs/published.md

writes the tables anew between the two marks of the page; without --write it prints them. What was
published lies in docs/published/*.toml. How a direction is decided stands in `direction`, `finding`
and VERDICTS; the page says the same in words (a test compares).
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from dbdyno.analysis import compare
from dbdyno.model import Bound, Cell, Comparison, Json, Ratio, StepComparison
from dbdyno.model.error import DynoError, ResultError
from dbdyno.model.metric.primary import cpu_of
from dbdyno.report import cells, number

STUDIES = Path(__file__).parent.parent / "docs" / "published"
BEGIN = "<!-- made by tools/published.py: begin -->"
END = "<!-- made by tools/published.py: end -->"
MARGIN = 0.03
"""A ratio that is off 1 by less is flat; the published posts colour from the same 3 % on."""
PUBLISHED_DIGITS = 2  # of a published ratio
VISIBLE = "all_visible_share"
FOUND = "found_share"

Direction = Literal["down", "flat", "up"]
"""What a published ratio says."""
Finding = Literal["down beyond 3 %", "down", "within ±3 %", "up", "up beyond 3 %", "open"]
"""What our interval says; `open`: nothing."""
Verdict = Literal["agrees", "disagrees", "cannot tell"]

VERDICTS: Mapping[Finding, Mapping[Direction, Verdict]] = {
    "up beyond 3 %": {"up": "agrees", "flat": "disagrees", "down": "disagrees"},
    # more than 1, but by how much is open: a small rise would be flat among the published
    "up": {"up": "agrees", "flat": "cannot tell", "down": "disagrees"},
    "within ±3 %": {"up": "disagrees", "flat": "agrees", "down": "disagrees"},
    "down": {"up": "disagrees", "flat": "cannot tell", "down": "agrees"},
    "down beyond 3 %": {"up": "disagrees", "flat": "disagrees", "down": "agrees"},
    "open": {"up": "cannot tell", "flat": "cannot tell", "down": "cannot tell"},
}
SIGNS: Mapping[Direction, str] = {"down": " ▼", "flat": "", "up": " ▲"}


# --- What was published ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Study:
    """One published table: some versions, one machine. Figures of a step by version."""

    title: str
    url: str
    author: str
    date: str  # year and month
    label: str
    machine: str
    build: str
    clients: int
    tables: int
    rows: int  # in each table
    read_s: int | None  # what a step lasts; None: the source does not say
    write_s: int | None
    reused: tuple[str, ...]  # versions whose figures are those of an earlier study
    versions: tuple[str, ...]  # from old to new
    groups: Mapping[str, Mapping[str, tuple[float, ...]]]  # title -> step -> by version

    def newest(self, major: int) -> str | None:
        """Its newest version of a major version."""
        return next((one for one in reversed(self.versions) if major_of(one) == major), None)

    def ratio(self, step: str, base: str, version: str) -> float | None:
        """A step's throughput in `version` by that in `base`, rounded as the posts round it."""
        for steps in self.groups.values():
            if step in steps:
                by_version = dict(zip(self.versions, steps[step], strict=True))
                return round(by_version[version] / by_version[base], PUBLISHED_DIGITS)
        return None


_TABLES = {"figures", "base", "versions", "reused"}  # keys of a file that say how to read it


def read(folder: Path) -> tuple[Study, ...]:
    """All studies: fewest clients first, since ours has one, and the newest first among those."""
    studies = [_study(path) for path in sorted(folder.glob("*.toml"), reverse=True)]
    return tuple(sorted(studies, key=lambda study: study.clients))


def _study(path: Path) -> Study:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    facts = {key: value for key, value in content.items() if not isinstance(value, dict)}
    relative = facts["figures"] == "relative"
    versions = ([facts["base"]] if relative else []) + facts["versions"]
    first = (1.0,) if relative else ()
    return Study(
        **{"read_s": None, "write_s": None}
        | {key: value for key, value in facts.items() if key not in _TABLES},
        reused=tuple(facts.get("reused", ())),
        versions=tuple(versions),
        groups={
            title: {step: (*first, *values) for step, values in steps.items()}
            for title, steps in content.items()
            if isinstance(steps, dict)
        },
    )


def major_of(version: str) -> int:
    """12 of 12.22, 18 of 18rc1. Raises ResultError where there is none."""
    found = re.match(r"\d+", version)
    if found is None:
        raise ResultError(f"`{version}` is no version of PostgreSQL; compare arms that have one")
    return int(found[0])


# --- The rule --------------------------------------------------------------------------------


def direction(ratio: float) -> Direction:
    """Up or down from 3 % on, as the posts colour it; both ends of the margin count."""
    if round(ratio, PUBLISHED_DIGITS) <= round(1 - MARGIN, PUBLISHED_DIGITS):
        return "down"
    if round(ratio, PUBLISHED_DIGITS) >= round(1 + MARGIN, PUBLISHED_DIGITS):
        return "up"
    return "flat"


def finding(ratio: Ratio | None, limit: Bound = "exact") -> Finding:
    """What our interval says. Without an interval, nothing; nor against a generator's limit."""
    found = _finding(ratio)
    holds: Mapping[Bound, tuple[str, ...]] = {
        "exact": get_args(Finding),
        "at least": ("up", "up beyond 3 %"),
        "at most": ("down", "down beyond 3 %"),
        "unknown": (),
    }
    return found if found in holds[limit] else "open"


def _finding(ratio: Ratio | None) -> Finding:
    if ratio is None or ratio.low is None or ratio.high is None:
        return "open"
    low, high = ratio.low, ratio.high
    if low >= 1 + MARGIN:
        return "up beyond 3 %"
    if high <= 1 - MARGIN:
        return "down beyond 3 %"
    if low >= 1 - MARGIN and high <= 1 + MARGIN:
        return "within ±3 %"
    return "up" if low > 1 else "down" if high < 1 else "open"


def together(verdicts: Sequence[Verdict]) -> str:
    """One step against all studies, in words."""
    counts = Counter(verdicts)
    if len(counts) == 1:
        return verdicts[0]
    told = [f"{one} with {counts[one]}" for one in ("agrees", "disagrees") if counts[one]]
    return f"{', '.join(told)} of {len(verdicts)}" if told else "cannot tell"


# --- Ours beside it --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two arms of a comparison, and the studies that have both their major versions."""

    comparison: Comparison  # its base is the pair's
    arm: str
    studies: tuple[tuple[Study, str, str], ...]  # study, its base, its version

    def version(self, arm: str) -> str:
        """The version that an arm ran, as its server told it."""
        return str(self.comparison.servers[arm]["version"])


def pair(comparison: Comparison, arm: str | None, studies: Iterable[Study]) -> Pair:
    """Finds the other arm, both versions, and who published of them. Raises ResultError."""
    others = comparison.arms[1:]
    if arm is None and len(others) != 1:
        raise ResultError(f"name one arm with --arm; beside the base there is {_names(others)}")
    arm = arm or others[0]
    if arm not in others:
        raise ResultError(f"there is no arm `{arm}` beside the base; there is {_names(others)}")
    for one in (comparison.base, arm):
        if not comparison.servers.get(one, {}).get("version"):
            raise ResultError(f"nothing is known of the version that arm `{one}` ran")
    versions = [str(comparison.servers[one]["version"]) for one in (comparison.base, arm)]
    found = []
    for study in studies:
        base, version = (study.newest(major_of(one)) for one in versions)
        if base is not None and version is not None and base != version:
            found.append((study, base, version))
    if not found:
        raise ResultError(f"no study of docs/published has both {' and '.join(versions)}")
    return Pair(comparison=comparison, arm=arm, studies=tuple(found))


def _names(arms: Sequence[str]) -> str:
    return ", ".join(f"`{arm}`" for arm in arms) or "none"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One step: what each study says, what we say, and what follows."""

    step: str
    published: tuple[float | None, ...]  # by study
    cell: Cell | None  # ours; None: the run has no such step
    finding: Finding
    verdicts: tuple[Verdict | None, ...]  # by study; None: one of both has no figure

    @property
    def verdict(self) -> str:
        """Against all studies."""
        known = [one for one in self.verdicts if one is not None]
        return together(known) if known else "no figure"


def rows(of: Pair) -> Mapping[str, tuple[Row, ...]]:
    """All published steps by group, in the published order."""
    first = of.studies[0][0]
    return {title: tuple(_row(of, step) for step in steps) for title, steps in first.groups.items()}


def _row(of: Pair, step: str) -> Row:
    published = tuple(study.ratio(step, base, version) for study, base, version in of.studies)
    cell = _ours(of, step, of.arm)
    found = finding(cell.ratio, cell.ratio_bound) if cell is not None else "open"
    measured = cell is not None and cell.ratio is not None
    verdicts = tuple(
        VERDICTS[found][direction(ratio)] if ratio is not None and measured else None
        for ratio in published
    )
    return Row(step=step, published=published, cell=cell, finding=found, verdicts=verdicts)


def _ours(of: Pair, step: str, arm: str) -> Cell | None:
    """Our cell of an arm. Raises ResultError where several workloads have such a step."""
    found: list[StepComparison] = [one for one in of.comparison.steps if one.step == step]
    if len(found) > 1:
        names = ", ".join(one.workload for one in found)
        raise ResultError(f"step `{step}` is in several workloads of this result: {names}")
    return next((cell for one in found for cell in one.cells if cell.arm == arm), None)


# --- The page's part -------------------------------------------------------------------------


def document(of: Pair) -> str:
    """What stands between the marks: what was measured, a table for each group, counts."""
    groups = rows(of)
    every = [row for its in groups.values() for row in its]
    parts = [_measured(of)]
    for title, its in groups.items():
        parts.append(f"### {title[0].upper()}{title[1:]}\n\n{_table(of, its)}")
    conditions = _conditions(of, [row.step for row in every])
    if conditions:
        parts.append(f"### What the steps met\n\n{conditions}")
    parts.append(f"### Counts\n\n{_counts(of, every)}")
    return "\n\n".join(parts)


def _measured(of: Pair) -> str:
    comparison = of.comparison
    blocks = f"{comparison.blocks} block{'' if comparison.blocks == 1 else 's'}"
    turns = (comparison.plan.get("schedule") or {}).get("interleave", "run")
    lines = [
        f"- {_build(of, of.arm)} against {_build(of, comparison.base)}",
        f"- {blocks}, interleaved by {turns}{_begun(comparison.generator)}",
        *(f"- {text}" for text in _workloads(comparison.plan)),
        f"- {_machine(comparison.host)}",
    ]
    if comparison.incomplete:
        lines.append(f"- not complete: {comparison.incomplete}")
    if comparison.void_blocks:
        lines.append(f"- void blocks, not judged: {len(comparison.void_blocks)}")
    return "\n".join(lines)


def _build(of: Pair, arm: str) -> str:
    server = of.comparison.servers[arm]
    planned: Json = next(one for one in of.comparison.plan["arms"] if one["name"] == arm)
    details = [f"`{arm}`"]
    details += [f"configuration {planned['config']}"] if planned.get("config") else []
    details += [f"sized for {planned['memory']}"] if planned.get("memory") else []
    details += [str(server["compiler"])] if server.get("compiler") else []
    return f"PostgreSQL {of.version(arm)} ({', '.join(details)})"


def _begun(generator: Json | None) -> str:
    """The day on which the load generator's ceiling was measured, before the first block."""
    if generator is None or not generator.get("unix_ns"):
        return ""
    return f", begun {datetime.fromtimestamp(generator['unix_ns'] / 1e9, UTC):%Y-%m-%d}"


def _workloads(plan: Json) -> Iterator[str]:
    for use in plan.get("workloads") or []:
        chosen = [f"{key} {use[key]}" for key in ("set", "preset", "fill") if use.get(key)]
        given = [f"{name} = {value}" for name, value in (use.get("parameters") or {}).items()]
        yield ", ".join([f"workload `{use['name']}`", *chosen, *given])


def _machine(host: Json) -> str:
    cpu: Json = host.get("cpu") or {}
    parts = [str(cpu.get("model") or "a processor of unknown model")]
    parts += [f"{cpu['cores']} cores"] if cpu.get("cores") else []
    parts += [number.size_bytes(host["memory_bytes"])] if host.get("memory_bytes") else []
    parts += [f"a virtual machine ({host['virtual']})"] if host.get("virtual") else []
    return ", ".join(parts)


def _table(of: Pair, its: Sequence[Row]) -> str:
    heads = [f"{study.label}: {version} ÷ {base}" for study, base, version in of.studies]
    ours = f"here: {of.version(of.arm)} ÷ {of.version(of.comparison.base)}"
    columns = ["step", *heads, ours, "finding", "CPU per operation", "verdict"]
    lines = [_line(columns), _line(["---", *["---:"] * (len(heads) + 1), "---", "---:", "---"])]
    for row in its:
        published = ["–" if one is None else _published(one) for one in row.published]
        found = row.finding if row.cell is not None else "–"
        here, cpu = _here(row.cell), _cpu(row.cell)
        lines.append(_line([row.step, *published, here, found, cpu, row.verdict]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _published(ratio: float) -> str:
    return f"{number.ratio(ratio)}{SIGNS[direction(ratio)]}"


def _here(cell: Cell | None) -> str:
    if cell is None:
        return "not run"
    if cell.ratio is None:
        failed = [run for run in cell.runs if run.ending.status != "ok"]
        return "failed" if failed else "no figure"
    return cells.signed(_ratio(cell.ratio), cell.ratio_bound)


def _cpu(cell: Cell | None) -> str:
    ratio = cell.ratios.get(cpu_of([cell])) if cell is not None else None
    if ratio is None or ratio.low is None or ratio.high is None:
        return "–" if ratio is None else _ratio(ratio)
    sign = SIGNS["up"] if ratio.low > 1 else SIGNS["down"] if ratio.high < 1 else ""
    return f"{_ratio(ratio)}{sign}"


def _ratio(ratio: Ratio) -> str:
    interval = number.interval(ratio.low, ratio.high)
    return f"{number.ratio(ratio.value)}{f' ({interval})' if interval else ''}"


def _conditions(of: Pair, steps: Sequence[str]) -> str:
    """Pages that index-only scans need not fetch, deletes that found a row; "" where unknown."""
    lines = []
    for step in steps:
        cells = [_ours(of, step, arm) for arm in (of.comparison.base, of.arm)]
        visible = [_before(cell, VISIBLE) if "-covered" in step else None for cell in cells]
        found = [cell.metrics.get(FOUND) if cell and step == "delete" else None for cell in cells]
        for what, shares in (("pages all visible, %", visible), ("deletes found a row, %", found)):
            if any(share is not None for share in shares):
                lines.append(_line([step, what, *(number.number(share, 1) for share in shares)]))
    head = _line(["step", "what", f"`{of.comparison.base}`", f"`{of.arm}`"])
    return "\n".join([head, _line(["---", "---", "---:", "---:"]), *lines]) if lines else ""


def _before(cell: Cell | None, state: str) -> float | None:
    """A state before the step, the mean of the runs that have it."""
    known = [run.server.before.get(state) for run in cell.runs] if cell is not None else []
    shares = [share for share in known if share is not None]
    return sum(shares) / len(shares) if shares else None


def _counts(of: Pair, all_rows: Sequence[Row]) -> str:
    names: tuple[Verdict, ...] = get_args(Verdict)
    lines = [_line(["study", *names, "no figure"]), _line(["---", *["---:"] * 4])]
    for place, (study, base, version) in enumerate(of.studies):
        counts = Counter(row.verdicts[place] for row in all_rows)
        again = f", {base} as measured earlier" if base in study.reused else ""
        link = f"[{study.label}]({study.url}): {version} ÷ {base}{again}"
        lines.append(_line([link, *(str(counts[one]) for one in (*names, None))]))
    return "\n".join(lines)


# --- The command -----------------------------------------------------------------------------


def placed(page: str, part: str) -> str:
    """The page with `part` between its marks. Raises ResultError where a mark is missing."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ResultError(f"the page has no marks; put these two lines into it: {BEGIN} {END}")
    return f"{head}{begin}\n\n{part}\n\n{end}{tail}"


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", type=Path, help="the result folder")
    parser.add_argument("--base", help="the arm to divide by; without it, the plan's")
    parser.add_argument("--arm", help="the other arm; without it, the only other")
    parser.add_argument("--write", type=Path, help="the page with the marks; without it, print")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Writes or prints the page's part; 2 and one line where that cannot be."""
    asked: Any = _arguments(words)
    try:
        comparison = compare.load(asked.result, base=asked.base)
        part = document(pair(comparison, asked.arm, read(STUDIES)))
        if asked.write is None:
            print(part)
        else:
            page = asked.write.read_text(encoding="utf-8")
            asked.write.write_text(placed(page, part), encoding="utf-8")
    except (DynoError, OSError) as error:
        print(f"published: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
