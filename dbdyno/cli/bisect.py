"""`dyno bisect`: the commit that changed a step, among those of a git checkout."""

from __future__ import annotations

import json
import math
import platform
import shlex
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli import options
from dbdyno.cli.exit_status import NOT_YET, interruptible, say, sayer
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbdyno.builds.worktree import Worktree
    from dbdyno.model import Plan
    from dbdyno.model.bisection import Bisection, Commit, Question
    from dbdyno.parts.part import Page
    from dbdyno.run.bisect import Measured
    from dbdyno.store.bisection import BisectionFolder

MINUTES = 180.0
MINUTES_MAX = 43_200
BY = ("throughput", "undisturbed", "cpu", "instructions")
SMALLEST, SMALLEST_OF_COUNTS, SMALLEST_MAX = 1.0, 0.1, 50.0
"""Percent."""


Source = Annotated[str, typer.Argument(metavar="SOURCE", help="A git checkout of the server.")]
Good = Annotated[
    str, typer.Option("--good", metavar="REF", help="A tag, branch or commit without the loss.")
]
Bad = Annotated[str, typer.Option("--bad", metavar="REF", help="A later one that has it.")]
Workload = Annotated[
    str,
    typer.Option(
        "--workload",
        metavar="NAME",
        help="What tells them apart: a workload of `dyno workload list`, a file, or a step of "
        "`sysbench`, such as point-query.",
    ),
]
Steps = Annotated[
    list[str] | None,
    typer.Option(
        "--steps",
        metavar="STEP,…",
        help="The one measured step of the workload; with --by instructions any number.",
    ),
]
By = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="METRIC",
        help="What is compared: throughput, undisturbed (time), cpu, or instructions, which are "
        "counted and hardly scatter (needs valgrind).",
    ),
]
All = Annotated[
    bool,
    typer.Option(
        "--all", help="With --by instructions: find every commit that changes a step by --smallest."
    ),
]
Smallest = Annotated[
    float | None,
    typer.Option(
        "--smallest",
        metavar="PERCENT",
        help="Smaller changes than this are none that counts. Default: 1; with --by instructions "
        "0.1.",
    ),
]
Config = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="PRESET,…",
        help="Configure each side by the first preset for its version. Without it the published "
        "base configurations; `default` is the server's own.",
    ),
]
Cflags = Annotated[
    str | None,
    typer.Option(
        "--cflags",
        help="Your own compiler flags; `-falign-functions=64` is added, unless they align "
        "functions.",
    ),
]
Minutes = Annotated[
    float, typer.Option("--minutes", help="End after so many minutes, or when it is sure.")
]
AsDocument = Annotated[
    bool,
    typer.Option("--json", help="Print bisect.json for programs; docs/bisect.md has its keys."),
]


def bisect(
    source: Source,
    good: Good,
    bad: Bad,
    workload: Workload,
    steps: Steps = None,
    by: By = BY[0],
    every: All = False,
    smallest: Smallest = None,
    config: Config = None,
    minutes: Minutes = MINUTES,
    recipe: options.Recipe = None,
    cflags: Cflags = None,
    configure: options.Configure = None,
    jobs: options.Jobs = None,
    out: options.Out = options.RESULTS,
    wait: options.Wait = False,
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    as_json: AsDocument = False,
) -> None:
    """Find the commit that made a step slower or faster: exit with status 0 if sure, else 3.

    dyno builds commits between the two, measures each beside the good one, and chooses the next by
    what all tests say together. dyno builds the commit that is left with other layouts of its code
    before it is sure. By instructions it counts each once, and names the functions that changed,
    too. Nothing is compiled while anything is measured. The same command goes on with an
    interrupted search.
    """
    from dbdyno.host.lock import HostLock

    asked = BisectOptions(
        source=source, good=good, bad=bad, workload=workload, steps=steps or [], by=by,
        every=every, smallest=smallest, config=config or [], minutes=minutes, recipe=recipe,
        cflags=cflags, configure=configure or [], jobs=jobs,
    )  # fmt: skip
    with nullcontext() if dry_run else HostLock(plan="dyno bisect", wait=wait, quiet=quiet):
        begun = begin(asked, out)
    if dry_run:
        show_outlook(begun)
        return
    with interruptible():
        go(begun, minutes, quiet=quiet, as_json=as_json)


def go(begun: CheckedSearch, minutes: float, *, quiet: bool, as_json: bool) -> None:
    """Searches, by counts or by time, and shows the answer."""
    from dbdyno.cli import bisect_counts
    from dbdyno.report import bisection
    from dbdyno.run import bisect as runner
    from dbdyno.run import bisect_counts as counting
    from dbdyno.store.bisection import document

    ended = searched(begun, minutes, sayer(quiet=quiet), quiet=quiet)
    if ended.question.counts:
        view, answer = bisect_counts.answered(ended, begun.folder)
        begun.folder.write(ended, answer)
        is_sure = counting.is_sure(ended)
    else:
        answer, found_by = runner.answer(ended), runner.found_by(ended)
        view = bisection.page(ended, found_by, answer["posterior"], runner.layout_by(ended))
        is_sure = bisection.is_sure(found_by)
    text = json.dumps(document(ended) | answer, indent=2)
    show(view, text, begun.folder, quiet=quiet, as_json=as_json)
    if not is_sure:
        raise typer.Exit(NOT_YET)


def searched(
    begun: CheckedSearch, minutes: float, tell: Callable[[str], None], *, quiet: bool
) -> Bisection:
    """A search, by counts or by time, as far as it came in these minutes. Raises DynoError."""
    from dbdyno.cli import bisect_counts
    from dbdyno.run import bisect as runner
    from dbdyno.run import bisect_counts as counting

    if begun.search.question.counts:
        by_counts = counting.CountSearch(
            worktree=begun.worktree,
            folder=begun.folder,
            count=lambda plan, into: bisect_counts.count(plan, into, quiet=quiet),
            say=tell,
            minutes=minutes,
        )
        counting.keep(begun.search, by_counts)
        return counting.search(begun.search, by_counts)
    at = runner.BlockSearch(
        worktree=begun.worktree,
        folder=begun.folder,
        relaid=begun.relaid,
        measure=lambda plan, into, arm: measured(begun.search, plan, into, arm, quiet=quiet),
        say=tell,
        minutes=minutes,
    )
    runner.keep(begun.search, at)
    return runner.search(begun.search, at)


@dataclass(frozen=True, kw_only=True)
class BisectOptions:
    """The words of a person, not yet understood."""

    source: str
    good: str
    bad: str
    workload: str
    steps: list[str]
    by: str
    every: bool = False
    smallest: float | None = None
    config: list[str]
    minutes: float
    recipe: str | None
    cflags: str | None
    configure: list[str]
    jobs: int | None

    @property
    def smallest_change(self) -> float:
        """The smallest change that counts, in percent."""
        if self.smallest is not None:
            return self.smallest
        return SMALLEST_OF_COUNTS if self.by == BY[-1] else SMALLEST

    @property
    def command(self) -> str:
        """The command that asks for the same."""
        words = ["dyno", "bisect", self.source, "--good", self.good, "--bad", self.bad]
        words += ["--workload", self.workload]
        words += ["--steps", ",".join(self.steps)] if self.steps else []
        words += ["--by", self.by] if self.by != BY[0] else []
        words += ["--all"] if self.every else []
        words += ["--smallest", f"{self.smallest:g}"] if self.smallest is not None else []
        words += ["--config", ",".join(self.config)] if self.config else []
        words += ["--recipe", self.recipe] if self.recipe is not None else []
        words += ["--cflags", self.cflags] if self.cflags is not None else []
        words += [word for one in self.configure for word in ("--configure", one)]
        words += ["--minutes", f"{self.minutes:g}"] if self.minutes != MINUTES else []
        return shlex.join(words)


@dataclass(frozen=True, kw_only=True)
class CheckedSearch:
    """A search that can go on: all that could be refused is past."""

    search: Bisection
    worktree: Worktree
    relaid: tuple[Worktree, ...]  # that build with other layouts
    folder: BisectionFolder
    plan: list[str]  # of the first test, its lines


def begin(asked: BisectOptions, out: Path) -> CheckedSearch:
    """Understands the words and checks everything that needs no build. Raises DynoError."""
    from dbdyno.builds import commits
    from dbdyno.cli import race, source_arm
    from dbdyno.run import bisect as runner
    from dbdyno.stats.bisection import RELAYOUTS
    from dbdyno.store import safe_name
    from dbdyno.store.bisection import BisectionFolder

    refuse(asked)
    repository = commits.checkout(asked.source)
    between = commits.between(repository, asked.good, asked.bad)
    builds = source_arm.CommitBuilds(
        recipe=asked.recipe,
        cflags=asked.cflags,
        configure=tuple(asked.configure),
        jobs=asked.jobs,
        texts=source_arm.loading_texts(asked.workload, race.listed(asked.config), ()),
    )

    def worktree_of(engine: str) -> Worktree:
        return builds.worktree(repository, engine)

    worktree, of_good = runner.engine_of(worktree_of, between[0].sha, repository)
    of_bad = worktree.version(between[-1].sha)
    between = commits.serving(repository, between, worktree.serves)
    question = question_of(asked, worktree, between)
    what = "work" if question.counts else question.step
    name = f"bisect-{what}-{between[0].sha[:7]}-{between[-1].sha[:7]}"
    folder = BisectionFolder(out / safe_name(name))
    search = folder.opened(question)
    plan = runner.check(search.question, worktree, (of_good, of_bad))
    relaid = tuple(
        replace(builds, relaid=layout).worktree(repository, worktree.engine)
        for layout in range(1, RELAYOUTS + 1)
    )
    return CheckedSearch(search=search, worktree=worktree, relaid=relaid, folder=folder, plan=plan)


def refuse(asked: BisectOptions) -> None:
    """Raises DynoError for words that no search has."""
    from dbdyno.host.callgrind import program
    from dbdyno.plan.bisect import COUNTS

    if asked.by not in BY:
        raise DynoError(f"--by {asked.by}: must be {', '.join(BY[:-1])} or {BY[-1]}")
    if not 1 <= asked.minutes <= MINUTES_MAX:
        raise DynoError(f"--minutes: must be from 1 to {MINUTES_MAX:,}, not {asked.minutes:g}")
    least = f"at least {SMALLEST_OF_COUNTS:g}" if asked.by == COUNTS else "above 0"
    smallest, lowest = asked.smallest_change, SMALLEST_OF_COUNTS * (asked.by == COUNTS)
    if not (lowest <= smallest <= SMALLEST_MAX and smallest):
        raise DynoError(
            f"--smallest: must be {least} and up to {SMALLEST_MAX:g} %, not {smallest:g}"
        )
    if asked.every and asked.by != COUNTS:
        raise DynoError(f"--all: of --by {COUNTS} alone, which counts every commit once")
    if asked.by == COUNTS:
        program.find(otherwise="compare --by cpu")


def question_of(asked: BisectOptions, worktree: Worktree, between: tuple[Commit, ...]) -> Question:
    """The question, with sizes that suit this host. Raises PlanError, WorkloadError."""
    from dbdyno.cli import race
    from dbdyno.host import capacity, place
    from dbdyno.model.bisection import Question
    from dbdyno.plan import bisect as plans
    from dbdyno.plan.race.arm import CONFIGS

    name = asked.workload
    if "/" in name or name.endswith(".toml"):
        name = str(Path(name).expanduser().absolute())
    listed, counts = race.listed(asked.steps), asked.by == plans.COUNTS
    if counts:
        workload, steps = plans.counted(name, listed, worktree.engine)
        step = steps[0]
    else:
        workload, step = plans.step_of(name, listed, worktree.engine)
        steps = ()
    assert step.headline is not None, "only such steps are measured"
    return Question(
        command=asked.command,
        repository=str(worktree.repository),
        commits=between,
        engine=worktree.engine,
        flags=worktree.flags.words,
        options=worktree.options,
        workload=workload,
        step=step.name,
        metric=step.headline.metric,
        config=tuple(race.listed(asked.config)) or CONFIGS,
        by=asked.by,
        smallest=math.log1p(asked.smallest_change / 100),
        minutes=plans.minutes_of_test(asked.minutes, asked.by),
        host=capacity.here(place.nearest(place.data_root())),
        processor=capacity.last() if plans.shares_processor(step, asked.by) else None,
        steps=tuple(step.name for step in steps),
        architecture=platform.machine(),
        every=asked.every,
    )


def measured(search: Bisection, plan: Plan, out: Path, arm: str, *, quiet: bool) -> Measured:
    """Runs the plan of a test, and reads what it says of an arm. Raises DynoError."""
    from dbdyno.analysis import compare
    from dbdyno.cli import measuring
    from dbdyno.judge import one_ratio

    outcome = measuring.measure(plan, out, wait=True, quiet=quiet)
    question = search.question
    return one_ratio.log_ratio(compare.load(outcome.folder), question.step, arm, question.by)


def show_outlook(begun: CheckedSearch) -> None:
    """Prints what the search would do first."""
    question = begun.search.question
    built = sum(begun.worktree.is_there(commit.sha) for commit in question.commits)
    first = question.commits[0].short
    print(f"# {question.last} commits after {first} may change the server, {built} are built")  # noqa: T201
    if question.counts:
        whole = question.last + 1
        least = min(math.ceil(math.log2(whole)) + 2, whole)
        most = f" to {whole}" if question.every and least < whole else ""
        print(f"# about {least}{most} of them are to be built, and counted once each; the first:")  # noqa: T201
    else:
        print("# the first test:")  # noqa: T201
    for line in begun.plan:
        print(line)  # noqa: T201


def show(view: Page, text: str, folder: BisectionFolder, *, quiet: bool, as_json: bool) -> None:
    """Writes the report of a search, and prints its answer; `text`: bisect.json's."""
    from dbdyno.host.terminal import VisibleConsole
    from dbdyno.report import write
    from dbdyno.report.render import html, terminal

    write.publish({folder.report: html.render(view).encode()})
    if as_json:
        print(text)  # noqa: T201
    else:
        terminal.print_page(view, VisibleConsole())
    if not quiet:
        say(f"wrote {folder.report}")
