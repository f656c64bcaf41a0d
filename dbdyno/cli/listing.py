"""The commands that show what is here: workloads, presets, golden copies."""

from __future__ import annotations

from typing import Annotated

import typer

from dbdyno.cli.exit_status import say
from dbdyno.cli.options import DataDir, Wait
from dbdyno.model.error import DynoError

workload_app = typer.Typer(help="List and show the workloads.", no_args_is_help=True)
config_app = typer.Typer(help="List and show the configuration presets.", no_args_is_help=True)
golden_app = typer.Typer(
    help="List and remove golden copies: data directories that later runs begin from.",
    no_args_is_help=True,
)


@workload_app.command("list")
def workload_list() -> None:
    """List the shipped workloads, one per line."""
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
    """List the configuration presets and tags: engine, name, versions, description."""
    from dbdyno.engine import preset

    for line in preset.listing():
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
    """List the golden copies, one per line: key, size, date, origin."""
    from dbdyno.engine import golden
    from dbdyno.host import place

    for line in golden.listing(data_dir or place.data_root()):
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
