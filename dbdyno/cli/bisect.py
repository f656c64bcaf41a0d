"""`dyno bisect`: the commit that changed a step, among those of a git checkout."""

from __future__ import annotations

import json
import math
import shlex
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.exit_status import INTERRUPTED, say
from dbdyno.cli.options import (
    RESULTS,
    Configure,
    DryRun,
    Jobs,
    Out,
    Quiet,
    Recipe,
    Wait,
)
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.builds.worktree import Worktree
    from dbdyno.model import Plan
    from dbdyno.model.bisection import Bisection, Commit, Question
    from dbdyno.run.bisect import Measured
    from dbdyno.store.bisection import BisectionFolder

MINUTES = 180.0
MINUTES_MAX = 43_200
BY = ("throughput", "cpu")
SMALLEST, SMALLEST_MAX = 1.0, 50.0
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
    typer.Option("--steps", metavar="STEP", help="The one measured step of the workload."),
]
By = Annotated[
    str, typer.Option("--by", metavar="METRIC", help="What is compared: throughput, or cpu.")
]
Smallest = Annotated[
    float,
    typer.Option(
        "--smallest", metavar="PERCENT", help="Smaller changes than this are none that counts."
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
    smallest: Smallest = SMALLEST,
    config: Config = None,
    minutes: Minutes = MINUTES,
    recipe: Recipe = None,
    cflags: Cflags = None,
    configure: Configure = None,
    jobs: Jobs = None,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: AsDocument = False,
) -> None:
    """Find the commit that made a step slower or faster, with its probability.

    dyno builds commits between the two, measures each beside the good one, and chooses the next by
    what all tests say together. Nothing is compiled while anything is measured. The same command
    goes on with an interrupted search.
    """
    from dbdyno.host.lock import HostLock
    from dbdyno.run import bisect as runner
    from dbdyno.run.bisect import Searching

    asked = Asked(
        source=source, good=good, bad=bad, workload=workload, steps=steps or [], by=by,
        smallest=smallest,
        config=config or [], minutes=minutes, recipe=recipe, cflags=cflags,
        configure=configure or [], jobs=jobs,
    )  # fmt: skip
    with nullcontext() if dry_run else HostLock(plan="dyno bisect", wait=wait):
        begun = begin(asked, out)
    if dry_run:
        show_outlook(begun)
        return
    at = Searching(
        worktree=begun.worktree,
        folder=begun.folder,
        measure=lambda plan, into, arm: measured(begun.search, plan, into, arm, quiet=quiet),
        say=(lambda text: None) if quiet else say,
        minutes=minutes,
    )
    begun.folder.write(begun.search, runner.answer(begun.search))
    try:
        ended = runner.search(begun.search, at)
    except KeyboardInterrupt:
        say("interrupted; everything measured is kept, the same command goes on")
        raise typer.Exit(INTERRUPTED) from None
    show(ended, begun.folder, quiet=quiet, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The words of a person, not yet understood."""

    source: str
    good: str
    bad: str
    workload: str
    steps: list[str]
    by: str
    smallest: float
    config: list[str]
    minutes: float
    recipe: str | None
    cflags: str | None
    configure: list[str]
    jobs: int | None

    @property
    def command(self) -> str:
        """The command that asks for the same."""
        words = ["dyno", "bisect", self.source, "--good", self.good, "--bad", self.bad]
        words += ["--workload", self.workload]
        words += ["--steps", ",".join(self.steps)] if self.steps else []
        words += ["--by", self.by] if self.by != BY[0] else []
        words += ["--smallest", f"{self.smallest:g}"] if self.smallest != SMALLEST else []
        words += ["--config", ",".join(self.config)] if self.config else []
        words += ["--recipe", self.recipe] if self.recipe is not None else []
        words += ["--cflags", self.cflags] if self.cflags is not None else []
        words += [word for one in self.configure for word in ("--configure", one)]
        words += ["--minutes", f"{self.minutes:g}"] if self.minutes != MINUTES else []
        return shlex.join(words)


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A search that can go on: all that could be refused is past."""

    search: Bisection
    worktree: Worktree
    folder: BisectionFolder
    plan: list[str]  # of the first test, its lines


def begin(asked: Asked, out: Path) -> Begun:
    """Understands the words and checks everything that needs no build. Raises DynoError."""
    from dbdyno import engine as engines
    from dbdyno.builds import commits, flags
    from dbdyno.builds.worktree import Worktree
    from dbdyno.host import capacity
    from dbdyno.run import bisect as runner
    from dbdyno.store import safe_name
    from dbdyno.store.bisection import BisectionFolder

    if not 1 <= asked.minutes <= MINUTES_MAX:
        raise DynoError(f"--minutes: must be from 1 to {MINUTES_MAX:,}, not {asked.minutes:g}")
    if not 0 < asked.smallest <= SMALLEST_MAX:
        raise DynoError(
            f"--smallest: must be above 0 and up to {SMALLEST_MAX:g} %, not {asked.smallest:g}"
        )
    if asked.by not in BY:
        raise DynoError(f"--by {asked.by}: must be {' or '.join(BY)}")
    repository = commits.checkout(asked.source)
    found = commits.between(repository, asked.good, asked.bad)
    options = flags.options_of(asked.configure)

    def worktree_of(engine: str) -> Worktree:
        chosen = flags.choose(
            engines.recipes(engine), recipe=asked.recipe, cflags=asked.cflags, march=None, lto=False
        )
        return Worktree(
            repository=repository,
            engine=engine,
            method=engines.of(engine).method(),
            flags=flags.aligned(chosen),
            options=options,
            jobs=asked.jobs or capacity.cores(),
        )

    worktree, of_good = runner.engine_of(worktree_of, found[0].sha, repository)
    of_bad = worktree.version(found[-1].sha)
    question = question_of(asked, worktree, found)
    name = f"bisect-{question.step}-{found[0].sha[:7]}-{found[-1].sha[:7]}"
    folder = BisectionFolder(out / safe_name(name))
    search = folder.opened(question)
    plan = runner.check(search.question, worktree, (of_good, of_bad))
    return Begun(search=search, worktree=worktree, folder=folder, plan=plan)


def question_of(asked: Asked, worktree: Worktree, found: tuple[Commit, ...]) -> Question:
    """The question, with sizes that suit this host. Raises PlanError, WorkloadError."""
    from dbdyno.cli import race
    from dbdyno.host import capacity, place, program, steadiness
    from dbdyno.model.bisection import Question
    from dbdyno.plan import bisect as plans
    from dbdyno.plan.race.arm import CONFIGS

    name = asked.workload
    if "/" in name or name.endswith(".toml"):
        name = str(Path(name).expanduser().absolute())
    workload, step = plans.step_of(name, race.listed(asked.steps), worktree.engine)
    assert step.headline is not None, "only such steps are measured"
    scratch = Path(tempfile.gettempdir())
    return Question(
        command=asked.command,
        repository=str(worktree.repository),
        commits=found,
        engine=worktree.engine,
        flags=worktree.flags.words,
        options=worktree.options,
        workload=workload,
        step=step.name,
        metric=step.headline.metric,
        config=tuple(race.listed(asked.config)) or CONFIGS,
        by=asked.by,
        smallest=math.log1p(asked.smallest / 100),
        minutes=plans.minutes_of_test(asked.minutes),
        host=capacity.here(race.nearest(place.data_root())),
        scatter=steadiness.scatter(scratch, program.find("dyno-loadgen")),
        processor=capacity.last() if plans.shares_processor(step, asked.by) else None,
    )


def measured(search: Bisection, plan: Plan, out: Path, arm: str, *, quiet: bool) -> Measured:
    """Runs the plan of a test, and reads what it says of an arm. Raises DynoError."""
    from dbdyno.analysis import compare
    from dbdyno.analysis.compare import one_ratio
    from dbdyno.cli import measuring

    outcome = measuring.measure(plan, out, wait=True, quiet=quiet)
    question = search.question
    return one_ratio.log_ratio(compare.load(outcome.folder), question.step, arm, question.by)


def show_outlook(begun: Begun) -> None:
    """Prints what the search would do first."""
    question = begun.search.question
    print(f"# {question.last} commits after {question.commits[0].short}; the first test:")  # noqa: T201
    for line in begun.plan:
        print(line)  # noqa: T201


def show(search: Bisection, folder: BisectionFolder, *, quiet: bool, as_json: bool) -> None:
    """Writes the report of a search, and prints its answer."""
    from dbdyno.host.terminal import VisibleConsole
    from dbdyno.report import bisection, write
    from dbdyno.report.render import html, terminal
    from dbdyno.run import bisect as runner
    from dbdyno.store.bisection import document

    answer = runner.answer(search)
    view = bisection.page(
        search, runner.found_by(search), answer["posterior"], runner.layout_by(search)
    )
    write.publish({folder.report: html.render(view).encode()})
    if as_json:
        print(json.dumps(document(search) | answer, indent=2))  # noqa: T201
    else:
        terminal.print_page(view, VisibleConsole())
    if not quiet:
        say(f"wrote {folder.report}")
