"""Makes a data directory of MySQL or MariaDB by the build's own program for it."""

from collections.abc import Mapping
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine.mysql import flavour, log
from dbdyno.engine.mysql.flavour import since
from dbdyno.engine.mysql.layout import MysqlLayout
from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.model.error import ServerError

INITIALISE_S_MAX = 600.0
SCRIPT_FOLDERS = ("bin", "scripts")
FIRST_DATA = "data"
"""The folder of a build that has the first data of servers, in place of a script."""


def initialise(
    arm: str, layout: MysqlLayout, account: Account, environment: Mapping[str, str]
) -> None:
    """Fills the empty data directory of a layout, with an account `root` that has no password.

    Raises ServerError with what the program said.
    """
    done = accounts.run(
        command(arm, layout), account,
        limit_s=INITIALISE_S_MAX, env=dict(environment), cwd=layout.folder,
    )  # fmt: skip
    if done.returncode == 0:
        return
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    why = log.reason(lines) if any("[ERROR]" in line for line in lines) else " ".join(lines)[-500:]
    raise ServerError(f"arm {arm}: the data directory cannot be made: {why}")


def command(arm: str, layout: MysqlLayout) -> list[str | Path]:
    """The command that makes a data directory. Raises ServerError where the build has none."""
    build = layout.build
    its = flavour.of(build.engine)
    if since(its.initializes_from, build.version_num):
        return [build.program, f"--defaults-file={layout.options}", "--initialize-insecure"]
    script, first = script_of(build), build.base_dir / FIRST_DATA
    if script is None and first.is_dir():
        return ["cp", "--recursive", "--no-target-directory", first, layout.data]
    if script is None:
        names = " or ".join(f"`{name}`" for name in its.scripts)
        raise ServerError(
            f"arm {arm}: `{build.base_dir}` has no {names}, which makes data directories: use a "
            "whole build"
        )
    known = script.read_text(errors="replace")
    return [
        script,
        f"--defaults-file={layout.options}",
        f"--basedir={build.base_dir}",
        f"--datadir={layout.data}",
        *(option for option in its.script_options if option.partition("=")[0] in known),
    ]


def script_of(build: Build) -> Path | None:
    """The script that makes data directories before MySQL 5.7.6 and in MariaDB."""
    for folder in SCRIPT_FOLDERS:
        for name in flavour.of(build.engine).scripts:
            path = build.base_dir / folder / name
            if path.is_file():
                return path
    return None
