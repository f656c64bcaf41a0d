"""Says in each study's page what its plan has: arms, steps, sizes, blocks, and what a run lacks.

    python tools/study_plans.py --write

writes the table anew between the two marks of each page in docs/studies that has a plan of its
name; without --write it prints all. A test holds the pages to it, so page and plan cannot part.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import published
import published_data
from dbdyno import plan, workload
from dbdyno.engine.preset import Capacity, parse, render
from dbdyno.model import Arm, Plan, WorkloadUse, version
from marked_page import marks
from published_data import Study

ROOT = Path(__file__).parent.parent
PLANS = ROOT / "dbdyno" / "plan" / "shipped" / "studies"
PAGES = ROOT / "docs" / "studies"
HOST = workload.host(cores=8, memory_bytes=32 << 30)
"""What sizes by ratios are shown for; none of the plans' own follow from it."""
CAPACITY = Capacity(cores=1, memory_bytes=1 << 30, free_disk_bytes=None)
"""Of a configuration whose name has a size, nothing follows from the host."""
SHOWN = ("shared_buffers", "max_wal_size", "innodb_buffer_pool_size", "innodb_redo_log_capacity")
COMMENTED = re.compile(r"^# \[arms\.\"?([\w.-]+)\"?\]", re.M)
MINUTES = re.compile(r"[Aa]bout (\d+) minutes")
RUN = re.compile(re.escape(published.BEGIN) + r"\n\n(?P<facts>(?:[- ].*\n)+)", re.M)
CONFIGURED = re.compile(r"\(`([\w.-]+)`(?:, configuration (\S+?))?(?:, sized for (\w+))?[,)]")


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """A plan of a study, its text and the posts that it repeats."""

    name: str
    text: str
    plan: Plan
    studies: tuple[Study, ...]

    @property
    def minutes(self) -> int | None:
        """How long it takes, by its first comment; None: the comment does not say."""
        said = MINUTES.search(re.sub(r"\n# ?", " ", self.text.split("\nseed")[0]))
        return int(said[1]) if said else None


def read(name: str, studies: Sequence[Study]) -> StudyPlan:
    """The shipped plan of this name."""
    path = PLANS / f"{name}.toml"
    own = tuple(study for study in studies if study.plan == name)
    return StudyPlan(name=name, text=path.read_text(), plan=plan.load(path), studies=own)


# --- The table -------------------------------------------------------------------------------


def table(of: StudyPlan, page: str) -> str:
    """What the plan has, in rows; `page` has the run that stands below."""
    rows = [("arms", arms(of)), *measured(of), *published_sizes(of)]
    if older := differences(of.plan, page):
        rows.append(("the run below is of an older plan", "; ".join(older)))
    lines = [f"| {left} | {right} |" for left, right in rows]
    return "\n".join(["| | the plan |", "|---|---|", *lines])


def arms(of: StudyPlan) -> str:
    """Each arm with its version and configuration; those that are comments behind them."""

    def described(arm: Arm) -> str:
        product = published.PRODUCTS[arm.engine]
        config = [f"`{arm.config}`"] if arm.config else []
        memory = [f"sized for {arm.memory}"] if arm.memory else []
        return f"`{arm.name}` ({', '.join([f'{product} {arm.version}', *config, *memory])})"

    shown = [arm for arm in of.plan.arms if arm.same_as is None]
    own = ", ".join(map(described, shown))
    commented = COMMENTED.findall(of.text)
    more = f"; as comments: {', '.join(f'`{name}`' for name in commented)}" if commented else ""
    return f"{len(shown)}: {own}{more}"


def measured(of: StudyPlan) -> Iterator[tuple[str, str]]:
    """The workload, its steps, the blocks and their time."""
    for use in of.plan.workloads:
        yield "workload", published.workload_words(use)
        steps = steps_of(of.plan, use)
        yield "steps", f"{len(steps)}: {', '.join(steps)}"
    schedule = of.plan.schedule
    turns = {"run": "one server after the other", "turn": "in turns within a step"}
    yield "blocks", f"{schedule.blocks}, {turns[schedule.interleave]}"
    if of.minutes is not None:
        yield "takes", f"about {of.minutes} minutes"


def steps_of(made: Plan, use: WorkloadUse) -> list[str]:
    """The names of all steps that some arm takes, in their order."""
    loaded = workload.load(use.name, set=use.set, fill=use.fill, preset=use.preset)
    given: dict[str, Any] = {**HOST, **use.parameters}
    expanded = [
        workload.expand(loaded, given, engine, steps=use.steps or None)
        for engine in dict.fromkeys(arm.engine for arm in made.arms)
    ]
    return list(dict.fromkeys(step.name for steps in expanded for step in steps))


def published_sizes(of: StudyPlan) -> Iterator[tuple[str, str]]:
    """The presets and configurations by whose names a plan has the published sizes."""
    if presets := dict.fromkeys(study.preset for study in of.studies if study.preset):
        yield "published sizes", ", ".join(f"`{preset}`" for preset in presets)
    configs = dict.fromkeys(config for study in of.studies for config in study.configs)
    if configs:
        yield "published configurations", ", ".join(map(configuration, configs))


def configuration(name: str) -> str:
    """A configuration with a size in its name, and the largest of its settings."""
    engine = "mysql" if name.startswith("z") else "postgres"
    newest = {"mysql": "9.7", "postgres": "17"}[engine]
    made = render(
        parse(name, engine), capacity=CAPACITY, version_num=version.number_of(engine, newest)
    )
    sizes = [f"{key} {made.values[key]}" for key in SHOWN if key in made.values]
    return f"`{name}` ({', '.join(sizes)})"


# --- The run of a page -----------------------------------------------------------------------


def differences(made: Plan, page: str) -> list[str]:
    """In what the run that a page shows was of another plan; empty too where it shows none."""
    found = RUN.search(page)
    if found is None:
        return []
    facts = re.sub(r"\n  +", " ", found["facts"])
    return [*_of_blocks(made, facts), *_of_arms(made, facts), *_of_workloads(made, facts)]


def _of_blocks(made: Plan, facts: str) -> Iterator[str]:
    blocks = re.search(r"^- (\d+) blocks?, interleaved by (\w+)", facts, re.M)
    assert blocks is not None, facts
    if int(blocks[1]) != made.schedule.blocks:
        yield f"{blocks[1]} blocks"
    if blocks[2] != made.schedule.interleave:
        yield f"interleaved by {blocks[2]}"


def _of_arms(made: Plan, facts: str) -> Iterator[str]:
    planned = {arm.name: arm for arm in made.arms}
    for name, config, memory in CONFIGURED.findall(facts):
        if name not in planned:
            yield f"an arm `{name}`"
        elif (config, memory) != (planned[name].config or "", planned[name].memory or ""):
            yield f"`{name}` as `{config}`"


def _of_workloads(made: Plan, facts: str) -> Iterator[str]:
    ran = re.findall(r"^- (workload `.*)$", facts, re.M)
    if ran != list(map(published.workload_words, made.workloads)):
        yield from ran


# --- The command -----------------------------------------------------------------------------


def written(of: StudyPlan, page: str) -> str:
    """The page with the table between its marks. Raises ValueError where it has none."""
    begin, end = marks("tools/study_plans.py")
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"{of.name}.md lacks the marks `{begin}` and `{end}`")
    before, after = page.split(begin)[0], page.split(end)[1]
    return f"{before}{begin}\n\n{table(of, page)}\n\n{end}{after}"


def main(arguments: Sequence[str]) -> int:
    """Prints or writes all tables; returns the exit status."""
    studies = published_data.read(published.STUDIES)
    for path in sorted(PAGES.glob("*.md")):
        if (PLANS / f"{path.stem}.toml").exists():
            text = path.read_text()
            of = read(path.stem, studies)
            if "--write" in arguments:
                path.write_text(written(of, text))
            else:
                print(f"{path.stem}\n\n{table(of, text)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
