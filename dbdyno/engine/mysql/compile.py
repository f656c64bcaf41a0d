"""How MySQL and MariaDB are built from source: by cmake, as in the published builds.

Left out is what no benchmark uses and takes long to compile: the router, the X plugin, unit tests,
most of MariaDB's storage engines. Nothing is downloaded: libraries are bundled or the system's.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from dbdyno.builds.flags import NOFP, Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.step import COMPILE_MARKS, Missing, Site, Step, explained, first_line
from dbdyno.engine.mysql import flavour
from dbdyno.model import engine as engines
from dbdyno.model.error import ServerError

VERSION_FILES = ("MYSQL_VERSION", "VERSION")
PART = re.compile(r"(?m)^(MYSQL_VERSION_(?:MAJOR|MINOR|PATCH|EXTRA)|SERVER_MATURITY)=\"?([^\"\n]*)")
UNUSED = re.compile(
    r"Manually-specified variables were not used by the project:\s*\n((?:\s+\w+\n)+)"
)
DEFINED = re.compile(r"-D(\w+)(?::\w+)?=.*")

MISSING = (
    Missing(r"(?i)no CMAKE_C(XX)?_COMPILER could be found", "gcc g++ libc6-dev"),
    Missing(r"(?i)openssl|WITH_SSL", "libssl-dev"),
    Missing(r"(?i)curses", "libncurses-dev"),
    Missing(r"(?i)bison", "bison"),
    Missing(r"(?i)numa", "libnuma-dev", "-DWITH_NUMA=OFF"),
    Missing(r"(?i)pcre", "libpcre2-dev", "-DWITH_PCRE=bundled (downloads it)"),
    Missing(r"(?i)libfmt|fmt/", "libfmt-dev", "-DWITH_LIBFMT=bundled (downloads it)"),
    Missing(r"(?i)rpcgen", "rpcsvc-proto"),
    Missing(r"(?i)tirpc|rpc/rpc\.h", "libtirpc-dev"),
    Missing(r"(?i)zlib", "zlib1g-dev"),
    Missing(r"(?i)libaio", "libaio-dev"),
    Missing(r"(?i)pkg-?config", "pkg-config"),
)
"""The complaints of cmake about missing parts, and the Debian packages that have them."""


RECIPES = {
    "def": Flags(recipe="def"),
    "rel": Flags(recipe="rel", build_type="Release"),
    "rel_o2nofp": Flags(
        recipe="rel_o2nofp", cflags=f"-g1 {NOFP}", build_type="Release", release="-O2 -DNDEBUG"
    ),
    "rel_withdbg": Flags(recipe="rel_withdbg", build_type="RelWithDebInfo"),
}
"""The published builds: MySQL's `rel_o2nofp` and MariaDB's `rel_withdbg` in the studies of 2025."""
OWN = Flags(recipe=None, build_type="Release", release="-DNDEBUG")
"""The base to which flags of one's own are added."""


def version(tree: Path, origin: str, engine: str) -> str:
    """The version of the source, as it names itself. Raises ServerError where it is none."""
    found: dict[str, str] = {}
    for name in VERSION_FILES:
        if (tree / name).is_file():
            found = dict(PART.findall((tree / name).read_text(errors="replace")))
            break
    if "MYSQL_VERSION_MAJOR" not in found or not (tree / "CMakeLists.txt").is_file():
        raise ServerError(
            f"`{origin}` is not a source of {engines.of(engine).product}: no MYSQL_VERSION in it"
        )
    # Only MariaDB's says how mature it is; its first version of its own was 10.
    numbers = [int(found[f"MYSQL_VERSION_{part}"] or 0) for part in ("MAJOR", "MINOR", "PATCH")]
    its = "mariadb" if numbers[0] >= 10 and _is_mariadb(tree) else "mysql"
    said = ".".join(map(str, numbers))
    if its != engines.of(engine).job:
        raise ServerError(
            f"`{origin}` is {engines.of(its).product} {said}: write `{its}` for `{engine}`"
        )
    least = flavour.of(engine).oldest_source
    if tuple(numbers[:2]) < least:
        oldest = ".".join(map(str, least))
        raise ServerError(
            f"`{origin}` is {engines.of(its).product} {said}: {oldest} is the oldest that is built"
        )
    return said


def _is_mariadb(tree: Path) -> bool:
    return (tree / "storage" / "maria").is_dir()


def steps(
    site: Site, flags: Flags, options: Sequence[str], log: BuildLog, engine: str
) -> tuple[Step, ...]:
    """The programs to run, in order. Raises ServerError where cmake or a submodule is missing."""
    if shutil.which("cmake") is None:
        raise ServerError("cmake is not installed: apt-get install cmake")
    if flavour.of(engine).submodules and not any((site.tree / "libmariadb").glob("*")):
        raise ServerError(
            "MariaDB's submodules are not part of a git checkout's archive: build its tarball"
        )
    objects = site.tree.parent / "objects"
    configure = ["cmake", "-S", str(site.tree), "-B", str(objects)]
    configure += [f"-DCMAKE_INSTALL_PREFIX={site.prefix}", *arguments(engine, flags)]
    boost = site.tree / "boost"
    if boost.is_dir():  # in the tarballs of MySQL 8.0 that are named so
        configure.append(f"-DWITH_BOOST={boost}")
    make = ["cmake", "--build", str(objects), "--parallel", str(site.jobs)]
    install = ["cmake", "--install", str(objects)]
    into = {"DESTDIR": str(site.root)}
    leftover = objects / "CMakeFiles" / "CMakeError.log"
    return (
        Step(
            phase="configure", command=[*configure, *options], folder=site.tree, leftover=leftover
        ),
        Step(phase="compile", command=make, folder=site.tree),
        Step(phase="install", command=install, folder=site.tree, environment=into),
    )


def arguments(engine: str, flags: Flags) -> list[str]:
    """The options that give cmake its flags, beside those of the published builds."""
    found: list[str] = []
    if flags.build_type is not None:
        found.append(f"-DCMAKE_BUILD_TYPE={flags.build_type}")
    for language in ("C", "CXX"):
        if flags.cflags:
            found.append(f"-DCMAKE_{language}_FLAGS={flags.cflags}")
        if flags.release is not None:
            found.append(f"-DCMAKE_{language}_FLAGS_RELEASE={flags.release}")
    return [*found, *flavour.of(engine).cmake]


def ignored(said: str, options: Sequence[str]) -> str | None:
    """An option of the user's that cmake says nothing of the source reads."""
    unused = {name for block in UNUSED.findall(said) for name in block.split()}
    for option in options:
        match = DEFINED.fullmatch(option)
        if match is not None and match[1] in unused:
            return option
    return None


def explain(phase: str, said: str) -> str:
    """Why a phase failed, in one line, with what to do about it where that is known."""
    if phase == "configure":
        return explained(first_line(said, ["CMake Error"], 2), MISSING, "--configure")
    return explained(first_line(said, COMPILE_MARKS), MISSING, "--configure")
