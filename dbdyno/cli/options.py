"""Arguments and options that several commands have."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from dbdyno.model.error import DynoError

RESULTS = Path("results")
"""The default folder for result folders."""


def plan_names() -> list[str]:
    """The names to which the shell may complete a plan."""
    from dbdyno.plan import shipped_plans

    return [shipped.name for shipped in shipped_plans.plans()]


def _located(path: Path | None) -> Path | None:
    from dbdyno.plan import shipped_plans

    return None if path is None else shipped_plans.located(path)


PLAN_HELP = "The plan: a file, or the name of one that comes along (`dyno plan list`)."
PlanFile = Annotated[
    Path,
    typer.Argument(metavar="PLAN", help=PLAN_HELP, callback=_located, autocompletion=plan_names),
]
OptionalPlanFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="PLAN",
        help="Also check for this plan's servers.",
        callback=_located,
        autocompletion=plan_names,
    ),
]
ResultFolders = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FOLDER…]", help="Folders with results; `results` without any."),
]
ResultDir = Annotated[Path, typer.Argument(metavar="DIR", help="A result folder.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for result folders.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait while another lab measures here.")]
DryRun = Annotated[
    bool, typer.Option("-n", "--dry-run", help="Print what would happen, and do nothing.")
]
Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="Print results and errors alone, no progress.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON for programs; docs/compare.md has every key.")
]
AsList = Annotated[bool, typer.Option("--json", help="Print JSON for programs: a list of objects.")]
Yes = Annotated[bool, typer.Option("--yes", help="Accept a plan of more than 200 arms.")]
Recipe = Annotated[
    str | None,
    typer.Option("--recipe", help="Flags of a published build, such as o2nofp. Default: `def`."),
]
Cflags = Annotated[str | None, typer.Option("--cflags", help="Your own compiler flags.")]
Configure = Annotated[
    list[str] | None,
    typer.Option("--configure", metavar="OPTIONS", help="Further options for configure or cmake."),
]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Number of parallel compilations.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="The plan's `server.data_dir`, if it has one.")
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="WORD,…",
        help="Exit with status 1 if an arm has one of these verdicts in a step, such as "
        "`slower,failed`; `slower` does not mean `slower, within the margin`. Of your own queries "
        "also `fails` and `differs`.",
    ),
]
Tolerate = Annotated[
    str | None,
    typer.Option(
        "--tolerate",
        metavar="PERCENT",
        help="Ask if any loss beyond, such as 5%, is excluded in every step, of undisturbed time "
        "or throughput (elsewhere of throughput, or time, and CPU per operation): exit with status "
        "0 for yes, 1 for no, 3 for not yet.",
    ),
]
Base = Annotated[str | None, typer.Option("--base", help="Compare with this arm instead.")]
Colors = Annotated[
    str | None,
    typer.Option(
        "--colors",
        metavar="published|LOW,HIGH",
        help="Colour throughput as published, or red up to the ratio LOW and green from HIGH on, "
        "such as 0.97,1.03. Default: what is decided has a colour.",
    ),
]


def refuse_missing(folders: Iterable[Path]) -> None:
    """Raises DynoError where one of these folders of results is not there."""
    for folder in folders:
        if not folder.is_dir():
            raise DynoError(f"{folder}: no such folder; name a folder with results")
