"""The commands that read result folders: verdicts, reports, exports."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli import exit_status
from dbdyno.cli.exit_status import FAILED, say
from dbdyno.cli.options import AsJson, AsList, Base, Colors, FailOn, ResultDir, Tolerate
from dbdyno.host.terminal import VisibleConsole


def compare(
    folder: ResultDir,
    base: Base = None,
    as_json: AsJson = False,
    fail: FailOn = None,
    tolerate: Tolerate = None,
    colors: Colors = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show verdicts, summary tables and all doubts, too.")
    ] = False,
) -> None:
    """Show the results of a folder, each arm relative to the base."""
    from dbdyno.analysis import compare as analysis
    from dbdyno.parts import colors as schemes
    from dbdyno.parts import tolerate as tolerances
    from dbdyno.report import json_document, page
    from dbdyno.report.render import terminal

    chosen = schemes.parse(colors) if colors is not None else "words"
    exit_status.words(fail)  # before anything is read
    share = tolerances.parse(tolerate) if tolerate is not None else None
    comparison = analysis.load(folder, base=base, tolerate=share)
    if as_json:
        print(json_document.render(comparison))  # noqa: T201
    else:
        show = terminal.print_page if full else terminal.print_answer
        show(page.make(comparison, chosen), VisibleConsole())
    if status := exit_status.of(comparison, fail=fail, as_json=as_json):
        raise typer.Exit(status)


def report(
    folder: ResultDir,
    base: Base = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one HTML file.")] = None,
    post: Annotated[
        list[Path] | None,
        typer.Option(
            "--post",
            metavar="POST.html",
            help="Write one page to publish: the answer, rates and ratios, three charts, versions, "
            "hardware, how to repeat. POST.md has its pictures in the folder POST. Repeatable.",
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="REPORT.md",
            help="Write all tables and charts as Markdown, with pictures in the folder REPORT.",
        ),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Write charts as SVG and PNG to a folder.")
    ] = None,
    colors: Colors = None,
    as_cbc: Annotated[
        bool,
        typer.Option(
            "--cbc",
            help="Print the output of the Complete Block Check's own programs: keys and values of "
            "each arm and block, or the best seconds of its scripts. Only for the workload `cbc`.",
        ),
    ] = False,
) -> None:
    """Write the report of a result folder, by default to the terminal."""
    from dbdyno.analysis import compare as analysis
    from dbdyno.host import flame as flame_program
    from dbdyno.parts import colors as schemes
    from dbdyno.report import cbc, page, write
    from dbdyno.report import post as posts
    from dbdyno.report.render import html as as_html
    from dbdyno.report.render import post as rendered
    from dbdyno.report.render import terminal

    chosen = schemes.parse(colors) if colors is not None else "words"
    comparison = analysis.load(folder, base=base)
    if as_cbc:
        print(cbc.render(comparison), end="")  # noqa: T201
        return
    view = page.make(comparison, chosen)
    files: dict[Path, bytes] = {}
    if post or markdown is not None or pictures is not None:
        say("drawing the pictures")
    if html is not None:
        files[html] = as_html.render(view, draw=flame_program.draw).encode()
    if markdown is not None:
        files |= rendered.files(view, markdown)
    for path in post or ():
        files |= rendered.one_page(posts.make(comparison, chosen), path)
    if pictures is not None:
        files |= rendered.pictures(view, pictures)
    write.publish(files)
    written = [path for path in (html, *(post or ()), markdown, pictures) if path is not None]
    for path in written:
        say(f"wrote {path}")
    if not written:
        terminal.print_page(view, VisibleConsole(), full=True)


def export(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Result folders.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="FILE.duckdb takes all tables; FILE.csv, FILE.json or FILE.parquet take one; a "
            "folder (FOLDER/) takes one file per table.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option("--table", help="Export only this table; default for a file: `steps`."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="Format in a folder: csv, json or parquet (default)."),
    ] = None,
    flame: Annotated[
        Path | None,
        typer.Option(
            "--flame",
            metavar="FOLDER",
            help="Write the flame graphs of profiled steps to a folder: SVG, folded stacks, and "
            "files for speedscope.",
        ),
    ] = None,
    base: Base = None,
) -> None:
    """Export results for other tools: a DuckDB file for SQL, CSV, JSON or Parquet."""
    from dbdyno.host import flame as flame_program
    from dbdyno.model.error import ExportError
    from dbdyno.report import write
    from dbdyno.report.export import flames
    from dbdyno.report.export import write as exporting

    if to is None and (flame is None or table is not None or form is not None):
        raise ExportError("--to FILE is missing: it takes the tables (or --flame FOLDER alone)")
    wish = None if to is None else exporting.wish(to, table, form)
    if flame is not None:
        drawn = flames.files(folders, flame, flame_program.draw, base)
        write.publish(drawn)
        say(f"wrote {flame}: {len(drawn)} files of flame graphs")
    if wish is None:
        return
    written = exporting.export(folders, wish, base)
    for problem in written.problems:
        say(f"left out: {problem}")
    for path, rows in written.files.items():
        say(f"wrote {path}: {rows:,} rows")


def verify(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Result folders.")],
    as_json: AsList = False,
) -> None:
    """Check that the files of results are as they were when their blocks ended.

    Shows damage: files that are missing, changed or new, lines that do not add up, and blocks that
    were copied, moved or edited. Checksums show no forgery: whoever changes a file can change its
    checksum as well.
    """
    from dbdyno.analysis import verification

    checked = [
        verification.verify(part) for folder in folders for part in verification.parts(folder)
    ]
    if as_json:
        print(json.dumps([one.document() for one in checked], indent=1))  # noqa: T201
    else:
        for line in (line for result in checked for line in result.lines()):
            print(line)  # noqa: T201
    if any(result.damage for result in checked):
        raise typer.Exit(FAILED)
