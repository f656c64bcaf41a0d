"""The command `dyno`: each command parses, calls one function, prints.

Exit status: 0 done; 1 finished, but steps failed, or `compare --fail-on` found what it was told to;
2 bad input, said in one line; 130 interrupted, everything that was measured is kept.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dbdyno import __version__
from dbdyno.cli import server
from dbdyno.cli.exit_status import BAD_INPUT, FAILED, INTERRUPTED, say
from dbdyno.model import Plan
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.run.blocks import Outcome

app = typer.Typer(
    help="A dynamometer for database engines: did this version, build or configuration get "
    "faster or slower, by how much, and how sure are we?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
workload_app = typer.Typer(help="List and show the workloads.", no_args_is_help=True)
config_app = typer.Typer(help="List and show the configuration presets.", no_args_is_help=True)
golden_app = typer.Typer(
    help="List and remove golden copies: data directories that later runs begin from.",
    no_args_is_help=True,
)
app.add_typer(server.app, name="server")
app.add_typer(workload_app, name="workload")
app.add_typer(config_app, name="config")
app.add_typer(golden_app, name="golden")

RESULTS = Path("results")
"""Where result folders are kept where nobody says it."""
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN.toml", help="The plan.")]
ResultDir = Annotated[Path, typer.Argument(metavar="DIR", help="A result folder.")]
Out = Annotated[Path, typer.Option("--out", help="Where result folders are kept.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait while another lab measures here.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Take a plan of more than 200 arms.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="The plan's `server.data_dir`, where it has one.")
]
Base = Annotated[str | None, typer.Option("--base", help="Compare with this arm instead.")]
Colors = Annotated[
    str | None,
    typer.Option(
        "--colors",
        metavar="LOW,HIGH",
        help="Throughput relative to the base is red up to LOW and green from HIGH on, as "
        "0.97,1.03; without it the published colours.",
    ),
]


def show_version(value: bool) -> None:
    """Prints the version and ends, where --version was given."""
    if value:
        print(f"dyno {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Options that stand before the command."""


@app.command()
def demo(out: Out = RESULTS, wait: Wait = False) -> None:
    """Two PostgreSQL versions, a short Insert Benchmark in three blocks, a report."""
    from dbdyno import plan

    outcome = measure(plan.demo(), out, wait)
    show_results(outcome.folder, html=outcome.folder / "report.html")
    raise typer.Exit(FAILED if outcome.failed else 0)


@app.command()
def run(
    plan_file: PlanFile,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Run a plan, or go on with it where it was broken off."""
    plan = loaded(plan_file, yes=yes)
    carry_out(with_lengths(plan, out / plan.name), out, wait=wait, dry_run=dry_run)


@app.command()
def calibrate(
    plan_file: PlanFile,
    comparisons: Annotated[
        int, typer.Option("--comparisons", help="How often the base is compared with itself.")
    ] = 10,
    blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks",
            help="Blocks of each comparison; without it the plan's, or 6 where it goes on until "
            "it is decided.",
        ),
    ] = None,
    duet: Annotated[
        bool,
        typer.Option(
            "--duet",
            help="Accept duets on this host, or not: the base beside its ghost and beside the "
            "servers of --planted, each in a comparison.",
        ),
    ] = False,
    planted: Annotated[
        list[str] | None,
        typer.Option(
            "--planted",
            metavar="SHARE=FOLDER",
            help="With --duet: a server that `tools/plant` made slower by a share, as "
            "0.05=/opt/pg17-slower; two of them at least.",
        ),
    ] = None,
    out: Out = RESULTS,
    wait: Wait = False,
    dry_run: DryRun = False,
) -> None:
    """Compare the base with itself, to see how often that raises a false alarm on this host.

    The base and a ghost of it go through the plan's steps without the other arms. The result
    folder's name is the plan's with `.calibration`.
    """
    from dbdyno import plan
    from dbdyno.plan import calibration

    if duet:
        accept_duets(plan.load(plan_file), planted or (), blocks, out, wait=wait, dry_run=dry_run)
        return
    asked = plan.load(plan_file)
    asked = with_lengths(asked, out / f"{asked.name}{calibration.SUFFIX}")
    carry_out(calibration.of(asked, comparisons, blocks), out, wait=wait, dry_run=dry_run)


@app.command()
def check(plan_file: PlanFile, yes: Yes = False) -> None:
    """Say what is wrong with a plan, or what it would do, how long it takes and what it needs."""
    plan = loaded(plan_file, yes=yes)
    show_outlook(with_lengths(plan, RESULTS / plan.name))


@app.command()
def doctor(
    plan_file: Annotated[
        Path | None,
        typer.Argument(metavar="PLAN.toml", help="Look for this plan's servers, too."),
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where servers are to have their data.")
    ] = None,
    shared_buffers: Annotated[
        str | None,
        typer.Option("--shared-buffers", metavar="SIZE", help="Of a server to be, as 8GB."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, for programs; docs/doctor.md has every key.")
    ] = False,
) -> None:
    """Say what on this host disturbs a benchmark, and how to mend it; changes nothing."""
    from dbdyno import plan
    from dbdyno.doctor import render
    from dbdyno.run.check import host_checkup

    wanted = plan.load(plan_file) if plan_file is not None else None
    its = host_checkup.check_up(wanted, data_dir, shared_buffers)
    if as_json:
        print(json.dumps(render.document(its.findings, its.facts), indent=2))  # noqa: T201
    else:
        for line in render.lines(its.findings, its.facts):
            print(line)  # noqa: T201


@app.command()
def compare(
    folder: ResultDir,
    base: Base = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, for programs; docs/compare.md has every key.")
    ] = False,
    fail: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="WORD,…",
            help="End with status 1 where an arm has one of these verdicts in a step, as "
            "`slower,mixed,failed`; `slower` does not mean `slower, within the margin`.",
        ),
    ] = None,
    colors: Colors = None,
) -> None:
    """Show what the arms of a result folder came to, relative to the base."""
    from dbdyno.analysis import compare as analysis
    from dbdyno.report import colors as thresholds
    from dbdyno.report import fail_on, json_document, page
    from dbdyno.report.render import terminal

    chosen = thresholds.parse(colors) if colors is not None else None
    words = fail_on.parse(fail) if fail is not None else None
    comparison = analysis.load(folder, base=base)
    if as_json:
        print(json_document.render(comparison))  # noqa: T201
    else:
        terminal.print_page(page.make(comparison, chosen), Console())
    found = fail_on.found(comparison, words) if words is not None else None
    if found is not None:
        say(f"--fail-on {fail}: {found}")
        raise typer.Exit(FAILED)


@app.command()
def report(
    folder: ResultDir,
    base: Base = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one HTML file.")] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="POST.md", help="Write Markdown, its pictures to folder POST."
        ),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Write each chart as SVG and PNG there.")
    ] = None,
    colors: Colors = None,
    as_cbc: Annotated[
        bool,
        typer.Option(
            "--cbc",
            help="Print what the Complete Block Check's own programs print: keys and values of "
            "each arm and block, or the best seconds of its scripts; for the workload `cbc` alone.",
        ),
    ] = False,
) -> None:
    """Write the report of a result folder; in the terminal where no file is named."""
    from dbdyno.analysis import compare as analysis
    from dbdyno.report import cbc, page, write
    from dbdyno.report import colors as thresholds
    from dbdyno.report.render import html as as_html
    from dbdyno.report.render import post, terminal

    chosen = thresholds.parse(colors) if colors is not None else None
    comparison = analysis.load(folder, base=base)
    if as_cbc:
        print(cbc.render(comparison), end="")  # noqa: T201
        return
    view = page.make(comparison, chosen)
    files: dict[Path, bytes] = {}
    if markdown is not None or pictures is not None:
        say("drawing the pictures")
    if html is not None:
        files[html] = as_html.render(view).encode()
    if markdown is not None:
        files |= post.files(view, markdown)
    if pictures is not None:
        files |= post.pictures(view, pictures)
    write.publish(files)
    for path in (html, markdown, pictures):
        if path is not None:
            say(f"wrote {path}")
    if html is None and markdown is None and pictures is None:
        terminal.print_page(view, Console(), full=True)


@app.command()
def export(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Result folders.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FILE",
            help="FILE.duckdb takes all tables; FILE.csv, FILE.json or FILE.parquet take one; a "
            "folder (FOLDER/) takes a file of each table.",
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option("--table", help="Only this table; `steps` where a file takes one."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="In a folder: csv, json or parquet, the default."),
    ] = None,
    base: Base = None,
) -> None:
    """Write what was measured for other tools: a DuckDB file to ask SQL, CSV, JSON or Parquet."""
    from dbdyno.report.export import write as exporting

    written = exporting.export(folders, exporting.wish(to, table, form), base)
    for problem in written.problems:
        say(f"left out: {problem}")
    for path, rows in written.files.items():
        say(f"wrote {path}: {rows:,} rows")


def loaded(plan_file: Path, *, yes: bool) -> Plan:
    """The plan of a file; `yes`: however many arms it has."""
    from dbdyno import plan
    from dbdyno.plan import matrix

    return plan.load(plan_file, None if yes else matrix.ARMS_MAX)


def with_lengths(plan: Plan, folder: Path) -> Plan:
    """The plan with the lengths of steps and turns that it leaves open; `folder`: its results."""
    from dbdyno.analysis.compare import earlier_calibration
    from dbdyno.run.check import step_lengths

    return step_lengths.settle(plan, folder, earlier_calibration.newest)


def carry_out(plan: Plan, out: Path, *, wait: bool, dry_run: bool) -> None:
    """Runs a plan, or what is missing of it, shows the results and ends `dyno` with the status."""
    if dry_run:
        show_outlook(plan)
        return
    outcome = measure(plan, out, wait)
    show_results(outcome.folder, html=None)
    raise typer.Exit(FAILED if outcome.failed else 0)


def show_outlook(plan: Plan) -> None:
    """Prints what a plan would do, after all checks."""
    from dbdyno.run.check import dry_run as outlook
    from dbdyno.run.check import preflight

    for line in outlook.describe(plan, preflight.prepare(plan)):
        print(line)  # noqa: T201


def accept_duets(
    plan: Plan, planted: Sequence[str], blocks: int | None, out: Path, *, wait: bool, dry_run: bool
) -> None:
    """`dyno calibrate --duet`: measures, or says what would be measured."""
    from dbdyno.cli import duet
    from dbdyno.plan import calibration

    if dry_run:
        for one in calibration.duets(plan, planted, blocks).values():
            show_outlook(one)
        return
    status = duet.accept(plan, planted, blocks, lambda one: measure(one, out, wait))
    if status:
        raise typer.Exit(status)


def measure(plan: Plan, out: Path, wait: bool) -> Outcome:
    """Runs a plan; where it is interrupted, ends `dyno` with the status that says so."""
    from dbdyno.analysis import compare
    from dbdyno.analysis.compare import earlier_results
    from dbdyno.run import looks

    try:
        return looks.run(plan, out, compare.load, seek=earlier_results.prior, wait=wait)
    except KeyboardInterrupt:
        say("interrupted; everything measured is kept, the same command goes on")
        raise typer.Exit(INTERRUPTED) from None


def show_results(folder: Path, html: Path | None) -> None:
    """Prints the tables of `folder` and writes the report where `html` names a file."""
    from dbdyno.analysis import compare as analysis
    from dbdyno.report import page, write
    from dbdyno.report.render import html as as_html
    from dbdyno.report.render import terminal

    view = page.make(analysis.load(folder))
    terminal.print_page(view, Console())
    if html is not None:
        write.publish({html: as_html.render(view).encode()})
        say(f"wrote {html}")
    else:
        say(f"results: {folder}; the report: dyno report {folder} --html report.html")


@workload_app.command("list")
def workload_list() -> None:
    """Show the workloads that come with dyno, each in a line."""
    from dbdyno import workload

    width = max(map(len, workload.names()))
    for name in workload.names():
        print(f"{name:<{width}}  {workload.load(name).description}")  # noqa: T201


@workload_app.command("show")
def workload_show(
    name: Annotated[str, typer.Argument(help="A workload's name, or a file.")],
) -> None:
    """Print a workload file."""
    from dbdyno import workload

    print(workload.text(name), end="")  # noqa: T201


@config_app.command("list")
def config_list() -> None:
    """Show the configuration presets and tags: engine, name, versions, what it is."""
    from dbdyno.engine import preset

    for line in preset.listing():
        print(line)  # noqa: T201


@config_app.command("show")
def config_show(
    name: Annotated[str, typer.Argument(help="A preset, with tags if you like: x10a, z12a_bl0.")],
    cores: Annotated[int | None, typer.Option(help="Size it for this many cores.")] = None,
    memory: Annotated[str | None, typer.Option(help="Size it for this memory: 32GB.")] = None,
    version: Annotated[str | None, typer.Option(help="For this version: 17, 8.4.6.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="Of a name that two have: mysql, mariadb.")
    ] = None,
) -> None:
    """Print a preset as it would be on this host, or on one of another size."""
    from dbdyno.engine import preset
    from dbdyno.engine.preset import arm_config
    from dbdyno.host import capacity

    shown = preset.show(
        name,
        capacity=preset.Capacity(
            cores=cores or capacity.cores(),
            memory_bytes=arm_config.bytes_of(memory) if memory else capacity.memory_bytes(),
            free_disk_bytes=None,
        ),
        release=version,
        engine=engine,
    )
    print(shown, end="")  # noqa: T201


@golden_app.command("list")
def golden_list(data_dir: DataDir = None) -> None:
    """Show the golden copies that are here, a line each: key, size, when, of what."""
    from dbdyno.engine import golden
    from dbdyno.host import place

    for line in golden.listing(data_dir or place.data_root()):
        print(line)  # noqa: T201


@golden_app.command("remove")
def golden_remove(
    keys: Annotated[list[str] | None, typer.Argument(metavar="KEY", help="Which ones.")] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="All that are here.")] = False,
    data_dir: DataDir = None,
    wait: Wait = False,
) -> None:
    """Remove golden copies; not while a lab measures on this host."""
    from dbdyno.engine import golden
    from dbdyno.host import place
    from dbdyno.host.lock import HostLock

    if bool(keys) == all_of_them:
        raise DynoError("name the keys of golden copies (`dyno golden list`), or say --all")
    root = data_dir or place.data_root()
    with HostLock(plan="golden remove", wait=wait):
        for key in golden.remove(root, keys or [one.name for one in golden.marked(root)]):
            say(f"removed {key}")


def main() -> int:
    """Runs `dyno`; returns the exit status, or ends the process with it (SystemExit)."""
    signal.signal(signal.SIGTERM, interrupt)
    try:
        app()
    except DynoError as error:
        say(f"dyno: {error}")
        return BAD_INPUT
    return 0


def interrupt(number: int, frame: object) -> None:
    """SIGTERM ends a run like Ctrl-C: in order."""
    raise KeyboardInterrupt
