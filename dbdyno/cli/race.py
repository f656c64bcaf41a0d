"""`dyno race` and `dyno init`: a plan from a few words, and a race from it in one line."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli import exit_status, flipped, race_options
from dbdyno.cli.exit_status import say
from dbdyno.cli.options import RESULTS, AsJson, DryRun, FailOn, Out, Quiet, Tolerate, Wait
from dbdyno.model import configuration
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.cli.source_arm import SourceBuilds
    from dbdyno.model import Comparison, Plan
    from dbdyno.plan.race import HostServers, Race

MINUTES = 5.0
MINUTES_MAX = 43_200
OF_ARM = re.compile(
    r"^`?arms\.(.+?)\.(?:version|base_dir|build|dsn|config|settings(?:\.([\w.]+))?)`?: "
)
"""The beginning of a plan's sentence on an arm."""
WRITES = "allow_writes"
"""The key of an arm elsewhere on which queries that write may run."""
REPORT = "report.html"
"""In the result folder; a race that has it is over."""


def race(
    arms: race_options.Arms = None,
    workload: race_options.Workload = None,
    steps: race_options.Steps = None,
    config: race_options.Config = None,
    settings: race_options.Settings = None,
    minutes: race_options.Minutes = MINUTES,
    pgbench: race_options.Scripts = None,
    dsn: race_options.Dsn = None,
    restore: race_options.Restore = None,
    allow_writes: race_options.AllowWrites = False,
    count: race_options.Count = False,
    answers: race_options.Answers = False,
    only_flipped: race_options.OnlyFlipped = None,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    tolerate: Tolerate = None,
    fail: FailOn = None,
) -> None:
    """Race versions, builds or settings against each other, without a plan file.

    dyno chooses sizes that fit this host, writes the plan that it makes to --out, runs it until
    every step is decided or the minutes are over, and prints the verdict in five lines. The same
    command goes on with an interrupted race.
    """
    from dbdyno.cli import drawn, measuring
    from dbdyno.cli.source_arm import SourceBuilds
    from dbdyno.host.lock import HostLock
    from dbdyno.report import fail_on
    from dbdyno.run.runner import LocalRunner

    words = exit_status.words(fail)
    asked = RaceOptions(
        arms=[*(arms or []), *(dsn or [])],
        workload=workload,
        steps=[*listed(steps), *flipped.steps(only_flipped, workload), *["answers"] * answers],
        config=listed(config),
        settings=settings or [],
        minutes=minutes,
        pgbench=pgbench or [],
        restore=restore,
        allow_writes=allow_writes,
        count=count,
        tolerate=tolerate,
    )
    sources = SourceBuilds(asked.loading_texts)
    wanted = race_of(asked, look_around(sources))
    if dry_run:
        made = made_of(wanted, out, sources)
        if not as_json:
            print("\n".join([*sources.lines(), made.text]))  # noqa: T201
        measuring.show_outlook(made.plan, sources.foreseen(made.plan), as_json=as_json)
        return
    if sources.unmade or fail_on.remedies(words):  # all that can be refused is, before a build
        plan = made_of(wanted, out, sources).plan
        measuring.refuse_few(plan, fail_on.remedies(words), sources.foreseen(plan))
    sources.make()
    with HostLock(plan=name_of(wanted), wait=wait, minutes=wanted.minutes, quiet=quiet):
        drawn.draw_missing(wanted)
        plan = planned(wanted, out, quiet=quiet)
        runner = LocalRunner(held=True)  # else another lab could begin before its first block
        outcome = measuring.measure(plan, out, wait, quiet=quiet, runner=runner)
    report = outcome.folder / REPORT
    comparison = measuring.show_results(
        outcome.folder, report, quiet=True, as_json=as_json, lines=partial(verdict, report=report)
    )
    raise typer.Exit(exit_status.of(comparison, outcome.folder, fail=fail, as_json=as_json))


def planned(wanted: Race, out: Path, *, quiet: bool, again: bool = False) -> Plan:
    """The plan of a race, which lies in `out` from now on. Raises DynoError.

    `again`: takes that of a race of this command which is over, too. The host has to be locked:
    looking at it would disturb another lab's measurement, and see its load and servers.
    """
    made = made_of(wanted, out, again=again)
    if not quiet:
        if any(not arm.elsewhere for arm in wanted.arms):
            say(f"configuration: {configuration.described(configurations(made.plan))}")
        if made.plan.schedule.placement == "together":
            say("placement: each client and the session that serves it run on one processor")
        say(f"plan: {made.path}")
    keep(made.path, made.text)
    return made.plan


def configurations(plan: Plan) -> dict[str, str | None]:
    """By arm that the lab makes the name of its configuration; None: the server's defaults."""
    from dbdyno.run.check import source_settings

    return {
        arm.name: configuration.OF_SOURCE if source_settings.written_for(plan, arm) else arm.config
        for arm in plan.arms
        if arm.dsn is None and arm.same_as is None
    }


def init(
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="PLAN.toml", help="Write the plan there.", dir_okay=False),
    ] = None,
) -> None:
    """Ask what is to race, and write a plan with comments; runs nothing.

    Answers may come from a pipe, a line each; an empty line takes what stands in brackets.
    """
    from dbdyno.cli.ask import Questions
    from dbdyno.cli.source_arm import SourceBuilds

    sources = SourceBuilds()
    here = look_around(sources)
    questions = Questions()
    asked = RaceOptions(
        arms=questions.words("arms (17 18, mysql:9.7, a folder, a DSN)", "17 18"),
        settings=questions.words("settings of the last one alone (jit=off)", ""),
        pgbench=questions.words("scripts of pgbench's, where they are the load", ""),
        workload=None,
        steps=[],
        config=[],
        minutes=MINUTES,
    )
    if not asked.pgbench:
        asked = replace(
            asked,
            workload=questions.word("workload (dyno workload list)", "sysbench"),
            steps=listed(questions.words("steps, where it is not to be all that fit", "")),
        )
    asked = replace(
        asked,
        config=listed(
            questions.words("configuration (dyno config list)", ",".join(usual_config(asked)))
        ),
        minutes=questions.number("minutes", MINUTES),
    )
    wanted = replace(race_of(asked, here), command=None)
    sources.refuse_unmade()
    path = file or Path(questions.word("write the plan to", f"{name_of(wanted)}.toml"))
    if path.exists():
        raise DynoError(f"{path}: is there already: name another file by --file")
    text = text_of(wanted, path)
    checked(text, path, RESULTS)
    keep(path, text)
    say(f"wrote {path}; run it: dyno run {path}")


# --- What is asked for ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RaceOptions:
    """The words of a person, not yet understood."""

    arms: list[str]
    workload: str | None
    steps: list[str]
    config: list[str]
    settings: list[str]
    minutes: float
    pgbench: list[str]
    restore: str | None = None
    allow_writes: bool = False
    count: bool = False
    tolerate: str | None = None

    @property
    def written_arms(self) -> list[str]:
        """The arms, those elsewhere with the rights that an option gives all of them."""
        right = f";{WRITES}=true" if self.allow_writes else ""
        return [
            arm + right if "://" in arm and f";{WRITES}=" not in arm else arm for arm in self.arms
        ]

    @property
    def loading_texts(self) -> tuple[str, ...] | None:
        """What may name modules that servers load; None: a dump may need any."""
        from dbdyno.cli import source_arm

        words = [*self.arms, *self.settings, *map(script_text, self.pgbench)]
        return (
            source_arm.loading_texts(self.workload, self.config, words)
            if self.restore is None
            else None
        )

    @property
    def command(self) -> str:
        """The command that asks for the same."""
        words = ["dyno", "race", *self.arms]
        words += ["--workload", self.workload] if self.workload else []
        words += ["--steps", ",".join(self.steps)] if self.steps else []
        words += ["--config", ",".join(self.config)] if self.config else []
        words += [word for setting in self.settings for word in ("--set", setting)]
        words += [word for script in self.pgbench for word in ("--pgbench", script)]
        words += ["--restore", self.restore] if self.restore else []
        words += ["--allow-writes"] if self.allow_writes else []
        words += ["--count"] if self.count else []
        words += ["--tolerate", self.tolerate] if self.tolerate else []
        words += ["--minutes", f"{self.minutes:g}"] if self.minutes != MINUTES else []
        return " ".join(shlex.join(words).split())


def listed(words: list[str] | None) -> list[str]:
    """The words of an option that takes several, by commas or by being repeated."""
    return [name.strip() for word in words or [] for name in word.split(",") if name.strip()]


def look_around(sources: SourceBuilds) -> HostServers:
    """The servers of this host; `sources` takes what is to be built of those that arms name."""
    from dbdyno.builds import cache
    from dbdyno.cli import source_arm
    from dbdyno.engine import installed
    from dbdyno.model import engine
    from dbdyno.plan.race import HostServers, RaceServer
    from dbdyno.plan.race.arm import FOR_RECIPE

    def newest(name: str) -> str:
        if "prebuilt" in engine.of(name).can:
            return engine.of(name).newest
        rows = installed.rows(only=name)
        if not rows:
            product = engine.of(name).product
            raise DynoError(
                f"arm `{name}`: no {product} is installed: run `dyno server fetch {name} "
                f"{engine.of(name).newest}`, or name its folder"
            )
        return rows[-1].version

    def folder(path: Path, recipe: str | None) -> RaceServer:
        where = f"arm `{path}`"
        if (commit := source_arm.ref_in(path)) is not None:
            builds = source_arm.CommitBuilds(recipe=recipe, texts=sources.texts)
            return sources.add(source_arm.of_ref(*commit, builds))
        if (source := source_arm.find(path)) is not None:
            return sources.add(source_arm.of_folder(source, path, recipe, where, sources.texts))
        if recipe is not None:
            raise DynoError(f"{where}: is no source: {FOR_RECIPE}")
        build = installed.in_folder(path, where)
        return RaceServer(engine=build.engine, version=build.version)

    records = {name: cache.record(cache.root() / name) for name in cache.names()}
    kept = {
        name: RaceServer(engine=record["engine"], version=record["version"])
        for name, record in records.items()
        if record is not None
    }
    return HostServers(builds=kept | sources.servers, folder=folder, newest=newest)


def race_of(asked: RaceOptions, here: HostServers) -> Race:
    """The race that the words ask for. Raises PlanError in one line."""
    from dbdyno.parts import tolerate as tolerances
    from dbdyno.plan import race as races
    from dbdyno.workload.queries import ANSWERS

    if not 1 <= asked.minutes <= MINUTES_MAX:
        raise DynoError(f"--minutes: must be from 1 to {MINUTES_MAX:,}, not {asked.minutes:g}")
    if asked.pgbench and (asked.workload or asked.steps):
        raise DynoError("--pgbench: scripts are the whole load: remove --workload and --steps")
    if ANSWERS in asked.steps:
        refuse_beside_answers(asked)
    if asked.count and asked.tolerate:
        raise DynoError("--tolerate: asks of time and CPU, which --count does not measure")
    if asked.restore and not asked.workload:
        raise DynoError("--restore: nothing runs on these data: name a file by --workload")
    workload = asked.workload
    if workload is not None and is_file(workload):
        workload = str(Path(workload).expanduser().absolute())
    return races.Race(
        command=asked.command,
        arms=races.arms(
            asked.written_arms, asked.settings, asked.config or usual_config(asked), here
        ),
        minutes=asked.minutes,
        workload=workload,
        steps=tuple(asked.steps),
        pgbench=tuple(map(absolute_script, asked.pgbench)),
        restore=asked.restore and str(Path(asked.restore).expanduser().absolute()),
        count=asked.count,
        tolerate=None if asked.tolerate is None else tolerances.parse(asked.tolerate),
    )


def refuse_beside_answers(words: RaceOptions) -> None:
    """Raises DynoError where a race of answers alone is asked for more."""
    if not is_file(words.workload):
        raise DynoError("--answers: asks queries of your own: name their folder by --workload")
    for option, value in (("--count", words.count), ("--tolerate", words.tolerate)):
        if value:
            raise DynoError(f"--answers: nothing is timed or counted: remove {option}")
    if len(words.steps) > 1:
        raise DynoError("--answers: asks all queries, and no step runs beside: remove --steps")


def usual_config(asked: RaceOptions) -> Sequence[str]:
    """The configurations of a race that names none.

    Queries of the user's own meet servers as they are; published workloads the published presets.
    """
    from dbdyno.plan.race import CONFIGS, NO_CONFIG

    scripts = any("/" in absolute_script(text) for text in asked.pgbench)
    return (NO_CONFIG,) if scripts or is_file(asked.workload) else CONFIGS


def is_file(workload: str | None) -> bool:
    """Whether a workload is named by its file or folder, and not a shipped one."""
    from dbdyno.workload.file import FOLDER_FILE

    if workload is None:
        return False
    captured = (Path(workload) / FOLDER_FILE).is_file()
    return captured or "/" in workload or workload.endswith(".toml")


def script_text(text: str) -> str:
    """The text of a script of pgbench's; of a built-in one, or of one that lacks, none."""
    path = Path(absolute_script(text).rpartition("@")[0] or absolute_script(text))
    return path.read_text(errors="replace") if path.is_file() else ""


def absolute_script(text: str) -> str:
    """A script of pgbench's as a plan names it: a built-in one, or a path from the root."""
    from dbdyno.workload.pgbench import BUILTIN

    name = text.rpartition("@")[0] or text
    if name in BUILTIN:
        return text
    return str(Path(text).expanduser().absolute())


# --- The plan ---------------------------------------------------------------------------------


def name_of(wanted: Race) -> str:
    """The race's name."""
    from dbdyno.plan import race as races

    return races.name_of(wanted.arms, count=wanted.count)


def text_of(wanted: Race, path: Path) -> str:
    """The plan, with sizes that suit this host. Raises DynoError."""
    from dbdyno.host import capacity, place
    from dbdyno.host.callgrind import program
    from dbdyno.plan import race as races
    from dbdyno.run import starting_state

    restore_s = 0.0
    if wanted.restore is not None:
        restore_s = starting_state.restore_s(Path(wanted.restore), place.data_root())
    wanted = replace(wanted, counter=program.is_here(), restore_s=restore_s)
    return races.text_of(wanted, path, capacity.here(place.nearest(place.data_root())))


def settled(wanted: Race, out: Path, *, again: bool = False) -> tuple[Path, str]:
    """The plan's file and text: of an interrupted race of this command, else of a new name.

    `again`: of one that is over, too.
    """
    from dbdyno.plan.race import MADE_BY

    for number in itertools.count(1):
        name = name_of(wanted) + (f"-{number}" if number > 1 else "")
        path, folder = out / f"{name}.toml", out / name
        if not path.exists() and not folder.exists():
            return path, text_of(wanted, path)
        if path.is_file() and (again or not (folder / REPORT).exists()):
            text = path.read_text(encoding="utf-8")
            if text.startswith(f"{MADE_BY}{wanted.command}\n"):
                say(f"goes on with {path}")
                return path, text
    raise AssertionError("numbers do not end")


@dataclass(frozen=True, kw_only=True)
class RacePlan:
    """The plan of a race, and the file that keeps it."""

    path: Path
    text: str
    plan: Plan


def made_of(
    wanted: Race, out: Path, sources: SourceBuilds | None = None, *, again: bool = False
) -> RacePlan:
    """The plan of a race, checked; a new one in time has each client beside its session.

    `sources`: builds that may be yet to be made. `again`: as `settled` has it. Raises DynoError.
    """
    from dbdyno.plan.race.text import placed

    path, text = settled(wanted, out, again=again)
    if path.exists() or wanted.count or wanted.answers:
        plan = checked(text, path, out, sources)
    else:
        text, plan = placed(text, lambda text: checked(text, path, out, sources))
    return RacePlan(path=path, text=text, plan=plan)


def checked(text: str, path: Path, out: Path, sources: SourceBuilds | None = None) -> Plan:
    """The plan that the text is, with what it leaves open, once the host has all that it needs.

    `sources`: builds that may be yet to be made.
    """
    from dbdyno import plan as plans
    from dbdyno.cli import measuring
    from dbdyno.run.check import block_time, preflight

    try:
        plan = plans.parse(text, path)
        foreseen = None if sources is None else sources.foreseen(plan)
        plan = measuring.with_lengths(plan, out / path.stem, foreseen)
        block_time.refuse_short(plan, preflight.prepare(plan, foreseen=foreseen))
    except DynoError as error:
        raise type(error)(of_arm(str(error), path)) from None
    return plan


def of_arm(said: str, path: Path) -> str:
    """A plan's complaint, said of the arm, because the plan's file does not exist yet."""
    said = said.removeprefix(f"{path}: ").removeprefix("key ")
    return OF_ARM.sub(lambda of: f"arm `{of[1]}`: " + (f"{of[2]}: " if of[2] else ""), said)


def keep(path: Path, text: str) -> None:
    """Writes the plan's file, where it is not there yet."""
    if path.exists():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DynoError(f"{path}: cannot be written: {error.strerror}") from None


def verdict(comparison: Comparison, report: Path) -> Iterable[str]:
    """What a race that is over has shown, in lines; `report`: its page."""
    from dbdyno.findings.work import terminal
    from dbdyno.model.work import WorkComparison
    from dbdyno.report import race

    counts = comparison.of(WorkComparison)
    if counts.repeats and not comparison.blocks:
        return [*race.of_applications(comparison), *terminal.lines(counts, report)]
    return race.lines(comparison, report)
