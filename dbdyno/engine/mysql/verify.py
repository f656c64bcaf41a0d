"""Whether a downloaded build is the one that its maker published.

MariaDB publishes SHA-256. MySQL publishes GnuPG signatures and MD5: the signature decides where the
user's keyring has the key that signed this version. MD5 decides only for who asks for it, as a
forger can match it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from dbdyno.builds import download
from dbdyno.engine.mysql import archive
from dbdyno.engine.mysql.archive import Release
from dbdyno.host.program import unended
from dbdyno.model.error import ServerError

HASHES = {"mysql": ("md5",), "mariadb": ("sha256",)}
"""The checksums that a maker publishes."""
KEYS: dict[str, tuple[tuple[int, ...], ...]] = {
    "A4A9406876FCBD3C456770C88C718D3B5072E1F5": (),
    "859BE8D7C586F538430B19C2467B942D3A79BD29": ((5, 7, 37), (8, 0, 28), (8, 1, 0)),
    "BCA43417C3B485DD128EC6D4B7B3B788A8D3785C": ((8, 0, 36), (8, 3, 0)),
}
"""MySQL's release keys, the oldest first, and the versions from which on each signs: in a series,
and the last in all later series (MySQL's manual, "Signature Checking Using GnuPG")."""
KEY_SERVER = "hkps://keyserver.ubuntu.com"
GPG_S_MAX = 120.0


def refuse_md5(release: Release) -> None:
    """Raises ServerError where MD5 alone would verify an archive."""
    if release.engine == "mysql" and not has_key(key_of(release.version)):
        raise ServerError(
            f"mysql {release.version}: nothing but an MD5 would verify it, which a forger can "
            f"match: {advice(release)}, then fetch again; or add --md5"
        )


def advice(release: Release) -> str:
    """How a signature of MySQL's can be checked."""
    key = key_of(release.version)
    return f"for its signature import MySQL's key (gpg --keyserver {KEY_SERVER} --recv-keys {key})"


def verify(release: Release, tarball: Path, sums: Mapping[str, str]) -> str:
    """Says by what the tarball was verified; `sums`: its checksums by name of HASHES.

    Raises ServerError where it is not what was published, or nothing tells.
    """
    if release.engine == "mariadb":
        url = release.url.rsplit("/", 1)[0] + "/sha256sums.txt"
        _compare(release, url, "sha256", sums)
        return "verified by its SHA-256"
    if has_key(key_of(release.version)):
        _check_signature(release, tarball)
        return "verified by the signature of MySQL's release key"
    how = advice(release)
    _compare(release, f"{release.url}.md5", "md5", sums, f"{how}, then fetch again")
    over = "over TLS" if release.url.startswith("https:") else "and the address has no TLS"
    return f"verified by its MD5 alone, {over}: {how}, remove the folder and fetch again"


def _compare(
    release: Release, url: str, name: str, sums: Mapping[str, str], advice: str = ""
) -> None:
    """Raises ServerError where the published checksum differs, or there is none."""
    title = {"md5": "MD5", "sha256": "SHA-256"}[name]
    text = download.page_if_there(url, archive.remedy(release.engine))
    if text is None:
        what = advice or "try again later"
        raise ServerError(f"`{url}`: no such file, so nothing verifies the archive: {what}")
    published = published_sum(text, release.url.rsplit("/", 1)[1], len(sums[name]))
    if published is None:
        raise ServerError(
            f"`{url}` has no {title} of the archive: {advice or archive.remedy(release.engine)}"
        )
    if published != sums[name]:
        raise ServerError(
            f"`{release.url}` has the {title} {sums[name]}, and the site says {published}: it is "
            f"not unpacked; try again later, {archive.remedy(release.engine)}"
        )


def published_sum(text: str, name: str, digits: int) -> str | None:
    """The checksum of a file in a list as md5sum writes it, or alone; None where there is none."""
    line = rf"(?m)^([0-9a-fA-F]{{{digits}}})(?:\s+\*?(?:\./)?{re.escape(name)})?\s*$"
    found = re.search(line, text)
    return found[1].lower() if found else None


# --- Signatures --------------------------------------------------------------------------------


def key_of(version: str) -> str:
    """The fingerprint of the key that signed a version of MySQL."""
    number = tuple(int(part) for part in version.split("."))
    signed = ""
    for key, since in KEYS.items():
        own = [first for first in since if first[:2] == number[:2]]
        if not since or number >= (own or since)[-1]:
            signed = key
    return signed


def has_key(key: str) -> bool:
    """Whether gpg is here and the user's keyring has that key."""
    return shutil.which("gpg") is not None and _gpg("--list-keys", key).returncode == 0


def _check_signature(release: Release, tarball: Path) -> None:
    """Raises ServerError unless a release key of MySQL signed the tarball."""
    url = f"{release.url}.asc"
    text = download.page_if_there(url, archive.remedy("mysql"))
    if text is None:
        raise ServerError(
            f"`{url}`: no such file, so nothing verifies the archive: try again later"
        )
    signature = tarball.with_name("signature.asc")
    signature.write_text(text)
    done = _gpg("--status-fd", "1", "--verify", str(signature), str(tarball))
    said = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("[GNUPG:] ")]
    words = {line[0] for line in said}
    # A key may have expired since it signed; one that was revoked proves nothing.
    good = words & {"GOODSIG", "EXPKEYSIG"} and not words & {"BADSIG", "REVKEYSIG", "EXPSIG"}
    signers = {line[-1] for line in said if line[0] == "VALIDSIG"}
    if not good or not signers or not signers <= set(KEYS):
        last = (done.stderr.strip().splitlines() or ["gpg says nothing"])[-1]
        raise ServerError(
            f"`{release.url}` has no valid signature of MySQL's release key ({last}): it is not "
            f"unpacked; try again later, {archive.remedy('mysql')}"
        )


def _gpg(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["gpg", "--batch", "--no-tty", *arguments],
            capture_output=True, text=True, errors="replace", timeout=GPG_S_MAX, check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"`gpg` {unended(error)}") from error
