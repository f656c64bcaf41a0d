"""PostgreSQL's source as the project releases it: the newest of a major, a tarball, its checksum.

The official site has it at ADDRESS/v18.6/postgresql-18.6.tar.bz2, and beside it the same with
.sha256. A mirror of that layout is named by an environment variable.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from dbdyno.model.error import ServerError

ADDRESS = "https://ftp.postgresql.org/pub/source"
VARIABLE = "DYNO_POSTGRES_SOURCE"
"""The environment variable that names another address."""
VERSION = re.compile(r"\d+(\.\d+)?")
CHECKSUM = re.compile(r"\s*([0-9a-fA-F]{64})\b")
"""The beginning of a .sha256: the checksum, then the file's name."""
ANSWER_S_MAX = 30.0
"""How long the site may say nothing."""
DOWNLOAD_S_MAX = 900.0
CHUNK_BYTES = 1 << 18
PAGE_BYTES_MAX = 1 << 22


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
    page = _page(address() + "/")
    minors = re.findall(rf"""href=["']?(?:[^"'>]*/)?v{version}\.(\d+)/?["'> ]""", page)
    if not minors:
        raise ServerError(f"no source of PostgreSQL {version} is at `{address()}/`: see its list")
    return f"{version}.{max(map(int, minors))}"


def checksum(version: str) -> str:
    """The SHA-256 that stands beside the tarball of a full version, in hexadecimal.

    Raises ServerError where there is no such release, or the site does not answer.
    """
    url = url_of(version) + ".sha256"
    found = CHECKSUM.match(_page(url))
    if found is None:
        raise ServerError(f"`{url}` is no checksum: see `{VARIABLE}`, or name a tarball")
    return found[1].lower()


def bring(url: str, sha256: str, path: Path) -> None:
    """Writes what lies at `url` into the file `path`, where it has that checksum.

    Raises ServerError where it has another, or cannot be brought; then there is no such file.
    """
    found = hashlib.sha256()
    try:
        with path.open("wb") as file:
            for chunk in _chunks(url):
                found.update(chunk)
                file.write(chunk)
        if found.hexdigest() != sha256:
            raise ServerError(
                f"`{url}` has the SHA-256 {found.hexdigest()}, and the site says {sha256}: "
                "it is not built; try again later, or name a tarball"
            )
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ServerError(f"`{path}` cannot be written: {error.strerror}") from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _page(url: str) -> str:
    content = b""
    for chunk in _chunks(url):
        content += chunk
        if len(content) > PAGE_BYTES_MAX:
            raise ServerError(f"`{url}` is no list and no checksum: see `{VARIABLE}`")
    return content.decode(errors="replace")


def _chunks(url: str) -> Iterator[bytes]:
    """What lies at an address, piece by piece. Raises ServerError where it cannot be had."""
    end_s = time.monotonic() + DOWNLOAD_S_MAX
    try:
        with urlopen(url, timeout=ANSWER_S_MAX) as answer:
            while chunk := answer.read(CHUNK_BYTES):
                if time.monotonic() > end_s:
                    raise TimeoutError(f"not within {DOWNLOAD_S_MAX:.0f} s")
                yield chunk
    except HTTPError as error:
        hint = "is there such a version?" if error.code == 404 else "try again later"
        raise ServerError(f"`{url}`: {error.code} {error.reason}: {hint}") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ServerError(
            f"`{url}` cannot be reached: {reason}: check the network, name a mirror by "
            f"`{VARIABLE}`, or a tarball that is here"
        ) from error
