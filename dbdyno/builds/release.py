"""PostgreSQL's source as the project releases it: the newest of a major, a tarball, its checksum.

The official site has it at ADDRESS/v18.6/postgresql-18.6.tar.bz2, and beside it the same with
.sha256. A mirror of that layout is named by an environment variable.
"""

import os
import re
from pathlib import Path

from dbdyno.builds import download
from dbdyno.model.error import ServerError

ADDRESS = "https://ftp.postgresql.org/pub/source"
VARIABLE = "DYNO_POSTGRES_SOURCE"
"""The environment variable that names another address."""
VERSION = re.compile(r"\d+(\.\d+)?")
CHECKSUM = re.compile(r"\s*([0-9a-fA-F]{64})\b")
"""The beginning of a .sha256: the checksum, then the file's name."""
REMEDY = f"name a mirror by `{VARIABLE}`, or a tarball that is here"


def address() -> str:
    """Where releases lie, without a slash at its end."""
    return (os.environ.get(VARIABLE) or ADDRESS).rstrip("/")


def url_of(version: str) -> str:
    """Where the tarball of a full version lies."""
    return f"{address()}/v{version}/postgresql-{version}.tar.bz2"


def newest(version: str) -> str:
    """The newest release that `version` names, by the site's listing; `18.6` is one already.

    Raises ServerError where there is none, or the site does not answer.
    """
    if "." in version:
        return version
    page = download.page(address() + "/", REMEDY)
    minors = re.findall(rf"""href=["']?(?:[^"'>]*/)?v{version}\.(\d+)/?["'> ]""", page)
    if not minors:
        raise ServerError(f"no source of PostgreSQL {version} is at `{address()}/`: see its list")
    return f"{version}.{max(map(int, minors))}"


def checksum(version: str) -> str:
    """The SHA-256 that stands beside the tarball of a full version, in hexadecimal.

    Raises ServerError where there is no such release, or the site does not answer.
    """
    url = url_of(version) + ".sha256"
    found = CHECKSUM.match(download.page(url, REMEDY))
    if found is None:
        raise ServerError(f"`{url}` is no checksum: see `{VARIABLE}`, or name a tarball")
    return found[1].lower()


def bring(url: str, sha256: str, path: Path) -> None:
    """Writes what lies at `url` into the file `path`, where it has that checksum.

    Raises ServerError where it has another, or cannot be brought; then there is no such file.
    """
    found = download.bring(url, path, REMEDY, ("sha256",))["sha256"]
    if found != sha256:
        path.unlink()
        raise ServerError(
            f"`{url}` has the SHA-256 {found}, and the site says {sha256}: "
            "it is not built; try again later, or name a tarball"
        )
