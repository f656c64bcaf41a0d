"""Packages of Maven Central: which versions of one there are, and bringing one, verified.

ADDRESS/NAME/maven-metadata.xml lists the versions of a package. ADDRESS/NAME/17.6.0/NAME-17.6.0.jar
is one of them, a zip; beside it lie its checksums, each in a file of that name with .sha512,
.sha256 or .sha1. Older packages have SHA-1 alone.
"""

import hashlib
import os
import re
from collections.abc import Collection
from pathlib import Path

from dbdyno.builds import download
from dbdyno.model.error import ServerError

ADDRESS = "https://repo1.maven.org/maven2"
VARIABLE = "DYNO_MAVEN_ARCHIVE"
"""The environment variable that names another address, such as a mirror."""
REMEDY = f"name a mirror by `{VARIABLE}`, or a folder by `base_dir`"
LISTED = re.compile(r"<version>([^<]+)</version>")
HASHES = {"sha512": "SHA-512", "sha256": "SHA-256", "sha1": "SHA-1"}
"""The checksums that may lie beside a package, the strongest first."""


def address() -> str:
    """Where packages lie, without a slash at its end."""
    return (os.environ.get(VARIABLE) or ADDRESS).rstrip("/")


def versions(package: str, remedy: str = REMEDY) -> list[str]:
    """The versions that are listed of the package at an address.

    Raises ServerError where the list cannot be had.
    """
    url = f"{package}/maven-metadata.xml"
    listed = LISTED.findall(download.page(url, remedy))
    if not listed:
        raise ServerError(f"`{url}` lists no version: {remedy}")
    return listed


def url_of(package: str, version: str) -> str:
    """The address of one version of the package at an address."""
    return f"{package}/{version}/{package.rpartition('/')[2]}-{version}.jar"


def bring(
    url: str, path: Path, remedy: str = REMEDY, hashes: Collection[str] = tuple(HASHES)
) -> str:
    """Writes a package into the file `path`; returns by what it was verified, as a sentence.

    `hashes`: those of HASHES that will do. Raises ServerError where the package cannot be brought,
    or nothing verifies it.
    """
    name, published = checksum(url, remedy, hashes)
    actual = download.bring(url, path, remedy, (name,))[name]
    if actual != published:
        raise ServerError(
            f"`{url}` has the {HASHES[name]} {actual}, and the site says {published}: it is not "
            f"unpacked; try again later, or {remedy}"
        )
    weak = ": nothing stronger lies beside the package" if name == "sha1" else ""
    return f"verified by its {HASHES[name]}{weak}"


def checksum(url: str, remedy: str, hashes: Collection[str]) -> tuple[str, str]:
    """The first of these checksums that lies beside a package: its name, its hexadecimal digits.

    Raises ServerError where there is none, or the site does not answer.
    """
    for name in hashes:
        text = download.page_if_there(f"{url}.{name}", remedy)
        if text is None:
            continue
        digits = 2 * hashlib.new(name, usedforsecurity=False).digest_size
        published = re.match(rf"\s*([0-9a-fA-F]{{{digits}}})\b", text)
        if published is None:
            raise ServerError(f"`{url}.{name}` is no checksum: {remedy}")
        return name, published[1].lower()
    endings = ", ".join(f".{name}" for name in hashes)
    raise ServerError(
        f"`{url}{endings}`: no such file, so nothing verifies the package: take another release"
    )
