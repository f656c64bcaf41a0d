"""How `initdb` makes a cluster: its arguments for a version, and what a host or version lacks.

Since which version initdb has an option: https://www.postgresql.org/docs/release/11.0/
(`--wal-segsize`), https://www.postgresql.org/docs/release/18.0/ (`--no-data-checksums`).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.host import account as accounts
from dbdyno.host import locales
from dbdyno.host.account import Account
from dbdyno.model import Arm, Initdb, Json
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.model.size import bytes_of

SUPERUSER = "dyno"
INITDB_S_MAX = 300.0
SEGMENT_SIZE_FROM = 11_00_00
"""Before, the size of WAL segments was compiled in."""
CHECKSUMS_FROM = 18_00_00
"""From here on initdb makes checksums unless told otherwise; before, it has no word for none."""
SORTED_BY_BYTES = ("C", "POSIX")
"""Locales that every host has, and by which no C library sorts."""
WAL_SIZES = ("min_wal_size", "max_wal_size")
SIZE = re.compile(r"\d+(kB|MB|GB|TB)?")
"""A size of them as the server takes it; it refuses any other itself. Plain numbers are of MB."""
SEGMENTS_MIN = 2
"""How many segments each of WAL_SIZES has to hold; the server does not start otherwise."""


def make(build: Build, account: Account, data: Path, words: Sequence[str | Path]) -> None:
    """Makes a cluster in an empty folder of the account. Raises ServerError: initdb's words."""
    env = account.options()["env"] | build.environment
    command = [build.initdb, "-D", data, *words]
    done = accounts.run(command, account, limit_s=INITDB_S_MAX, env=env, cwd=data.parent)
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise ServerError(f"`{build.initdb}` failed: {said[-500:]}")


def arguments(of: Initdb, version_num: int) -> tuple[str, ...]:
    """The arguments of initdb, beside the folders. -N: the lab syncs itself.

    Messages are English, as the lab reads the log.
    """
    found = ["-U", SUPERUSER, "-A", "trust"]
    if of.data_checksums:
        found.append("--data-checksums")
    elif version_num >= CHECKSUMS_FROM:
        found.append("--no-data-checksums")
    if of.locale == Initdb.locale:
        found.append("--no-locale")
    else:
        found += [f"--locale={of.locale}", "--lc-messages=C"]
    if of.wal_segment_mb != Initdb.wal_segment_mb:
        found.append(f"--wal-segsize={of.wal_segment_mb}")
    return (*found, "-E", "UTF8", "-N")


def refuse_unfit(arm: Arm, of: Initdb, version_num: int, values: Mapping[str, str]) -> None:
    """Raises HostError for a locale that is not here, PlanError for what the version cannot have.

    `values`: the settings, which the size of WAL segments has to fit.
    """
    own = Initdb()
    if of.wal_segment_mb != own.wal_segment_mb:
        where = f"arms.{arm.name}.initdb.wal_segment_mb"
        if version_num < SEGMENT_SIZE_FROM:
            raise PlanError(f"{where}: initdb knows it since version 11: remove the key")
        for name in WAL_SIZES:
            size = values.get(name, "")
            least = SEGMENTS_MIN * of.wal_segment_mb
            if SIZE.fullmatch(size) and bytes_of(size + "MB" * size.isdigit()) < least << 20:
                raise PlanError(
                    f"{where}: {name} of {size} holds less than {SEGMENTS_MIN} segments of "
                    f"{of.wal_segment_mb} MB: make it {least}MB or more in `settings`"
                )
    if of.locale in SORTED_BY_BYTES:
        return
    where = f"arms.{arm.name}.initdb.locale"
    if "locale" not in arm.initdb:
        where = f"arms.{arm.name}.config: `{arm.config}` names it"
    encoding = locales.encoding(of.locale)
    if encoding is None:
        name, _, charset = of.locale.partition(".")
        raise HostError(
            f"{where}: this host has no locale `{of.locale}`: install it by "
            f"`localedef -i {name} -f {charset or locales.UTF8} {of.locale}` (of Debian's package "
            '`locales`), or write initdb = { locale = "C.UTF-8" }'
        )
    if encoding != locales.UTF8:
        raise PlanError(
            f"{where}: locale `{of.locale}` is of {encoding}, and the lab's databases are UTF8: "
            'write one of UTF-8, such as "en_US.UTF-8"'
        )


def identity(of: Initdb, version_num: int) -> Json:
    """What of it determines the data: the arguments, and which C library sorts, if one does."""
    found: Json = {"initdb": list(arguments(of, version_num))}
    if of.locale not in SORTED_BY_BYTES:
        found["collation"] = locales.library()
    return found
