"""What of PostgreSQL's source a server of measured steps needs: its folders, and which of contrib.

The others (ecpg, tests, the programs of an administrator, most of contrib) are a third of the files
that a whole build compiles, and change nothing of the server.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

BACKEND = "src/backend"
SERVER = (
    "src/common",
    "src/port",
    "src/timezone",
    BACKEND,
    "src/backend/utils/mb/conversion_procs",
    "src/backend/snowball",
    "src/include",
    "src/interfaces/libpq",
    "src/backend/replication/libpqwalreceiver",
    "src/fe_utils",
    "src/bin/initdb",
    "src/bin/pg_config",
    "src/bin/pgbench",
    "src/pl",
    "src/makefiles",
    "config",
)
"""In the order in which src/Makefile has them: the server, what initdb loads into a cluster, what a
standby and pgbench connect by, and what extensions are built by (pg_config, headers, PGXS)."""
JIT = "src/backend/jit/llvm"
WITH_JIT = "--with-llvm"
OF_LAB = ("pg_buffercache", "pg_prewarm", "pg_stat_statements", "pg_visibility", "pgstattuple")
"""The modules of contrib that dyno itself asks, or loads by a configuration's name."""
CONTRIB = "contrib"
NAMED = re.compile(
    r"\bCREATE\s+EXTENSION\s+(?:IF\s+NOT\s+EXISTS\s+)?\\?\"?([\w-]+)"
    r"|\bLOAD\s+'(?:\$libdir/)?([\w-]+)",
    re.IGNORECASE,
)
LOADED = re.compile(
    r"\b\w+_preload_libraries\b[\"']?\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\w$/,-]+)", re.IGNORECASE
)
WORD = re.compile(r"[\w-]+")
COMPILED = re.compile(
    r"(configure|GNUmakefile|Makefile|meson|config/|src/(Makefile|meson"
    r"|(backend|bin/initdb|common|include|interfaces/libpq|makefiles|pl/plpgsql/src|port|template"
    r"|timezone)/|tools/(gen_keywordlist|PerfectHash)))"
)
"""How the files begin that a server is compiled or a cluster is made from, beside modules."""
NOT_COMPILED = re.compile(
    r"(^|/)(README[^/]*|nls\.mk|\.gitignore)$|\.(po|sgml|md)$|/(t|po|sql|expected|test|specs)/|win32"
)
"""Those among them that no server has: documents, translations, tests, another system's files."""
OF_MODULES = (f"{CONTRIB}/", "src/pl/")
"""Where modules lie that texts name."""
REQUIRES = re.compile(r"(?m)^\s*requires\s*=\s*'([^']*)'")


def named(texts: Iterable[str]) -> tuple[str, ...]:
    """The extensions and libraries that texts (workloads, configurations, settings) load."""
    names: set[str] = set()
    for text in texts:
        names |= {extension or library for extension, library in NAMED.findall(text)}
        for libraries in LOADED.findall(text):
            names |= set(WORD.findall(libraries.replace("$libdir/", "")))
    return tuple(sorted(names))


def serves(file: str, names: Sequence[str]) -> bool:
    """Whether a file of the source is one of those that make a server of measured steps.

    `names`: of the modules that they load.
    """
    modules = OF_MODULES if names else tuple(f"{CONTRIB}/{name}/" for name in OF_LAB)
    compiled = file.startswith(modules) or COMPILED.match(file)
    return bool(compiled) and not NOT_COMPILED.search(file)


def folders(tree: Path, names: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """The folders of a tree to make and install, in order: the server's, and those of modules."""
    jit = (JIT,) if WITH_JIT in options else ()
    contrib = (folder for name in (*OF_LAB, *names) for folder in of_module(tree, name))
    return (*SERVER, *jit, *dict.fromkeys(contrib))


def of_module(tree: Path, name: str) -> Iterator[str]:
    """The folder of a module, after those of what it requires; none: contrib has no such module."""
    control = next(tree.glob(f"{CONTRIB}/*/{name}.control"), None)
    folder = tree / CONTRIB / name if control is None else control.parent
    if not folder.is_dir():
        return
    required = REQUIRES.search("" if control is None else control.read_text(errors="replace"))
    for other in WORD.findall(required[1]) if required else ():
        yield from of_module(tree, other)
    yield f"{CONTRIB}/{folder.name}"
