"""Finds builds of MySQL and MariaDB: in a folder that the plan names, fetched, or installed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

from dbdyno.builds import VERSION_S_MAX, Build
from dbdyno.engine.mysql import flavour
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.host.account import Account
from dbdyno.model import engine as engines
from dbdyno.model.error import ServerError

Done = CompletedProcess[str]
VERSION_LINE = re.compile(r"(\S+) +Ver (\d+)\.(\d+)\.(\d+)(\S*) for ")
"""`/usr/sbin/mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64`"""
MISSING_LIBRARY = re.compile(r"loading shared libraries: (\S+): cannot open")
PACKAGES = {
    "libaio.so.1": "libaio1, or libaio1t64 and a link of that name to its libaio.so.1t64",
    "libnuma.so.1": "libnuma1",
    "libncurses.so.5": "libncurses5",
    "libtinfo.so.5": "libtinfo5",
    "liburing.so.2": "liburing2",
}
"""Libraries that prebuilt servers expect of the system, and Debian's packages of them."""
INSTALLED = ("/usr", "/usr/local/mysql", "/usr/local/mariadb")
INSTALLED_PATTERNS = ("opt/mysql*", "opt/mariadb*", "usr/local/mysql-*", "usr/local/mariadb-*")


def inspect(base_dir: Path, engine: str, where: str, account: Account) -> Build:
    """The build of `engine` in a folder. Raises ServerError that begins with `where`."""
    program = program_of(base_dir, engine)
    if program is None:
        raise ServerError(
            f"{where}: `{base_dir}` has neither bin/mysqld, sbin/mysqld nor bin/mariadbd, "
            f"sbin/mariadbd: name the folder above {engines.of(engine).product}'s `bin`"
        )
    blocked = accounts.blocked_at(program, account)
    if blocked is not None:
        raise ServerError(
            f"{where}: account `{account.name}` cannot enter `{blocked}`: move the build, or open "
            f"the folder (chmod o+x {blocked})"
        )
    environment: dict[str, str] = {}
    done = run(program, account, environment)
    if (lacking := MISSING_LIBRARY.search(done.stderr)) and (
        base_dir / "lib" / lacking[1]
    ).exists():
        environment = {"LD_LIBRARY_PATH": str(base_dir / "lib")}
        done = run(program, account, environment)
    said = version_line(done, program, where)
    found = VERSION_LINE.search(said)
    if found is None:
        raise ServerError(f"{where}: `{program} --version` says {said[:200]!r}: not a server")
    told = flavour.told(found[5])
    if told != engines.of(engine).job:
        raise ServerError(
            f"{where}: `{program}` is {engines.of(told).product} "
            f"{found[2]}.{found[3]}.{found[4]}: write "
            f'engine = "{told}", or name another folder'
        )
    made = build_of(base_dir, program, engine, found, where)
    return replace(made, environment=environment)


def build_of(base_dir: Path, program: Path, engine: str, found: re.Match[str], where: str) -> Build:
    """A build from what its program says of itself. Raises ServerError where it is too old."""
    major, minor, patch = int(found[2]), int(found[3]), int(found[4])
    version, number = f"{major}.{minor}.{patch}", major * 10000 + minor * 100 + patch
    least = flavour.of(engine).oldest
    if number < least:
        oldest = f"{least // 10000}.{least // 100 % 100}"
        raise ServerError(
            f"{where}: `{program}` is {engines.of(engine).product} {version}: {oldest} is the "
            "oldest that works"
        )
    # The program names the file that runs; where it was started by a script, another one.
    image = Path(found[1])
    return Build(
        engine=engine,
        base_dir=base_dir,
        program=program,
        version=version,
        version_num=number,
        image=image if image.is_absolute() and image.is_file() else None,
    )


def program_of(base_dir: Path, engine: str) -> Path | None:
    """The server's program in a base directory; None where there is none."""
    candidates = (base_dir / name for name in flavour.of(engine).programs)
    return next((path for path in candidates if path.is_file()), None)


def run(program: Path, account: Account, environment: Mapping[str, str]) -> Done:
    """Asks a program for its version."""
    return accounts.answer(
        [program, "--no-defaults", "--version"],
        account,
        limit_s=VERSION_S_MAX,
        env=account.options()["env"] | environment,
    )


def version_line(done: Done, program: Path, where: str) -> str:
    """The program's answer to `--version`. Raises ServerError where it cannot be run."""
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        if library := MISSING_LIBRARY.search(said):
            package = PACKAGES.get(library[1])
            hint = f"apt-get install {package}" if package else "install the package that has it"
            raise ServerError(f"{where}: `{program}` needs the library {library[1]}: {hint}")
        raise ServerError(f"{where}: `{program}` does not run: {said}")
    return done.stdout


def folders(engine: str, cache: Path | None = None, root: Path = Path("/")) -> Iterator[Path]:
    """The folders under the usual paths in which there may be a server, the cache's first.

    `root`: of the file system.
    """
    yield from sorted((cache or place.cache_root()).joinpath(engine).glob("*"), reverse=True)
    yield from (root / path.lstrip("/") for path in INSTALLED)
    for pattern in INSTALLED_PATTERNS:
        yield from sorted(root.glob(pattern), reverse=True)


def installed(engine: str, version: str, where: str, cache: Path | None, account: Account) -> Build:
    """The newest build of a version (`10.11`, `8.4.6`) under the usual paths.

    Raises ServerError where there is none, with those that there are.
    """
    found: dict[Path, Build] = {}
    broken = None  # why one of the cache that is wanted does not run
    for folder in folders(engine, cache):
        program = program_of(folder, engine)
        if program is None or program.resolve() in found:
            continue
        try:
            found[program.resolve()] = inspect(folder, engine, where, account)
        except ServerError as error:  # of the other engine, too old, or closed to the account
            if starts(folder.name, version):
                broken = broken or error
    wanted = [one for one in found.values() if starts(one.version, version)]
    if wanted:
        return max(wanted, key=lambda one: one.version_num)
    if broken is not None:
        raise broken
    there = ", ".join(f"{one.version} in `{one.base_dir}`" for one in found.values())
    raise ServerError(
        f"{where}: no {engines.of(engine).product} {version} is installed "
        f"({f'there is {there}' if there else 'there is none'}): "
        f"run `dyno server fetch {engine} {version}`, or name its folder by `base_dir`"
    )


def starts(version: str, wanted: str) -> bool:
    """Whether `version` is `wanted` or of that series: 10.11.14 is of 10.11, but not of 10.1."""
    return version == wanted or version.startswith(wanted + ".")
