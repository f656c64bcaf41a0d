"""`dyno plans`: which queries get another plan, told without a row of data."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dbdyno.cli import exit_status, race_options
from dbdyno.cli.exit_status import say, sayer
from dbdyno.cli.options import Quiet, Wait

if TYPE_CHECKING:
    from dbdyno.cli.source_arm import SourceBuilds
    from dbdyno.model import Arm
    from dbdyno.model.plans_only import FlippedQuery, PlansRecord

OUT = Path("plans")
Folder = Annotated[
    Path, typer.Option("--workload", metavar="FOLDER", help="What `dyno capture` wrote.")
]
Schema = Annotated[
    Path,
    typer.Option(
        "--restore",
        metavar="DUMP",
        help="The schema, as `pg_dump --schema-only` writes it; of a whole dump the rows are left "
        "out.",
    ),
]
Indexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index", metavar="SQL", help="Give the last arm one more btree: CREATE INDEX ON …"
    ),
]
WithoutIndexes = Annotated[
    list[str] | None,
    typer.Option("--without-index", metavar="NAME", help="Take an index from the last arm."),
]
Out = Annotated[Path, typer.Option("--out", help="The folder for plans.json and report.html.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON for programs; docs/query-plans.md has every key.")
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="WORD,…",
        help="Exit with status 1 if a query has one of these words: changed, near, fails, "
        "not-told.",
    ),
]


def plans(
    workload: Folder,
    restore: Schema,
    arms: race_options.Arms = None,
    settings: race_options.Settings = None,
    index: Indexes = None,
    without_index: WithoutIndexes = None,
    out: Out = OUT,
    wait: Wait = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    fail: FailOn = None,
) -> None:
    """Tell which captured queries get another plan under a version, a setting or an index.

    No row is copied, and nothing is run: servers of the lab get the schema of the dump and what
    `dyno capture --statistics` kept of your server's planner. Plans that your server told itself
    show where the lab knows enough.
    """
    from dbdyno.analysis import plans_only
    from dbdyno.model.plans_only import REPORT
    from dbdyno.report import plans_only as report

    words = () if fail is None else report.words(fail)
    options = PlansOptions(
        arms=arms or [],
        settings=settings or [],
        indexes=index or [],
        without=without_index or [],
        workload=workload,
        restore=restore,
        out=out,
    )
    record = made(options, wait=wait, quiet=quiet)
    rows = plans_only.flipped(record)
    keep(record, rows, out)
    if as_json:
        print(report.document(record, rows))  # noqa: T201
    else:
        for line in report.lines(record, rows, str(out / REPORT)):
            print(line)  # noqa: T201
    if said := report.found(rows, words):
        say(f"--fail-on {fail}: {said}")
        raise typer.Exit(exit_status.FAILED)


@dataclass(frozen=True, kw_only=True)
class PlansOptions:
    """The words of a person, not yet understood."""

    arms: list[str]
    settings: list[str]
    indexes: list[str]
    without: list[str]
    workload: Path
    restore: Path
    out: Path

    @property
    def written_arms(self) -> list[str]:
        """The arms; one alone stands beside itself where something changes."""
        alone = len(self.arms) == 1 and bool(self.indexes or self.without)
        return [*self.arms, *self.arms] if alone else self.arms

    @property
    def command(self) -> str:
        """The command that asks for the same."""
        words = ["dyno", "plans", *self.arms, "--workload", str(self.workload)]
        words += ["--restore", str(self.restore)]
        words += [word for setting in self.settings for word in ("--set", setting)]
        words += [word for index in self.indexes for word in ("--index", index)]
        words += [word for name in self.without for word in ("--without-index", name)]
        return shlex.join([*words, "--out", str(self.out)])

    @property
    def race(self) -> str:
        """The command that times what is planned otherwise; none where it cannot ask for that."""
        if self.indexes or self.without:
            return ""
        words = ["dyno", "race", *self.arms, "--workload", f"{self.workload}/", "--restore"]
        words += ["DUMP", "--only-flipped", str(self.out)]
        words += [word for setting in self.settings for word in ("--set", setting)]
        return shlex.join(words)


def made(options: PlansOptions, *, wait: bool, quiet: bool) -> PlansRecord:
    """The plans of all arms. Raises DynoError."""
    from dbdyno import workload
    from dbdyno.cli.source_arm import SourceBuilds
    from dbdyno.engine import planner_lab
    from dbdyno.engine.planner_lab import IndexChanges
    from dbdyno.host.lock import HostLock
    from dbdyno.run import plans_only, source_plans
    from dbdyno.run.plans_only import PlansRequest

    sources = SourceBuilds()
    arms = arms_of(options, sources)
    for arm in arms:
        planner_lab.of(arm.engine)
    request = PlansRequest(
        folder=options.workload,
        application=workload.captured(options.workload),
        statistics=source_plans.read(options.workload),
        dump=options.restore.absolute(),
        arms=arms,
        indexes=IndexChanges(tuple(options.indexes), tuple(options.without)),
        command=options.command,
        race=options.race,
        say=sayer(quiet=quiet),
    )
    sources.make()
    with HostLock(plan="dyno plans", wait=wait, quiet=quiet):
        return plans_only.planned(request)


def arms_of(options: PlansOptions, sources: SourceBuilds) -> list[Arm]:
    """The arms, each a server that the lab makes by itself; `sources` takes what is to be built.

    Raises PlanError.
    """
    from dbdyno.cli.race import look_around
    from dbdyno.model import Arm
    from dbdyno.model.error import PlanError
    from dbdyno.plan import race as races

    here = look_around(sources)
    arms = []
    for arm in races.arms(options.written_arms, options.settings, [races.NO_CONFIG], here):
        if arm.elsewhere or arm.config is not None:
            raise PlanError(
                f"arm `{arm.name}`: plans without data are made by servers of the lab, by settings "
                "of the source and of the arm: name a version, a build or a folder"
            )
        origin: dict[str, Any] = {
            key: Path(value) if key == "base_dir" else value for key, value in arm.origin.items()
        }
        arms.append(Arm(name=arm.name, engine=arm.engine, settings=dict(arm.settings), **origin))
    return arms


def keep(record: PlansRecord, rows: Sequence[FlippedQuery], out: Path) -> None:
    """Writes plans.json and the page. Raises DynoError."""
    from dbdyno.host import flame
    from dbdyno.model.json import plain
    from dbdyno.model.plans_only import FILE, REPORT
    from dbdyno.report import plans_only as report
    from dbdyno.report import write
    from dbdyno.report.render import html

    page = html.render(report.page(record, rows), draw=flame.draw)
    text = json.dumps(plain(record), indent=1, ensure_ascii=False)
    write.publish({out / FILE: f"{text}\n".encode(), out / REPORT: page.encode()})
