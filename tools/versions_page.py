"""Counts the work of twelve steps in many versions, and writes the tables of docs/versions.md.

python tools/versions_page.py                # runs what is missing, then writes
python tools/versions_page.py --results DIR  # where the results are, or will be
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import marked_page
from dbdyno.findings.work import plan as work
from dbdyno.findings.work import show as section
from dbdyno.model.compiler import flags_of
from dbdyno.model.error import DynoError
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.step import StepName
from dbdyno.model.work import Amounts, WorkChange, WorkComparison
from dbdyno.store import Results

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "versions.md"
PLANS = {
    "PostgreSQL": "versions-postgres",
    "MariaDB": "versions-mariadb",
    "MySQL": "versions-mysql",
}
CHANGE_LEAST = 0.01
"""A step that changes by less from a version to the next is not explained by functions."""
FIGURES: Mapping[str, Callable[[Amounts], str]] = {
    "Instructions of an operation": lambda amounts: f"{amounts.instructions:,.0f}",
    "Atomic instructions of an operation": lambda amounts: f"{amounts.atomics:,.1f}",
    "System calls of an operation": lambda amounts: f"{amounts.system_calls:,.1f}",
}


@dataclass(frozen=True, kw_only=True)
class Versions:
    """The counts of an engine's versions, the oldest first."""

    engine: str
    results: Results
    servers: Mapping[str, ServerFacts]  # by arm

    def beside(self, base: str) -> WorkComparison:
        """All versions beside one. Raises DynoError where nothing is counted."""
        comparison = work.load(self.results, base)
        if comparison is None:
            raise DynoError(f"{self.results.folder}: nothing is counted yet")
        return comparison

    def version(self, arm: str) -> str:
        """The version of an arm's server: 17.11."""
        return self.servers[arm].version or arm


def main() -> int:
    """Runs the plans, and writes the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="default: results")
    folder = parser.parse_args().results
    for plan in PLANS.values():
        command = ["dyno", "run", str(ROOT / "plans" / f"{plan}.toml"), "--out", str(folder)]
        if subprocess.run([*command, "--wait"], check=False).returncode:
            print(f"versions: {plan} did not end well: see above", file=sys.stderr)
            return 1
    pages = [page_of(opened(engine, folder / plan)) for engine, plan in PLANS.items()]
    marked_page.write(PAGE, "tools/versions_page.py", [line for page in pages for line in page])
    return 0


def opened(engine: str, folder: Path) -> Versions:
    """The counts of a plan, with the servers that were counted."""
    results = Results.open(folder)
    servers = {
        run.arm: server
        for block in work.repeats(results)
        for run in block.runs()
        if (server := run.server()) is not None
    }
    arms = [arm.name for arm in results.plan.arms if arm.name in servers]
    return Versions(engine=engine, results=results, servers={arm: servers[arm] for arm in arms})


def page_of(versions: Versions) -> Iterator[str]:
    """The tables of an engine's versions."""
    arms = list(versions.servers)
    comparison = versions.beside(arms[0])
    yield f"## {versions.engine}"
    yield ""
    yield from builds(versions)
    for title, figure in FIGURES.items():
        yield ""
        yield f"### {title}: {versions.engine}"
        yield ""
        yield from table(versions, comparison.changes, figure)
    yield ""
    yield f"### From version to version: {versions.engine}"
    for before, after in pairwise(arms):
        changes = [of for of in versions.beside(before).changes if of.arm == after]
        yield ""
        yield f"**{versions.version(before)} to {versions.version(after)}**: {summary(changes)}"
        yield ""
        yield from explained(changes)
    yield ""


def builds(versions: Versions) -> Iterator[str]:
    """The compiler and the flags of each build, as far as it says them."""
    yield "| build | compiler | flags |"
    yield "|---|---|---|"
    for server in versions.servers.values():
        flags = flags_of(server)
        told = f"`{flags}`" if flags else "not said"
        yield f"| {server.version} | {server.compiler or 'not said'} | {told} |"


def table(
    versions: Versions, changes: Iterable[WorkChange], figure: Callable[[Amounts], str]
) -> Iterator[str]:
    """A figure in each step, a column for each version."""
    arms = list(versions.servers)
    rows: dict[StepName, dict[str, str]] = {}
    for change in changes:
        row = rows.setdefault(change.name, {})
        for arm, amounts in ((arms[0], change.of_base), (change.arm, change.of_arm)):
            row[arm] = "failed" if amounts is None else figure(amounts)
    yield f"| step | {' | '.join(versions.version(arm) for arm in arms)} |"
    yield f"|---{'|--:' * len(arms)}|"
    for step, row in rows.items():
        yield f"| {step[1]} | {' | '.join(row.get(arm, '') for arm in arms)} |"


def summary(changes: Iterable[WorkChange]) -> str:
    """How many steps are more, less and the same work."""
    words = [change.word for change in changes]
    return ", ".join(
        f"{words.count(word)} {said}" for word, said in section.WORDS.items() if word in words
    )


def explained(changes: Iterable[WorkChange]) -> Iterator[str]:
    """The steps that changed by more than a percent, with functions, the largest first."""
    large = [change for change in changes if abs(change.instructions_change) > CHANGE_LEAST]
    if not large:
        return
    yield "| step | instructions | atomic | system calls | functions |"
    yield "|---|--:|--:|--:|---|"
    for change in sorted(large, key=lambda change: -abs(change.instructions_change)):
        assert change.of_base is not None
        assert change.of_arm is not None
        atomics = change.of_arm.atomics - change.of_base.atomics
        calls = change.of_arm.system_calls - change.of_base.system_calls
        yield (
            f"| {change.step} | {section.percent(1 + change.instructions_change)} | "
            f"{difference(atomics)} | {difference(calls)} | "
            f"{', '.join(f'`{function}`' for function in section.functions(change))} |"
        )


def difference(more: float) -> str:
    """+1.0; what rounds to nothing is 0."""
    return f"{more:+.1f}".replace("-", "−") if abs(more) >= 0.05 else "0"


if __name__ == "__main__":
    sys.exit(main())
