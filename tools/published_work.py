"""Sets counts of work beside published changes of 3 % and more: which of them lie in instructions?

python tools/published_work.py RESULT --study 2025-09-small
python tools/published_work.py RESULT --study 2025-09-small --write docs/studies/PAGE.md
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import marked_page
from dbdyno.findings.work import show as section
from dbdyno.model.compiler import flags_of
from dbdyno.model.error import DynoError, ResultError
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.work import WorkChange
from published_data import Key, Said, Study, major_of, read
from versions_page import opened

STUDIES = Path(__file__).parent.parent / "docs" / "published"
SYNCHRONOUS = " x10b"
"""How studies name 18 where it reads as 17 does."""
MOST_OF_IT = 0.5
"""A change lies in instructions that move against the throughput by this share of it, in logs."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A published change of a step, and the counts of the same two major versions."""

    published: Said
    change: WorkChange

    @property
    def answer(self) -> str:
        """Whether the published change lies in instructions, in words."""
        if self.change.ratio is None:
            return f"failed: {self.change.reason}"
        against = -math.log(self.change.ratio.value)
        if self.change.word == "same":
            return "no: the same work"
        if ("down" in self.published.directions) != (against < 0):
            return "no: the other way"
        if self.published.value is None:
            return "yes"
        share = against / math.log(self.published.value)
        return "yes" if share >= MOST_OF_IT else f"{100 * share:.0f} % of it"


def main() -> int:
    """Prints the tables, or writes them into a page; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--study", required=True, help="a file of docs/published, without .toml")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put them between its marks")
    options = parser.parse_args()
    try:
        study = next((of for of in read(STUDIES) if of.name == options.study), None)
        if study is None:
            raise ResultError(f"there is no docs/published/{options.study}.toml")
        lines = list(tables(options.result, study))
    except DynoError as error:
        print(f"published_work: {error}", file=sys.stderr)
        return 1
    if options.write is None:
        print("\n".join(lines))
    else:
        marked_page.write(options.write, "tools/published_work.py", lines)
    return 0


def tables(folder: Path, study: Study) -> Iterator[str]:
    """A table for each two versions that the study compares and the result has."""
    versions = opened(study.title, folder)
    servers = {major_of(server.version or ""): arm for arm, server in versions.servers.items()}
    yield f"Counted: {', '.join(map(build, versions.servers.values()))}."
    for base, arm in compared(study):
        ours = [servers.get(major_of(side.removesuffix(SYNCHRONOUS))) for side in (base, arm)]
        if ours[0] is None or ours[1] is None:
            continue
        changes = {
            change.step: change
            for change in versions.beside(ours[0]).changes
            if change.arm == ours[1]
        }
        rows = list(rows_of(study, base, arm, changes))
        yield ""
        plural = "" if len(rows) == 1 else "s"
        yield f"**{base} to {arm}**: {len(rows)} published change{plural} of 3 % and more"
        yield ""
        if rows:
            yield from table(rows)


def build(server: ServerFacts) -> str:
    """PostgreSQL 17.0 (`-O2 -fno-omit-frame-pointer`)."""
    flags = flags_of(server)
    return f"{server.version} ({f'`{flags}`' if flags else 'flags not said'})"


def compared(study: Study) -> list[tuple[str, str]]:
    """Each two versions that a study compares."""
    return list(dict.fromkeys(pair for group in study.groups for pair in group.compared))


def rows_of(study: Study, base: str, arm: str, changes: Mapping[str, WorkChange]) -> Iterator[Row]:
    """The steps that were counted and whose published throughput changed."""
    for step, change in changes.items():
        published = study.said(Key(None, step, None), base, arm)
        if published is not None and "flat" not in published.directions:
            yield Row(published=published, change=change)


def table(rows: list[Row]) -> Iterator[str]:
    """Published ratio, instructions, atomic instructions, the answer, and functions."""
    yield "| step | published | instructions | atomic | in instructions? | functions |"
    yield "|---|--:|--:|--:|---|---|"
    for row in rows:
        change = row.change
        before, after = change.of_base, change.of_arm
        atomics = 0.0 if before is None or after is None else after.atomics - before.atomics
        yield (
            f"| {change.step} | {row.published.text} | "
            f"{section.percent(1 + change.instructions_change)} | "
            f"{atomics:+,.1f} | {row.answer} | "
            f"{', '.join(f'`{function}`' for function in section.functions(change))} |"
        ).replace("| -", "| −")


if __name__ == "__main__":
    sys.exit(main())
