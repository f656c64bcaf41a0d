"""How PostgreSQL is built from source: by configure and make, with what its own configure knows.

The features are those of the published builds: lz4 from 14 on, liburing from 18 on, and what
configure takes by itself (readline, zlib, ICU from 16 on). contrib comes with it, as the lab uses
pg_prewarm, pgstattuple and pg_buffercache.
"""

import re
import shutil
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from dbdyno.builds import training
from dbdyno.builds.flags import NATIVE, NOFP, Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.step import COMPILE_MARKS, BuildSite, BuildStep, Package, explained, first_line
from dbdyno.builds.training import Training
from dbdyno.engine.postgres import modules
from dbdyno.model.error import ServerError

MAJOR_MIN = 12
PACKAGE = re.compile(r"(?m)^PACKAGE_(NAME|VERSION)='([^']*)'")
OPTION = re.compile(r"(?m)^ +--(with|without|enable|disable)-([a-z0-9-]+)")
WRITTEN = re.compile(r"--(with|without|enable|disable)-([a-z0-9-]+)(=.*)?")
WANTED = ("lz4", "liburing")
"""Taken where configure knows them, as in the published builds; nothing else differs from its own
choice."""
AGAIN = ("--enable-depend", "LDFLAGS_EX=-Wl,-rpath,'$$ORIGIN/../lib'")
"""For trees that are built again: objects know their headers, programs the libraries beside
them."""
CONFIGURES = re.compile(r"(^|/)configure(\.ac)?$|\.in$|^src/template/")
"""Files that configure reads; make does not see all of them."""
FOLDERS = re.compile(r"--([a-z]+dir|prefix|exec-prefix)\b")
"""Options that dyno decides."""

MISSING = (
    Package(r"no acceptable C compiler|C compiler cannot create", "gcc libc6-dev"),
    Package(r"bison not found|Bison not found|bison.*is missing", "bison"),
    Package(r"flex not found|Flex not found|flex.*is missing", "flex"),
    Package(r"pkg-config script could not be found", "pkg-config"),
    Package(r"readline (library|header) not found|history header not found", "libreadline-dev",
            "--without-readline"),
    Package(r"zlib library not found|<?zlib\.h", "zlib1g-dev", "--without-zlib"),
    Package(r"icu-uc|ICU library not found|unicode/ucol\.h|for ICU", "libicu-dev", "--without-icu"),
    Package(r"\(liblz4\)|lz4\.h|'lz4' is required", "liblz4-dev", "--without-lz4"),
    Package(r"\(libzstd|zstd\.h|'zstd' is required", "libzstd-dev", "--without-zstd"),
    Package(r"\(liburing\)|liburing\.h|liburing", "liburing-dev", "--without-liburing"),
    Package(r"\(numa\)|libnuma|numa\.h", "libnuma-dev", "--without-libnuma"),
    Package(r"\(libcurl|curl/curl\.h|'curl'", "libcurl4-openssl-dev", "--without-libcurl"),
    Package(r"openssl/|for OpenSSL", "libssl-dev", "--without-ssl"),
    Package(r"libxml|xml2|for XML", "libxml2-dev", "--without-libxml"),
    Package(r"libxslt|'xslt'", "libxslt1-dev", "--without-libxslt"),
    Package(r"llvm-config not found|clang not found", "llvm-dev clang", "--without-llvm"),
    Package(r"security/pam_appl|for PAM", "libpam0g-dev", "--without-pam"),
    Package(r"ldap\.h|for LDAP", "libldap-dev", "--without-ldap"),
    Package(r"gssapi", "libkrb5-dev", "--without-gssapi"),
    Package(r"systemd", "libsystemd-dev", "--without-systemd"),
    Package(r"Python\.h|shared library for Python", "python3-dev", "--without-python"),
    Package(r"Perl not found", "perl"),
    Package(r"perl\.h|embedded Perl|libperl", "libperl-dev", "--without-perl"),
    Package(r"tcl\.h|tclConfig|Tcl shell", "tcl-dev", "--without-tcl"),
    Package(r"uuid", "uuid-dev", "another --with-uuid"),
    Package(r"msgfmt|libintl|gettext", "gettext", "--disable-nls"),
)  # fmt: skip
"""The complaints of configure about missing parts, the Debian packages that have them, and the
options that do without."""


RECIPES = {
    "def": Flags(recipe="def"),
    "o2nofp": Flags(recipe="o2nofp", cflags=f"-O2 {NOFP}"),
    "o2nofp_clang": Flags(recipe="o2nofp_clang", cflags=f"-O2 {NOFP}", options=("CC=clang",)),
    "o2nofp_pgo": Flags(recipe="o2nofp_pgo", cflags=f"-O2 {NOFP}", trained=True),
    "o3": Flags(recipe="o3", cflags="-O3"),
    "o3_nofp": Flags(recipe="o3_nofp", cflags=f"-O3 {NOFP}"),
    "o3_native": Flags(recipe="o3_native", cflags=f"-O3 {NATIVE}"),
    "o3_native_lto": Flags(recipe="o3_native_lto", cflags=f"-O3 {NATIVE} -flto"),
}
"""The published builds: in the Insert Benchmark's and sysbench's studies of 2023 to 2026.

The script of `o3_nofp` there says -O2, as that of `o2nofp`; here it is what its name says. Clang
and profiles were published of MySQL.
"""

TRAINING = """
"$0/bin/initdb" -N -A trust -U postgres -D "$folder/data"
"$0/bin/postgres" -D "$folder/data" -k "$folder" -h '' &
server=$!
until "$0/bin/pg_isready" -q -h "$folder"; do kill -0 "$server"; sleep 0.2; done
"$0/bin/pgbench" -h "$folder" -U postgres -i -s 10 postgres
for script in tpcb-like simple-update select-only; do
    "$0/bin/pgbench" -h "$folder" -U postgres -b $script -M prepared -c 4 -j 2 -T 20 postgres
done
kill -INT "$server"
wait "$server"
"""
"""What a profile is of: pgbench's three built-in scripts at scale 10, each for 20 s."""


def version(tree: Path, origin: str) -> str:
    """The version of the source, as it names itself. Raises ServerError where it is none."""
    try:
        text = (tree / "configure").read_text(errors="replace")
    except OSError:
        text = ""
    if not text and (tree / "meson.build").is_file():
        raise ServerError(
            f"`{origin}` has a meson.build and no configure, by which dyno builds: bring it back "
            "(git checkout HEAD -- configure), or build it by meson and name the folder that "
            "`meson install` filled"
        )
    found: dict[str, str] = dict(PACKAGE.findall(text))
    if found.get("NAME") != "PostgreSQL":
        raise ServerError(
            f"`{origin}` is not a source of PostgreSQL: its configure does not say so"
        )
    said = found.get("VERSION", "")
    major = re.match(r"\d+", said)
    if major is None or int(major[0]) < MAJOR_MIN:
        raise ServerError(
            f"`{origin}` is PostgreSQL {said}: {MAJOR_MIN} is the oldest that is built"
        )
    return said


def steps(
    site: BuildSite, flags: Flags, options: Sequence[str], log: BuildLog
) -> tuple[BuildStep, ...]:
    """The programs to run, in order. Raises ServerError where an option is not to be had."""
    if shutil.which("make") is None:
        raise ServerError("make is not installed: apt-get install make")
    tree = site.tree
    if said := log.run(["./configure", "--help"], tree):
        raise ServerError(f"`./configure --help` failed: {said.strip()[-200:]}; see `{log.path}`")
    known = known_options(log.path.read_text(errors="replace"))
    install = ["make", "install", f"DESTDIR={site.root}"]
    folders: tuple[str, ...] = (".", modules.CONTRIB)
    makefiles: tuple[BuildStep, ...] = ()
    if site.modules is not None and (tree / modules.BACKEND).is_dir():  # else whole
        folders = modules.folders(tree, site.modules, (*flags.options, *options))
        own = ["make", "install-local", f"DESTDIR={site.root}"]  # what extensions include
        makefiles = (BuildStep(phase="install", command=own, folder=tree / "src"),)

    def rounds(flags: Flags) -> tuple[BuildStep, ...]:
        make = ["make", f"--jobs={site.jobs}"]
        if training.GENERATE in flags.cflags:  # libpq is to call no exit(), as profiles do
            make.append("enable_coverage=yes")
        configure = ["./configure", f"--prefix={site.prefix}", "--enable-debug"]
        configure += arguments(flags, options, known)
        return (
            BuildStep(
                phase="configure", command=configure, folder=tree, leftover=tree / "config.log"
            ),
            *(BuildStep(phase="compile", command=make, folder=tree / name) for name in folders),
            *(BuildStep(phase="install", command=install, folder=tree / name) for name in folders),
            *makefiles,
        )

    load = Training(engine="postgres", script=TRAINING, clean=("make", "clean"))
    return training.steps(flags, site, rounds, load)


def known_options(help_text: str) -> frozenset[str]:
    """The names of the features that `configure --help` knows: `lz4`, `icu`, `debug`."""
    return frozenset(name for _, name in OPTION.findall(help_text))


def arguments(flags: Flags, options: Sequence[str], known: Iterable[str]) -> list[str]:
    """The options of configure after its prefix. Raises ServerError for unknown ones."""
    there = frozenset(known)
    options = (*flags.options, *options)
    if flags.trained:
        training.refuse_clang(options)
    named = {name for option in options if (name := _feature(option, there)) is not None}
    found = [f"--with-{name}" for name in WANTED if name in there and name not in named]
    if flags.cflags:
        found.append(f"CFLAGS={flags.cflags}")
    if flags.lto and not any(option.startswith("AR=") for option in options):
        found += _archivers(options)
    return [*found, *options]


def _feature(option: str, known: frozenset[str]) -> str | None:
    """The feature that an option of the user's is about; None for `NAME=value` and the like."""
    if FOLDERS.match(option):
        raise ServerError(f"--configure: `{option}`: dyno decides where a build lies: remove it")
    match = WRITTEN.fullmatch(option)
    if match is None:
        return None
    if match[2] not in known:
        near = get_close_matches(match[2], known, n=1)
        hint = f"did you mean `--{match[1]}-{near[0]}`?" if near else "see its `configure --help`"
        raise ServerError(f"--configure: this source's configure knows no `{option}`; {hint}")
    return match[2]


def _archivers(options: Sequence[str]) -> list[str]:
    """The archivers that can read what is compiled for optimising at link time, where there are."""
    compiler = next((option[3:] for option in options[::-1] if option.startswith("CC=")), "gcc")
    prefix = "llvm-" if "clang" in compiler else "gcc-"
    pairs = [("AR", prefix + "ar"), ("RANLIB", prefix + "ranlib")]
    return [f"{name}={program}" for name, program in pairs if shutil.which(program)]


def explain(phase: str, said: str) -> str:
    """Why a phase failed, in one line, with what to do about it where that is known."""
    if phase == "configure" or "configure: error:" in said:
        return explained(first_line(said, ["configure: error:"], 3), MISSING, "--configure")
    return explained(first_line(said, COMPILE_MARKS), MISSING, "--configure")
