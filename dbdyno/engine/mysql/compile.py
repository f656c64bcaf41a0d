"""How MySQL and MariaDB are built from source: by cmake, as in the published builds.

Left out is what no benchmark uses and takes long to compile: the router, the X plugin, unit tests,
most of MariaDB's storage engines. Nothing is downloaded: libraries are bundled or the system's.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dbdyno.builds import training
from dbdyno.builds.flags import NOFP, Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.step import COMPILE_MARKS, BuildSite, BuildStep, Package, explained, first_line
from dbdyno.builds.training import Training
from dbdyno.engine.mysql import flavour
from dbdyno.model import engine as engines
from dbdyno.model.error import ServerError

VERSION_FILES = ("MYSQL_VERSION", "VERSION")
OF_VERSION = (*VERSION_FILES, "CMakeLists.txt", "storage/maria/CMakeLists.txt")
"""The files of a tree by which its version is known, and that it is MariaDB's."""
PART = re.compile(r"(?m)^(MYSQL_VERSION_(?:MAJOR|MINOR|PATCH|EXTRA)|SERVER_MATURITY)=\"?([^\"\n]*)")
UNUSED = re.compile(
    r"Manually-specified variables were not used by the project:\s*\n((?:\s+\w+\n)+)"
)
DEFINED = re.compile(r"-D(\w+)(?::\w+)?=.*")

MISSING = (
    Package(r"(?i)no CMAKE_C(XX)?_COMPILER could be found", "gcc g++ libc6-dev"),
    Package(r"(?i)openssl|WITH_SSL", "libssl-dev"),
    Package(r"(?i)curses", "libncurses-dev"),
    Package(r"(?i)bison", "bison"),
    Package(r"(?i)numa", "libnuma-dev", "-DWITH_NUMA=OFF"),
    Package(r"(?i)pcre", "libpcre2-dev", "-DWITH_PCRE=bundled (downloads it)"),
    Package(r"(?i)libfmt|fmt/", "libfmt-dev", "-DWITH_LIBFMT=bundled (downloads it)"),
    Package(r"(?i)rpcgen", "rpcsvc-proto"),
    Package(r"(?i)tirpc|rpc/rpc\.h", "libtirpc-dev"),
    Package(r"(?i)zlib", "zlib1g-dev"),
    Package(r"(?i)libaio", "libaio-dev"),
    Package(r"(?i)pkg-?config", "pkg-config"),
)
"""The complaints of cmake about missing parts, and the Debian packages that have them."""

_REL_O2NOFP = Flags(
    recipe="rel_o2nofp", cflags=f"-g1 {NOFP}", build_type="Release", release="-O2 -DNDEBUG"
)
_CLANG = ("-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++")
RECIPES = {
    "def": Flags(recipe="def"),
    "rel": Flags(recipe="rel", build_type="Release"),
    "rel_clang": replace(
        _REL_O2NOFP, recipe="rel_clang", cflags="-g1", release=None, options=_CLANG
    ),
    "rel_o2nofp": _REL_O2NOFP,
    "rel_o2nofp_clang": replace(_REL_O2NOFP, recipe="rel_o2nofp_clang", options=_CLANG),
    "rel_withdbg": Flags(recipe="rel_withdbg", build_type="RelWithDebInfo"),
}
"""The published builds: MySQL's `rel_o2nofp` and MariaDB's `rel_withdbg` in the studies of 2025."""
PUBLISHED = {
    "mariadb": RECIPES,
    "mysql": RECIPES
    | {
        "rel_o2nofp_lto": replace(_REL_O2NOFP, recipe="rel_o2nofp_lto", options=("-DWITH_LTO=ON",)),
        "rel_o2nofp_pgo": replace(_REL_O2NOFP, recipe="rel_o2nofp_pgo", trained=True),
    },
}
"""The recipes by engine: MySQL's source alone has WITH_LTO, and was published with a profile."""
TRAINING = """
mysqld="$0/bin/mysqld --no-defaults --datadir=$folder/data"
mysqld="$mysqld --socket=$folder/s --secure-file-priv=NULL"
$mysqld --initialize-insecure
$mysqld --skip-networking --mysqlx=OFF &
server=$!
until "$0/bin/mysqladmin" -u root -S "$folder/s" ping; do kill -0 "$server"; sleep 0.5; done
for load in write key update mixed; do
    "$0/bin/mysqlslap" -u root -S "$folder/s" --auto-generate-sql \\
        --auto-generate-sql-load-type=$load --auto-generate-sql-add-autoincrement \\
        --auto-generate-sql-secondary-indexes=2 --auto-generate-sql-write-number=10000 \\
        --concurrency=4 --number-of-queries=50000
done
kill "$server"
wait "$server"
"""
"""What a profile is of: mysqlslap's four kinds of generated load, 50,000 statements each."""
OWN = Flags(recipe=None, build_type="Release", release="-DNDEBUG")
"""The base to which flags of one's own are added."""


def version(tree: Path, origin: str, engine: str) -> str:
    """The version of the source, as it names itself. Raises ServerError where it is none."""
    numbers = release(tree)
    if numbers is None or not (tree / "CMakeLists.txt").is_file():
        raise ServerError(
            f"`{origin}` is not a source of {engines.of(engine).product}: no MYSQL_VERSION in it"
        )
    # MariaDB's first version of its own was 10.
    its = "mariadb" if numbers[0] >= 10 and (tree / "storage" / "maria").is_dir() else "mysql"
    said = ".".join(map(str, numbers))
    if its != engines.of(engine).job:
        raise ServerError(
            f"`{origin}` is {engines.of(its).product} {said}: write `{its}` for `{engine}`"
        )
    least = flavour.of(engine).oldest_source
    if numbers[:2] < least:
        oldest = ".".join(map(str, least))
        raise ServerError(
            f"`{origin}` is {engines.of(its).product} {said}: {oldest} is the oldest that is built"
        )
    return said


def release(tree: Path) -> tuple[int, ...] | None:
    """The three numbers by which a source names itself; None where it names none."""
    for name in VERSION_FILES:
        if (tree / name).is_file():
            found = dict(PART.findall((tree / name).read_text(errors="replace")))
            if "MYSQL_VERSION_MAJOR" not in found:
                return None
            parts = ("MAJOR", "MINOR", "PATCH")
            return tuple(int(found.get(f"MYSQL_VERSION_{part}") or 0) for part in parts)
    return None


def steps(
    site: BuildSite, flags: Flags, options: Sequence[str], log: BuildLog, engine: str
) -> tuple[BuildStep, ...]:
    """The programs to run, in order.

    Raises ServerError where cmake, a submodule or an old library that the source needs is missing.
    """
    if shutil.which("cmake") is None:
        raise ServerError("cmake is not installed: apt-get install cmake")
    if flavour.of(engine).submodules and not any((site.tree / "libmariadb").glob("*")):
        raise ServerError(
            "MariaDB's submodules are not part of a git checkout's archive: build its tarball"
        )
    series = (release(site.tree) or ())[:2]
    refuse_without_libraries(site.tree, series, options)
    if flags.trained:
        training.refuse_clang(options)
    objects = site.tree.parent / "objects"
    boost = site.tree / "boost"  # in the tarballs of MySQL 5.7 and 8.0 that are named so
    own = ([f"-DWITH_BOOST={boost}"] if boost.is_dir() else []) + [*options]
    make = ["cmake", "--build", str(objects), "--parallel", str(site.jobs)]
    install = ["cmake", "--install", str(objects)]
    into = {"DESTDIR": str(site.root)}
    leftover = objects / "CMakeFiles" / "CMakeError.log"

    def rounds(flags: Flags) -> tuple[BuildStep, ...]:
        configure = ["cmake", "-S", str(site.tree), "-B", str(objects)]
        configure += [f"-DCMAKE_INSTALL_PREFIX={site.prefix}", *arguments(engine, flags, series)]
        return (
            BuildStep(
                phase="configure", command=[*configure, *own], folder=site.tree, leftover=leftover
            ),
            BuildStep(phase="compile", command=make, folder=site.tree),
            BuildStep(phase="install", command=install, folder=site.tree, environment=into),
        )

    load = Training(
        engine=engine,
        script=TRAINING,
        clean=("cmake", "--build", str(objects), "--target", "clean"),
    )
    return training.steps(flags, site, rounds, load)


def refuse_without_libraries(tree: Path, series: tuple[int, ...], options: Sequence[str]) -> None:
    """Raises ServerError where MySQL 5.6 or 5.7 lacks a library that no system has any more.

    They know no OpenSSL 3; 5.7 takes exactly Boost 1.59 ("Source Installation Prerequisites").
    """
    if not (5, 6) <= series < (8, 0):
        return
    own = {found[1] for option in options if (found := DEFINED.fullmatch(option))}
    said = ".".join(map(str, series))
    if "WITH_SSL" not in own:
        which = "1.0.2" if series < (5, 7) else "1.1.1 (before 5.7.30: 1.0.2)"
        raise ServerError(
            f"MySQL {said} needs an OpenSSL of its own, {which}: build that, and name its folder "
            "by --configure=-DWITH_SSL=FOLDER"
        )
    if series == (5, 7) and "WITH_BOOST" not in own and not (tree / "boost").is_dir():
        raise ServerError(
            f"MySQL {said} needs Boost 1.59: build the tarball `mysql-boost-…`, "
            "or name its folder by --configure=-DWITH_BOOST=FOLDER"
        )


def arguments(engine: str, flags: Flags, series: tuple[int, ...] = ()) -> list[str]:
    """The options that give cmake its flags, beside those of the published builds.

    `series`: the source's first two numbers; none are of the newest.
    """
    its = flavour.of(engine)
    cmake, more = its.cmake, ""
    if series:
        cmake = next((own for first, own in its.cmake_before.items() if series < first), cmake)
        more = next((own for first, own in its.cxx_before.items() if series < first), more)
    found: list[str] = []
    if flags.build_type is not None:
        found.append(f"-DCMAKE_BUILD_TYPE={flags.build_type}")
    for language in ("C", "CXX"):
        words = " ".join(filter(None, (flags.cflags, more if language == "CXX" else "")))
        if words:
            found.append(f"-DCMAKE_{language}_FLAGS={words}")
        if flags.release is not None:
            found.append(f"-DCMAKE_{language}_FLAGS_RELEASE={flags.release}")
    return [*found, *flags.options, *cmake]


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
