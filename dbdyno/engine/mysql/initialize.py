"""Makes a data directory of MySQL or MariaDB by the build's own program for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.engine.mysql import log
from dbdyno.engine.mysql.layout import Layout
from dbdyno.host import account as accounts
from dbdyno.host.account import Account
from dbdyno.model.error import ServerError

INITIALISE_S_MAX = 600.0
SCRIPTS = {
    "mariadb": ("mariadb-install-db", "mysql_install_db"),
    "mysql": ("mysql_install_db",),
}
SCRIPT_FOLDERS = ("bin", "scripts")
BEFORE_INITIALIZE = 50706
"""MySQL 5.7.6 is the first whose mysqld makes its data directory itself."""


def initialise(arm: str, layout: Layout, account: Account, environment: Mapping[str, str]) -> None:
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


def command(arm: str, layout: Layout) -> list[str | Path]:
    """The command that makes a data directory. Raises ServerError where the build has none."""
    build = layout.build
    if build.engine == "mysql" and build.version_num >= BEFORE_INITIALIZE:
        return [build.program, f"--defaults-file={layout.options}", "--initialize-insecure"]
    script = script_of(build)
    if script is None:
        names = " or ".join(f"`{name}`" for name in SCRIPTS[build.engine])
        raise ServerError(
            f"arm {arm}: `{build.base_dir}` has no {names}, which makes data directories: take a "
            "whole build"
        )
    found: list[str | Path] = [
        script,
        f"--defaults-file={layout.options}",
        f"--basedir={build.base_dir}",
        f"--datadir={layout.data}",
    ]
    if build.engine == "mariadb":
        # Else only the system's root could come in, and the grant tables would hold its name.
        found += ["--auth-root-authentication-method=normal", "--skip-test-db"]
    return found


def script_of(build: Build) -> Path | None:
    """The script that makes data directories before MySQL 5.7.6 and in MariaDB."""
    for folder in SCRIPT_FOLDERS:
        for name in SCRIPTS[build.engine]:
            path = build.base_dir / folder / name
            if path.is_file():
                return path
    return None
