"""Builds of PostgreSQL: those that are here, and bringing prebuilt ones into the cache.

A version that was fetched once is found without going online: `17` is then the newest 17 that is
here.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from dbdyno.builds import VERSION_S_MAX, Build
from dbdyno.builds import cache as builds_cache
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.host import program as binary
from dbdyno.host.account import Account
from dbdyno.model.error import ServerError

FETCH_S_MAX = 900.0
MAJOR_MIN, MAJOR_MAX = 9, 18
"""The versions that there are prebuilt: 9.6 to 18."""
VERSION = re.compile(r"\d+(\.\d+){0,2}")
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
    done = accounts.run([postgres, "--version"], account, limit_s=VERSION_S_MAX, env=env)
    return done.stdout or done.stderr


def version_of(found: re.Match[str]) -> tuple[str, int]:
    """Version and number of what VERSION_LINE matched: ("17.6", 170006), ("9.6.24", 90624)."""
    major, minor, patch = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    version = ".".join(part for part in found.groups()[:3] if part is not None) + found[4]
    return version, major * 10000 + (minor if major >= 10 else minor * 100 + patch)


def fetch(engine: str, version: str, cache: Path | None = None, *, newest: bool = False) -> Path:
    """The folder of a prebuilt server, brought into the cache where it is not there yet.

    `newest`: goes online for `17` even though a 17 is in the cache. Raises ServerError where the
    version does not exist or cannot be brought.
    """
    cache = cache or place.cache_root()
    check(engine, version)
    here = cached(engine, version, cache)
    if here is not None and not (newest and version.count(".") < 1):
        return here
    program = binary.find("dyno-fetch")
    cache.mkdir(parents=True, exist_ok=True)
    command = [str(program), engine, version, "--into", str(cache), "--json"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_S_MAX, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ServerError(
            f"{engine} {version} was not fetched within {FETCH_S_MAX:.0f} s: check the network"
        ) from error
    if done.returncode != 0:
        said = " ".join(done.stderr.split()).removeprefix(f"{program.name}: ")
        said = said or f"{program} ended with status {done.returncode}"
        raise ServerError(f"{engine} {version} cannot be fetched: {said}")
    try:
        path = Path(json.loads(done.stdout)["path"])
    except (ValueError, KeyError, TypeError) as error:
        raise ServerError(f"`{program}` gave an invalid answer: {done.stdout[:200]!r}") from error
    builds_cache.open_to_all(path, cache)
    return path


def check(engine: str, version: str) -> None:
    """Raises ServerError for an engine or a version that there cannot be prebuilt."""
    if engine != "postgres":
        raise ServerError(f"no prebuilt `{engine}` is available: name its folder by `base_dir`")
    if not VERSION.fullmatch(version) or not MAJOR_MIN <= int(version.split(".")[0]) <= MAJOR_MAX:
        raise ServerError(
            f"there is no PostgreSQL `{version}` prebuilt: write `17`, `17.6` (9.6 to 18)"
        )


def cached(engine: str, version: str, cache: Path) -> Path | None:
    """The newest version in the cache that `version` names; None where there is none."""
    wanted = parts_of(version)
    found = [
        (parts_of(path.name), path)
        for path in (cache / engine).glob("*")
        if VERSION.fullmatch(path.name) and (path / "bin" / "initdb").is_file()
    ]
    fitting = [one for one in found if one[0][: len(wanted)] == wanted]
    return max(fitting)[1] if fitting else None


def parts_of(version: str) -> tuple[int, ...]:
    """(17, 6) of `17.6`; a third part of 0, which the index adds (`17.6.0`), is dropped."""
    parts = tuple(map(int, version.split(".")))
    return parts[:2] if len(parts) == 3 and parts[0] >= 10 else parts


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
