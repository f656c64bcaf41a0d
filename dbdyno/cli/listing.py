"""The commands that show what is here: results, workloads, presets, golden copies."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli.exit_status import say
from dbdyno.cli.options import (
    RESULTS,
    AsList,
    DataDir,
    ResultFolders,
    Wait,
    plan_names,
    refuse_missing,
)
from dbdyno.model.error import DynoError

workload_app = typer.Typer(help="List and show the workloads.", no_args_is_help=True)
plan_app = typer.Typer(help="List, show and copy the plans.", no_args_is_help=True)
config_app = typer.Typer(help="List and show the configuration presets.", no_args_is_help=True)
golden_app = typer.Typer(
    help="List and remove golden copies: data directories that later runs begin from.",
    no_args_is_help=True,
)


def ls(folders: ResultFolders = None, as_json: AsList = False) -> None:
    """List results, the newest first: when, state, blocks, workload, arms, folder."""
    from dbdyno.serve import folders as results
    from dbdyno.serve import plain

    refuse_missing(folders or ())
    found = results.found(folders or [RESULTS])
    if as_json:
        print(json.dumps(plain.document(found), indent=1))  # noqa: T201
        return
    if not found:
        say("no results here; `dyno race` or `dyno run` makes some")
    for line in plain.lines(found, Path.cwd()) if found else ():
        print(line)  # noqa: T201


@plan_app.command("list")
def plan_list(as_json: AsList = False) -> None:
    """List the plans that come along, one per line, each with its question."""
    from dbdyno.plan import shipped_plans

    plans = shipped_plans.plans()
    if as_json:
        rows = [{"name": plan.name, "description": plan.description} for plan in plans]
        print(json.dumps(rows, indent=1))  # noqa: T201
        return
    width = max(len(plan.name) for plan in plans)
    for plan in plans:
        print(f"{plan.name:<{width}}  {plan.description}")  # noqa: T201


PlanName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name.", autocompletion=plan_names)
]


@plan_app.command("show")
def plan_show(name: PlanName) -> None:
    """Print a plan as it is written, with its comments."""
    from dbdyno.plan import shipped_plans

    print(shipped_plans.named(name).path.read_text(encoding="utf-8"), end="")  # noqa: T201


@plan_app.command("copy")
def plan_copy(
    name: PlanName,
    to: Annotated[Path, typer.Option("--to", help="The folder to copy it to.")] = Path(),
) -> None:
    """Copy a plan here, to be changed, with its scripts and workload files.

    `farm` copies what docs/howto/farm.md runs a farm by.
    """
    from dbdyno.plan import shipped_plans

    for path in shipped_plans.copy(name, to):
        say(f"wrote {path}")


def workload_names() -> list[str]:
    """The names to which the shell may complete a workload."""
    from dbdyno import workload

    return list(workload.names())


@workload_app.command("list")
def workload_list(as_json: AsList = False) -> None:
    """List the shipped workloads, one per line."""
    from dbdyno import workload

    if as_json:
        found = [
            {"name": name, "description": workload.load(name).description}
            for name in workload.names()
        ]
        print(json.dumps(found, indent=1))  # noqa: T201
        return
    width = max(map(len, workload.names()))
    for name in workload.names():
        print(f"{name:<{width}}  {workload.load(name).description}")  # noqa: T201


@workload_app.command("show")
def workload_show(
    name: Annotated[
        str, typer.Argument(help="A workload's name, or a file.", autocompletion=workload_names)
    ],
) -> None:
    """Print a workload file."""
    from dbdyno import workload

    print(workload.text(name), end="")  # noqa: T201


@config_app.command("list")
def config_list(as_json: AsList = False) -> None:
    """List the configuration presets and tags: engine, name, versions, description."""
    from dbdyno.engine.preset import show

    if as_json:
        print(json.dumps(show.rows(), indent=1))  # noqa: T201
        return
    for line in show.listing():
        print(line)  # noqa: T201


@config_app.command("show")
def config_show(
    name: Annotated[str, typer.Argument(help="A preset, optionally with tags: x10a, z12a_bl0.")],
    cores: Annotated[int | None, typer.Option(help="Size it for this many cores.")] = None,
    memory: Annotated[str | None, typer.Option(help="Size it for this memory: 32GB.")] = None,
    version: Annotated[str | None, typer.Option(help="For this version: 17, 8.4.6.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="The engine, if two have the name: mysql, mariadb.")
    ] = None,
) -> None:
    """Print a preset, sized for this host or another."""
    from dbdyno.engine.preset import arm_config, show
    from dbdyno.host import capacity
    from dbdyno.model.size import Capacity

    shown = show.show(
        name,
        capacity=Capacity(
            cores=cores or capacity.cores(),
            memory_bytes=arm_config.bytes_of(memory) if memory else capacity.memory_bytes(),
            free_disk_bytes=None,
        ),
        release=version,
        engine=engine,
    )
    print(shown, end="")  # noqa: T201


@golden_app.command("list")
def golden_list(data_dir: DataDir = None, as_json: AsList = False) -> None:
    """List the golden copies, one per line: key, size, date, origin."""
    from dbdyno.engine import golden
    from dbdyno.host import place

    root = data_dir or place.data_root()
    if as_json:
        print(json.dumps(golden.rows(root), indent=1))  # noqa: T201
        return
    for line in golden.listing(root):
        print(line)  # noqa: T201


@golden_app.command("remove")
def golden_remove(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="Keys of the copies to remove.")
    ] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Remove all copies.")] = False,
    data_dir: DataDir = None,
    wait: Wait = False,
) -> None:
    """Remove golden copies. Refused while a lab measures on this host."""
    from dbdyno.engine import golden
    from dbdyno.host import place
    from dbdyno.host.lock import HostLock

    if bool(keys) == all_of_them:
        raise DynoError("name the keys of golden copies (`dyno golden list`), or say --all")
    root = data_dir or place.data_root()
    with HostLock(plan="golden remove", wait=wait):
        for key in golden.remove(root, keys or [one.name for one in golden.marked(root)]):
            say(f"removed {key}")
