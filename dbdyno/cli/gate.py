"""`dyno gate`: whether one build may follow another, by counts of work and by a race in time."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli import exit_status
from dbdyno.cli.options import RESULTS, Configure, DryRun, Jobs, Out, Quiet, Recipe, Wait
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.cli.gating import GateBuild

TREE = "."
"""The checkout as it stands, in place of a ref."""
Base = Annotated[
    str,
    typer.Argument(
        metavar="BASE",
        help="A ref of the checkout that you are in, such as origin/master, or an arm of "
        "`dyno race`: a version (17), engine:version (mysql:9.7), a folder.",
    ),
]
Head = Annotated[
    str, typer.Argument(metavar="HEAD", help="What is to follow; `.` is the tree as it stands.")
]
Checkout = Annotated[
    Path | None,
    typer.Option("--source", metavar="FOLDER", help="The checkout, if you are not in it."),
]
Workload = Annotated[
    str | None, typer.Option("--workload", metavar="NAME", help="What they run, as in `dyno race`.")
]
Steps = Annotated[
    list[str] | None, typer.Option("--steps", metavar="STEP,…", help="The steps to guard.")
]
Config = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="PRESET,…", help="Configure both, as in `dyno race`."),
]
Minutes = Annotated[
    float | None,
    typer.Option("--minutes", help="For counts and races; builds are not in them. Default: 10."),
]
Operations = Annotated[
    int | None,
    typer.Option("--operations", help="Counted operations of each step. Default: by its rate."),
]
Work = Annotated[
    str | None,
    typer.Option("--work", metavar="PERCENT", help="More work that is tolerated. Default: 0.3%."),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="PERCENT|off",
        help="Loss of throughput, or CPU, that is tolerated; off: only work is asked. Default: 5%.",
    ),
]
SystemCalls = Annotated[
    str | None,
    typer.Option(
        "--system-calls",
        metavar="N|off",
        help="More system calls of an operation that are tolerated; off: none are asked. "
        "Default: 0.",
    ),
]
Atomics = Annotated[
    str | None, typer.Option("--atomics", metavar="N|off", help="The same of atomic instructions.")
]
Cflags = Annotated[
    str | None, typer.Option("--cflags", help="Your own compiler flags of both commits.")
]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write a comment of Markdown.")
]
Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")]
AsDocument = Annotated[
    bool,
    typer.Option("--json", help="Print gate.json for programs; docs/howto/ci.md has its keys."),
]


def gate(
    base: Base,
    head: Head,
    source: Checkout = None,
    workload: Workload = None,
    steps: Steps = None,
    config: Config = None,
    minutes: Minutes = None,
    operations: Operations = None,
    work: Work = None,
    time: Time = None,
    system_calls: SystemCalls = None,
    atomics: Atomics = None,
    recipe: Recipe = None,
    cflags: Cflags = None,
    configure: Configure = None,
    jobs: Jobs = None,
    markdown: Markdown = None,
    junit: Junit = None,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: AsDocument = False,
) -> None:
    """Answer if HEAD may follow BASE: exit with status 0 for yes, 1 for no, 3 for not yet.

    dyno builds both, counts the instructions of each step, then races the two in time, and says yes
    if neither shows a loss beyond its tolerance, and time excludes one. `dyno-gate.toml` in the
    checkout keeps steps, minutes and tolerances.
    """
    from dbdyno.cli import gating, race, source_arm
    from dbdyno.plan import gate as plans
    from dbdyno.report import gate as report
    from dbdyno.report import write

    checkout = checkout_of(source)
    options = plans.GateOptions(
        workload=workload, steps=race.listed(steps), config=race.listed(config), minutes=minutes,
        operations=operations, work=work, time=time, system_calls=system_calls, atomics=atomics,
        recipe=recipe, cflags=cflags, configure=configure or [],
    )  # fmt: skip
    wish = plans.load(checkout or Path(), options)
    builds = source_arm.CommitBuilds(
        recipe=wish.recipe, cflags=wish.cflags, configure=tuple(wish.configure), jobs=jobs,
        texts=source_arm.loading_texts(wish.workload, wish.config, (base, head)),
    )  # fmt: skip
    place = () if source is None else ("--source", str(source))
    own = tuple(path for path in (markdown, junit) if path is not None)
    with ExitStack() as stack:
        changes = stack.enter_context(TemporaryDirectory()) if dry_run else None
        reading = SideReader(checkout=checkout, named=source is not None, own=own, changes=changes)
        sides = apart(reading.side_of("BASE", base), reading.side_of("HEAD", head))
        asked = gating.GateRequest(
            wish=wish, builds=builds, sides=sides, out=out, wait=wait, quiet=quiet,
            command=shlex.join(["dyno", "gate", base, head, *place, *options.words()]),
        )  # fmt: skip
        if dry_run:
            print("\n".join(asked.outlook()))  # noqa: T201
            return
    answer = asked.answer()
    if as_json:
        print(report.document(answer), end="\n")  # noqa: T201
    else:
        for line in report.lines(answer):
            print(line)  # noqa: T201
    forms = ((markdown, report.markdown(answer).encode()), (junit, report.junit(answer)))
    write.publish({path: text for path, text in forms if path is not None})
    raise typer.Exit(exit_status.of_answer(answer.answer))


# --- What is asked for ------------------------------------------------------------------------


def checkout_of(source: Path | None) -> Path | None:
    """The checkout whose refs are meant: the one that is named, else the one we are in."""
    from dbdyno.cli import source_arm

    folder = (source or Path()).expanduser().absolute()
    found = source_arm.checkout_of(folder)
    if found is None and source is not None:
        raise DynoError(f"--source {source}: is no checkout of PostgreSQL or MySQL")
    return found


@dataclass(frozen=True, kw_only=True)
class SideReader:
    """Understands BASE and HEAD."""

    checkout: Path | None  # whose refs are meant
    named: bool = False  # whether the command names the checkout
    own: tuple[Path, ...] = ()  # files that the gate writes, which are no part of a tree
    changes: str | None = None  # takes the objects of a tree's changes; None: the cache

    def side_of(self, option: str, written: str) -> GateBuild:
        """What BASE or HEAD means: a commit of a checkout, or an arm as a race has it.

        Raises DynoError in one line that begins with the option.
        """
        from dbdyno.cli import source_arm
        from dbdyno.cli.gating import GateBuild

        place, semicolon, settings = written.partition(";")
        side = GateBuild(option=option, written=written, name="", settings=semicolon + settings)
        if self.checkout is not None:
            if place == TREE:
                return self.tree(side, self.checkout)
            of_checkout = source_arm.commit_of(self.checkout, place) is not None
            if of_checkout or self.named or not is_arm(place):
                commit = source_arm.commit_named(self.checkout, place, side.where)
                return side.of_commit(self.checkout, commit)
        if (elsewhere := source_arm.ref_in(Path(place).expanduser().absolute())) is not None:
            checkout, ref = elsewhere
            return side.of_commit(checkout, source_arm.commit_named(checkout, ref, side.where))
        return side

    def tree(self, side: GateBuild, checkout: Path) -> GateBuild:
        """The checkout as it stands."""
        from dbdyno.builds import checkout_state
        from dbdyno.cli import source_arm

        into = self.changes or checkout_state.folder_of(checkout)
        state = checkout_state.of(checkout, Path(into), without=self.own)
        read = side.of_commit(checkout, state.commit, called=f"{checkout.name}-tree")
        server = source_arm.find(checkout)
        assert server is not None, "it is a checkout of a source"
        return replace(read, changed=state.changed, version=server.version)


def is_arm(place: str) -> bool:
    """Whether it may be an arm of a race: a version, an engine, a folder, a ref of one, a build."""
    from dbdyno.builds import cache
    from dbdyno.cli import source_arm
    from dbdyno.model import engine
    from dbdyno.plan.schema import VERSION

    path = Path(place).expanduser().absolute()
    return (
        VERSION.fullmatch(place) is not None
        or place.partition(":")[0] in engine.having("made")
        or path.exists()
        or source_arm.ref_in(path) is not None
        or place in cache.names()
    )


def apart(base: GateBuild, head: GateBuild) -> tuple[GateBuild, GateBuild]:
    """The sides with names of their own. Raises DynoError where both are one commit."""
    if (base.commit, base.settings) == (head.commit, head.settings) and base.commit is not None:
        raise DynoError(
            f"HEAD {head.written}: is the same commit as BASE {base.written}: name another"
        )
    if head.name and head.name == base.name:
        head = replace(head, name=f"{head.name}-2")
    return base, head
