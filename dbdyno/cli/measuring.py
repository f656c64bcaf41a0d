"""The commands that measure, or say what they would measure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli import exit_status
from dbdyno.cli.exit_status import interruptible, say
from dbdyno.cli.options import (
    RESULTS,
    AsJson,
    DryRun,
    FailOn,
    OptionalPlanFile,
    Out,
    PlanFile,
    Quiet,
    Tolerate,
    Wait,
    Yes,
)
from dbdyno.cli.slurm import Cancel, Nodelist, Partition, SlurmChoice, SlurmOptions, UseSlurm
from dbdyno.host.terminal import VisibleConsole
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.engine import Build
    from dbdyno.model import Comparison, Plan
    from dbdyno.model.work import Event
    from dbdyno.parts.part import AnyPart
    from dbdyno.run.blocks import PlanOutcome
    from dbdyno.run.check.host_checkup import Checkup
    from dbdyno.run.ready_plan import ReadyPlan
    from dbdyno.run.runner import BlockRunner


Counts = Annotated[
    bool,
    typer.Option(
        "--count",
        help="Count the base's work 40 times, and keep how far that repeats on this host: later "
        "counts have their intervals by it.",
    ),
]


def demo(
    out: Out = RESULTS, wait: Wait = False, quiet: Quiet = False, as_json: AsJson = False
) -> None:
    """Compare PostgreSQL 12 with 18 in under five minutes, in a query known to differ; a report."""
    from dbdyno import plan
    from dbdyno.host.callgrind import program

    outcome = measure(plan.demo(counts=program.is_here()), out, wait, quiet=quiet)
    html = outcome.folder / "report.html"
    comparison = show_results(outcome.folder, html=html, quiet=quiet, as_json=as_json)
    raise typer.Exit(exit_status.of(comparison, outcome.folder))


def run(
    plan_file: PlanFile,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    slurm: UseSlurm = False,
    partition: Partition = None,
    nodelist: Nodelist = None,
    slurm_option: SlurmOptions = None,
    cancel: Cancel = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    tolerate: Tolerate = None,
    fail: FailOn = None,
) -> None:
    """Run a plan, or resume it after an interruption."""
    from dbdyno.parts import tolerate as tolerances
    from dbdyno.report import fail_on

    words = exit_status.words(fail)  # before anything runs
    plan = loaded(plan_file, yes=yes)
    if tolerate is not None:
        share = tolerances.parse(tolerate)
        plan = replace(plan, aims=replace(plan.aims, tolerate=share))
    plan = with_lengths(plan, out / plan.name)
    refuse_few(plan, fail_on.remedies(words))
    options = tuple(slurm_option or ())
    by = SlurmChoice(slurm, partition, nodelist, options, cancel=cancel, dry_run=dry_run)
    go_on(plan, out, by, wait=wait, quiet=quiet, as_json=as_json, fail=fail)


def calibrate(
    plan_file: PlanFile,
    comparisons: Annotated[
        int, typer.Option("--comparisons", help="Number of comparisons of the base with itself.")
    ] = 10,
    blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks",
            help="Blocks of each comparison. Default: the plan's, or 6 if the plan goes on until "
            "it is decided.",
        ),
    ] = None,
    fills: Annotated[
        int | None,
        typer.Option(
            "--fills",
            help="Measure the scatter between so many fills, such as 6; see docs/plan.md.",
        ),
    ] = None,
    count: Counts = False,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
    slurm: UseSlurm = False,
    partition: Partition = None,
    nodelist: Nodelist = None,
    slurm_option: SlurmOptions = None,
    cancel: Cancel = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare the base with itself, to count false alarms on this host.

    The base and its A/A arm go through the plan's steps without the other arms. The result
    folder is named after the plan, with `.calibration` (and with `.fills` where these are
    measured, `.count` where work is counted).
    """
    from dbdyno import plan
    from dbdyno.plan import calibration

    asked = plan.load(plan_file)
    options = tuple(slurm_option or ())
    by = SlurmChoice(slurm, partition, nodelist, options, cancel=cancel, dry_run=dry_run)
    if count:
        go_on_counting(calibration.counts(asked), out, by, wait=wait, quiet=quiet, as_json=as_json)
        return
    asked = with_lengths(asked, out / calibration.name_of(asked, fills))
    wanted = calibration.of(asked, comparisons, blocks, fills)
    go_on(wanted, out, by, wait=wait, quiet=quiet, as_json=as_json)


def check(
    plan_file: PlanFile,
    yes: Yes = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON for programs: the plan as in plan.json (docs/results.md), order and "
            "expected time of its blocks, notices.",
        ),
    ] = False,
) -> None:
    """Check a plan: report what is wrong, or what it would do, how long it takes, what it needs."""
    plan = loaded(plan_file, yes=yes)
    show_outlook(with_lengths(plan, RESULTS / plan.name), as_json=as_json)


def doctor(
    plan_file: OptionalPlanFile = None,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where servers will keep their data.")
    ] = None,
    shared_buffers: Annotated[
        str | None,
        typer.Option(
            "--shared-buffers", metavar="SIZE", help="Buffers of a planned server, such as 8GB."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, for programs; docs/doctor.md has every key.")
    ] = False,
) -> None:
    """Report what on this host disturbs a benchmark, with remedies; changes nothing."""
    from dbdyno import plan
    from dbdyno.doctor import render
    from dbdyno.run.agent import runner
    from dbdyno.run.check import host_checkup

    wanted = plan.load(plan_file) if plan_file is not None else None
    if wanted is not None and runner.is_needed(wanted):
        show_check_ups(runner.check_ups(wanted, shared_buffers), as_json=as_json)
        return
    its = host_checkup.check_up(wanted, data_dir, shared_buffers)
    if as_json:
        print(json.dumps(render.document(its.findings, its.facts), indent=2))  # noqa: T201
    else:
        for line in render.lines(its.findings, its.facts):
            print(line)  # noqa: T201


def show_check_ups(found: Mapping[str, Checkup], *, as_json: bool) -> None:
    """Prints what the doctor finds on each of a plan's hosts."""
    from dbdyno.doctor import render

    if as_json:
        documents = {name: render.document(its.findings, its.facts) for name, its in found.items()}
        print(json.dumps({"hosts": documents}, indent=2))  # noqa: T201
        return
    for name, its in found.items():
        print(f"== {name}")  # noqa: T201
        for line in render.lines(its.findings, its.facts):
            print(line)  # noqa: T201


def loaded(plan_file: Path, *, yes: bool) -> Plan:
    """The plan of a file; `yes`: however many arms it has."""
    from dbdyno import plan
    from dbdyno.plan import matrix

    return plan.load(plan_file, None if yes else matrix.ARMS_MAX)


def with_lengths(plan: Plan, folder: Path, foreseen: Mapping[str, Build] | None = None) -> Plan:
    """The plan with the length of steps that it leaves open; `folder`: its results.

    `foreseen`: by arm builds that are yet to be made, here and below.
    """
    from dbdyno.run.check import step_lengths

    return step_lengths.settle(plan, folder, foreseen)


def go_on(
    plan: Plan,
    out: Path,
    by: SlurmChoice,
    *,
    wait: bool,
    quiet: bool,
    as_json: bool,
    fail: str | None = None,
) -> None:
    """Runs a plan as it was chosen: here or by Slurm, or says what that would do."""
    runner = by.runner()
    if by.dry_run:
        show_outlook(plan, as_json=as_json)
    elif not by.cancelled(plan, out):
        carry_out(plan, out, wait=wait, quiet=quiet, as_json=as_json, runner=runner, fail=fail)


def carry_out(
    plan: Plan,
    out: Path,
    *,
    wait: bool,
    quiet: bool,
    as_json: bool,
    runner: BlockRunner | None = None,
    fail: str | None = None,
) -> None:
    """Runs a plan, or what is missing of it, shows the results and ends `dyno` with the status."""
    outcome = measure(plan, out, wait, quiet=quiet, runner=runner)
    comparison = show_results(outcome.folder, html=None, quiet=quiet, as_json=as_json)
    raise typer.Exit(exit_status.of(comparison, outcome.folder, fail=fail, as_json=as_json))


def show_outlook(
    plan: Plan, foreseen: Mapping[str, Build] | None = None, *, as_json: bool = False
) -> None:
    """Prints what a plan would do, after all checks."""
    from dbdyno.run.check import dry_run as outlook

    prepared, resources = checked(plan, foreseen)
    if as_json:
        print(json.dumps(outlook.document(plan, prepared), indent=2))  # noqa: T201
        return
    for line in outlook.describe(plan, prepared, resources):
        print(line)  # noqa: T201


def checked(
    plan: Plan, foreseen: Mapping[str, Build] | None = None
) -> tuple[ReadyPlan, list[str] | None]:
    """The plan, checked on this host or on all that it names, and in words what it takes of these.

    Raises DynoError.
    """
    from dbdyno.run.agent import runner
    from dbdyno.run.check import preflight

    if runner.is_needed(plan):
        return runner.checked(plan)
    return preflight.prepare(plan, foreseen=foreseen), None


def go_on_counting(
    plan: Plan, out: Path, by: SlurmChoice, *, wait: bool, quiet: bool, as_json: bool
) -> None:
    """`dyno calibrate --count`: counts, or says what would be counted. Raises DynoError."""
    from dbdyno.cli import count_calibration

    if by.slurm:
        raise DynoError("--slurm: --count keeps what it finds on this host alone; leave it out")
    if by.dry_run:
        show_outlook(plan, as_json=as_json)
        return
    outcome = measure(plan, out, wait, quiet=quiet)
    status = count_calibration.keep(plan, outcome.folder, as_json=as_json)
    if status:
        raise typer.Exit(status)


def refuse_few(
    plan: Plan, remedies: Mapping[Event, str], foreseen: Mapping[str, Build] | None = None
) -> None:
    """Raises PlanError where a counted step has too few operations to tell one of these more.

    `remedies`: what to do in place of counting more. A plan that counts nothing is not refused.
    """
    from dbdyno.plan import count
    from dbdyno.run.check import counting, preflight

    if plan.count is None or not remedies:
        return
    filling = replace(count.filling(plan), count=plan.count)
    steps = counting.counted(filling, preflight.prepare(filling, foreseen=foreseen))
    for event, remedy in remedies.items():
        count.refuse_few(filling, steps, event, remedy)


def counts_differ_by(plan: Plan) -> float:
    """By what share counts of one build may differ, as this host's calibration has it; 0: unknown.

    Of the plan's repeats, in steps that write or read.
    """
    from dbdyno import engine
    from dbdyno.findings.work.plan import known_scatter
    from dbdyno.host import count_scatter, place
    from dbdyno.host.observe import facts
    from dbdyno.stats import work

    assert plan.count is not None
    family = engine.of(plan.arms[0].engine).traits.family
    host = facts.collect(place.nearest(place.data_root()), measure=False)
    calibration = count_scatter.known(family, host)
    known = (known_scatter(calibration, writes=writes) for writes in (False, True))
    ratios = (work.ratio([0.0] * plan.count.repeats, scatter) for scatter in known if scatter)
    return max(((ratio.high or 1.0) - 1 for ratio in ratios), default=0.0)


def measure(
    plan: Plan, out: Path, wait: bool, *, quiet: bool = False, runner: BlockRunner | None = None
) -> PlanOutcome:
    """Runs a plan; where it is interrupted, ends `dyno` with the status that says so.

    `runner`: how its blocks are run; None: as the plan says.
    """
    from dbdyno.analysis import compare
    from dbdyno.report import evidence
    from dbdyno.run import looks

    between = evidence.lines if plan.schedule.until_decided else None
    with interruptible():
        return looks.run(
            plan,
            out,
            compare.load,
            evidence=between,
            runner=runner or runner_of(plan, wait),
            quiet=quiet,
        )


def runner_of(plan: Plan, wait: bool) -> BlockRunner:
    """How the plan's blocks are run: on this host, or over the hosts that it names."""
    from dbdyno.run.agent import runner
    from dbdyno.run.runner import LocalRunner

    return runner.HostsRunner(wait=wait) if runner.is_needed(plan) else LocalRunner(wait=wait)


def show_results(
    folder: Path,
    html: Path | None,
    *,
    quiet: bool,
    as_json: bool,
    only: Callable[[Comparison], Iterable[AnyPart]] | None = None,
    lines: Callable[[Comparison], Iterable[str]] | None = None,
) -> Comparison:
    """Prints the tables of `folder`, writes the report where `html` names a file; what they show.

    `only`: prints these parts and doubts; the whole page where there are none. `lines`: prints
    these in its place.
    """
    from dbdyno.analysis import compare as analysis
    from dbdyno.host import flame
    from dbdyno.parts import hints
    from dbdyno.parts.part import Callout
    from dbdyno.report import json_document, page, write
    from dbdyno.report.render import html as as_html
    from dbdyno.report.render import terminal

    comparison = analysis.load(folder)
    view = page.make(comparison)
    if html is not None:  # first: what has a page is over, whoever reads what is printed
        write.publish({html: as_html.render(view, draw=flame.draw).encode()})
    if as_json:
        print(json_document.render(comparison))  # noqa: T201
    elif lines is not None:
        print("\n".join(lines(comparison)))  # noqa: T201
    else:
        told = tuple(only(comparison)) if only is not None else ()
        if told:
            told += tuple(part for part in view.parts if isinstance(part, Callout))
        show = terminal.print_page if told else terminal.print_answer
        show(replace(view, parts=told or view.parts), VisibleConsole())
    wrote = f"results: {folder}; the report: {hints.page(str(folder))}"
    if not quiet:
        say(wrote if html is None else f"wrote {html}")
    return comparison
