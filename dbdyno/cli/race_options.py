"""Arguments and options of `dyno race`."""

from pathlib import Path
from typing import Annotated

import typer

Arms = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ARM…",
        help="A version (17), engine:version (mysql:9.7), a folder with bin/postgres or "
        "bin/mysqld, the folder of a source, a ref of a checkout (FOLDER@REF), the name of a "
        "build, or a DSN. Settings of one arm follow a semicolon: '18;jit=off'. The first arm is "
        "the base.",
        show_default=False,
    ),
]
Workload = Annotated[
    str | None,
    typer.Option(
        "--workload", metavar="NAME", help="What they run: `dyno workload list`, or a file."
    ),
]
Steps = Annotated[
    list[str] | None,
    typer.Option("--steps", metavar="STEP,…", help="Run only these steps of the workload."),
]
Config = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="PRESET,…",
        help="Configure all arms: each takes the first preset for its version, or a file such as "
        "my.conf. Without it published workloads take the published base configurations, and "
        "queries of your own take `default`, the server's own settings.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the last arm only; a single arm races itself.",
    ),
]
Restore = Annotated[
    str | None,
    typer.Option(
        "--restore",
        metavar="DUMP",
        help="Restore a dump into each arm: of pg_dump (-Fc, -Fd or plain), or of mysqldump.",
    ),
]
AllowWrites = Annotated[
    bool,
    typer.Option(
        "--allow-writes",
        help="Also run, and roll back, captured queries that write on servers named by a DSN.",
    ),
]
Minutes = Annotated[
    float, typer.Option("--minutes", help="End after so many minutes, or when all is decided.")
]
Scripts = Annotated[
    list[str] | None,
    typer.Option("--pgbench", metavar="FILE", help="Run a script of pgbench; may be repeated."),
]
Count = Annotated[
    bool,
    typer.Option(
        "--count",
        help="Count the instructions of an operation in place of its time (needs valgrind).",
    ),
]
Answers = Annotated[
    bool,
    typer.Option(
        "--answers",
        help="Only ask your own queries on each arm: what fails, answers otherwise or is planned "
        "otherwise. Nothing is timed; the same as `--steps answers`.",
    ),
]
OnlyFlipped = Annotated[
    Path | None,
    typer.Option(
        "--only-flipped",
        metavar="FOLDER",
        help="Of your own queries, run those that get another plan, as `dyno plans` wrote into "
        "this folder.",
    ),
]
Dsn = Annotated[
    list[str] | None,
    typer.Option("--dsn", metavar="URI", help="Race a server elsewhere; may be repeated."),
]
