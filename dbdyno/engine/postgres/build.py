"""Builds of PostgreSQL that are here: what one is, and which are in the cache or installed.

A version that was fetched once is found without going online: `17` is then the newest 17 that is
here.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from dbdyno.builds import VERSION_S_MAX, Build
from dbdyno.engine.postgres import numbering
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.host.account import Account
from dbdyno.host.program import is_program
from dbdyno.model.error import ServerError

MAJOR_MIN = 9
"""The oldest that there are prebuilt, as 9.6; the newest is the list's to say."""
VERSION_LINE = re.compile(r"postgres \(PostgreSQL\) (\d+)(?:\.(\d+))?(?:\.(\d+))?(\S*)")
INSTALLED = ("usr/lib/postgresql/*", "usr/local/pgsql")
"""The folders in which distributions and a build from source put PostgreSQL, under the root."""


def inspect(base_dir: Path, where: str, account: Account) -> Build:
    """Looks at a folder of programs, as `account`; `where` names it in errors.

    Raises ServerError where it holds no PostgreSQL that the account can run.
    """
    for name in ("postgres", "initdb"):
        if blocked := accounts.blocked_at(base_dir / "bin", account):
            raise ServerError(
                f"{where}: account `{account.name}` cannot enter `{blocked}`: open it to all "
                "(chmod o+x), or put the build elsewhere"
            )
        if not (base_dir / "bin" / name).is_file():
            raise ServerError(
                f"{where}: `{base_dir}` has no bin/{name}: name the folder above bin/"
            )
    postgres = base_dir / "bin" / "postgres"
    environment: dict[str, str] = {}
    said = version_line(postgres, account, environment)
    if "error while loading shared libraries" in said:
        # A tree that was moved after its build: its own libraries lie beside it.
        environment = {"LD_LIBRARY_PATH": str(base_dir / "lib")}
        said = version_line(postgres, account, environment)
    found = VERSION_LINE.match(said)
    if found is None:
        raise ServerError(f"{where}: `{postgres} --version` says no version: {said.strip()[:200]}")
    version, number = version_of(found)
    return Build(
        engine="postgres",
        base_dir=base_dir,
        program=postgres,
        version=version,
        version_num=number,
        environment=environment,
    )


def version_line(postgres: Path, account: Account, environment: Mapping[str, str]) -> str:
    """The answer of `postgres --version`, on either of its outputs."""
    env = account.options()["env"] | environment
    done = accounts.answer([postgres, "--version"], account, limit_s=VERSION_S_MAX, env=env)
    return done.stdout or done.stderr


def version_of(found: re.Match[str]) -> tuple[str, int]:
    """Version and number of what VERSION_LINE matched: ("17.6", 170006), ("9.6.24", 90624)."""
    major, minor, patch = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    version = ".".join(part for part in found.groups()[:3] if part is not None) + found[4]
    return version, major * 10000 + (minor if major >= 10 else minor * 100 + patch)


def cached(engine: str, version: str, cache: Path) -> Path | None:
    """The newest release in the cache that a version names; None where there is none."""
    fitting = [
        (release, folder)
        for folder in (cache / engine).glob("*")
        if (release := numbering.of_folder_name(folder.name)) is not None
        if numbering.names(version, release) and holds_server(folder)
    ]
    return max(fitting)[1] if fitting else None


def holds_server(folder: Path) -> bool:
    """Whether a folder holds a whole server."""
    return all(is_program(folder / "bin" / name) for name in ("postgres", "initdb"))


def installed(cache: Path | None = None, root: Path = Path("/")) -> list[Build]:
    """The builds that are here and work: in the cache, and where distributions put them."""
    folders = sorted((cache or place.cache_root()).glob("postgres/*"))
    folders += [path for pattern in INSTALLED for path in sorted(root.glob(pattern))]
    account = accounts.choose("postgres")
    found = []
    for folder in folders:
        try:
            found.append(inspect(folder, str(folder), account))
        except ServerError:
            continue
    return found
