"""Builds of the server that measured steps need: which folders, which modules, what is said."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import fake_source
from dbdyno import engine
from dbdyno.builds import Build, compile, compiler_cache, progress, source
from dbdyno.builds import cache as built
from dbdyno.builds.compile import BuildRequest
from dbdyno.builds.flags import Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.worktree import Worktree
from dbdyno.engine.postgres import data_form, extension, modules
from dbdyno.host import lock
from dbdyno.model.error import ServerError

POSTGRES = engine.of("postgres").method()
PART = """\
all: ; @echo {name} >> {log}
install: ; @mkdir -p $(DESTDIR){prefix}/bin; cp {tree}/server $(DESTDIR){prefix}/bin/postgres
install-local: ; @echo makefiles >> {log}
"""
CONTRIB = {"earthdistance": "requires = 'cube, pg_prewarm'", "cube": "", "hstore": ""}


@pytest.fixture(name="cache")
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "default_path", lambda: tmp_path / "dyno.lock")
    return tmp_path / "cache"


@pytest.fixture(name="tree")
def _tree(tmp_path: Path, cache: Path) -> Path:
    """A source each of whose folders notes down that it is made."""
    tree = fake_source.make(tmp_path / "tree")
    server = tree / "server"
    server.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 18.6'\n")
    server.chmod(0o755)
    contrib = [f"contrib/{name}" for name in (*modules.OF_LAB, *CONTRIB)]
    for name in (*modules.SERVER, "src", *contrib, "src/interfaces/ecpg"):
        (tree / name).mkdir(parents=True, exist_ok=True)
        text = PART.format(
            name=name, log=tmp_path / "made", tree=tree, prefix=built.root(cache) / "mine"
        )
        (tree / name / "Makefile").write_text(text)
    for name, control in CONTRIB.items():
        (tree / "contrib" / name / f"{name}.control").write_text(control)
    return tree


def wish_of(tree: Path, named: tuple[str, ...] | None, name: str = "mine") -> BuildRequest:
    """A build of the tree, whole or of the server with these modules."""
    return BuildRequest(
        engine="postgres", name=name, source=source.identify(str(tree)), flags=Flags(recipe="def"),
        modules=named,
    )  # fmt: skip


def quiet(text: str) -> None:
    """Takes lines of progress."""


def test_a_server_of_measured_steps_has_what_it_needs_and_the_modules_that_are_named(
    tmp_path: Path, cache: Path, tree: Path
) -> None:
    """With what these require, and before them; a name that contrib does not have is no folder."""
    compile.build(wish_of(tree, ("earthdistance", "plpgsql")), POSTGRES, quiet, cache)
    made = (tmp_path / "made").read_text().splitlines()
    lab = [f"contrib/{name}" for name in modules.OF_LAB]
    assert made == [*modules.SERVER, *lab, "contrib/cube", "contrib/earthdistance", "makefiles"]


def test_a_whole_build_is_one_for_measured_steps_and_not_the_other_way_round(
    cache: Path, tree: Path
) -> None:
    folder = compile.build(wish_of(tree, ()), POSTGRES, quiet, cache)
    part, whole = wish_of(tree, ()), wish_of(tree, None)
    assert compile.is_there(part, folder)
    assert not compile.is_there(whole, folder)
    assert built.key_of(part.parts) == built.key_of(whole.parts)
    compile.build(whole, POSTGRES, quiet, cache)
    assert compile.is_there(part, folder)
    assert compile.is_there(whole, folder)
    with pytest.raises(ServerError, match="`cube` asked for"):
        compile.is_there(wish_of(tree, ("cube",)), folder)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("setup = [\"CREATE EXTENSION IF NOT EXISTS pg_trgm\"]", ["pg_trgm"]),
        ('setup = ["create extension \\"uuid-ossp\\" cascade"]', ["uuid-ossp"]),
        ("SQL = 'CREATE  EXTENSION hstore; LOAD ''auto_explain'''", ["hstore"]),
        ("sql = \"LOAD 'auto_explain'\"", ["auto_explain"]),
        ("sql = \"LOAD '$libdir/passwordcheck'\"", ["passwordcheck"]),
        ("shared_preload_libraries = 'pg_prewarm, $libdir/basic_archive'",
         ["basic_archive", "pg_prewarm"]),
        ('shared_preload_libraries = "auto_explain"', ["auto_explain"]),
        ("pg18;session_preload_libraries=auto_explain,sepgsql", ["auto_explain", "sepgsql"]),
        ("# load the rows, then create the extension's table", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_texts_load_is_known(text: str, names: list[str]) -> None:
    assert modules.named([text]) == tuple(names)
    assert POSTGRES.named is not None
    assert POSTGRES.named([text, text]) == tuple(names)


def test_code_for_plans_is_built_where_it_is_configured(tree: Path) -> None:
    assert modules.JIT not in modules.folders(tree, (), ())
    assert modules.JIT in modules.folders(tree, (), (modules.WITH_JIT,))


@pytest.mark.parametrize(
    ("file", "names", "serves"),
    [
        ("src/backend/executor/execMain.c", (), True),
        ("src/include/catalog/pg_proc.dat", (), True),
        ("src/backend/executor/README", (), False),
        ("src/backend/po/de.po", (), False),
        ("src/backend/nodes/gen_node_support.pl", (), True),
        ("src/backend/port/win32_shmem.c", (), False),
        ("src/port/win32security.c", (), False),
        ("src/common/unicode/README", (), False),
        ("src/bin/initdb/initdb.c", (), True),
        ("src/bin/initdb/t/001_initdb.pl", (), False),
        ("src/bin/psql/command.c", (), False),
        ("src/interfaces/libpq/fe-exec.c", (), True),
        ("src/interfaces/ecpg/ecpglib/execute.c", (), False),
        ("src/test/regress/sql/join.sql", (), False),
        ("src/tools/pgindent/typedefs.list", (), False),
        ("src/tools/gen_keywordlist.pl", (), True),
        ("src/Makefile.global.in", (), True),
        ("src/template/linux", (), True),
        ("configure.ac", (), True),
        ("meson.build", (), True),
        ("doc/src/sgml/config.sgml", (), False),
        ("contrib/pg_prewarm/pg_prewarm.c", (), True),
        ("contrib/pg_prewarm/sql/pg_prewarm.sql", (), False),
        ("contrib/hstore/hstore_io.c", (), False),
        ("contrib/hstore/hstore_io.c", ("hstore_plperl",), True),
        ("src/pl/plpgsql/src/pl_exec.c", (), True),
        ("src/pl/plperl/plperl.c", (), False),
        ("src/pl/plperl/plperl.c", ("hstore_plperl",), True),
        (".git-blame-ignore-revs", (), False),
    ],
)
def test_files_that_make_no_server_change_none(
    file: str, names: tuple[str, ...], serves: bool
) -> None:
    assert modules.serves(file, names) is serves


def test_a_tree_that_only_meson_builds_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "meson.build").write_text("project('postgresql')\n")
    with pytest.raises(ServerError, match="no configure, by which dyno builds") as error:
        POSTGRES.version(tmp_path, "x")
    assert "\n" not in str(error.value)


# --- Progress ----------------------------------------------------------------------------------


def spoken(log: BuildLog, files: int | None, work: Callable[[], None]) -> str:
    """The first line that is said while the work is done."""
    lines: list[str] = []
    first = threading.Event()

    def say(text: str) -> None:
        lines.append(text)
        first.set()

    with progress.each_minute("compile", log, say, files):
        work()
        assert first.wait(60)
    count = len(lines)
    assert not any(thread.name == "build progress" for thread in threading.enumerate())
    assert len(lines) == count
    return lines[-1]


def test_a_phase_at_work_is_told_with_its_share_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    with BuildLog(tmp_path / "log") as log:
        log.write("gcc -O2 -c -o before.o before.c\n")
        said = spoken(log, 9, lambda: log.write(
            "gcc -O2 -c -o a.o a.c -MMD\nranlib x.a\n[ 3%] Building CXX object b.cc.o\n"
        ))  # fmt: skip
        assert said.startswith("compile: 0 min")
        assert spoken(log, None, lambda: None) == "compile: 0 min"
    assert progress.files_in(tmp_path / "log") == 3
    assert [progress.share(2, files) for files in (9, 2, None)] == [
        ", 2 of about 9 files", ", 2 files", ", 2 files",
    ]  # fmt: skip


def test_files_are_those_of_the_newest_build_as_whole(cache: Path, tree: Path) -> None:
    compile.build(wish_of(tree, ()), POSTGRES, quiet, cache)
    assert progress.files_before("postgres", whole=False, cache=cache) is None
    path = built.root(cache) / "mine" / built.RECORD
    path.write_text(path.read_text().replace('"files": 0', '"files": 931'))
    assert progress.files_before("postgres", whole=False, cache=cache) == 931
    assert progress.files_before("postgres", whole=True, cache=cache) is None
    assert progress.files_before("mysql", whole=False, cache=cache) is None


# --- An extension of one's own ------------------------------------------------------------------

PGXS = """\
all: ; {work}
clean: ; rm -f stale
install: all ; test ! -e stale && cp my.control "$$($(PG_CONFIG))/extension"
"""


def an_extension(folder: Path, work: str = "true") -> Path:
    """One whose Makefile asks pg_config where it lies."""
    folder.mkdir()
    (folder / "Makefile").write_text(PGXS.format(work=work))
    (folder / "my.control").write_text(work)
    (folder / "stale").write_text("an object of another server")
    return folder


@pytest.fixture(name="server")
def _server(cache: Path, tree: Path) -> Path:
    """A build with what extensions need."""
    folder = compile.build(wish_of(tree, ()), POSTGRES, quiet, cache)
    config = folder / "bin" / "pg_config"
    config.write_text('#!/bin/sh\ncd "$(dirname "$0")/../share" && pwd\n')
    config.chmod(0o755)
    for path in (folder / "share" / "extension", (folder / extension.PGXS[0]).parent):
        path.mkdir(parents=True)
    (folder / extension.PGXS[0]).write_text("")
    return folder


def build_in(folder: Path) -> Build:
    """The build in a folder, which no account runs."""
    return Build(
        engine="postgres", base_dir=folder, program=folder / "bin" / "postgres", version="18.6",
        version_num=180006,
    )  # fmt: skip


def extended(folder: Path, server: Path, name: str = "with-mine") -> BuildRequest:
    """The extension in the folder beside the server."""
    return extension.request(name, source.identify(str(folder)), server, jobs=1, replace=False)


def test_an_extension_makes_a_build_that_is_a_copy_of_the_server_with_it(
    tmp_path: Path, cache: Path, server: Path
) -> None:
    folder = an_extension(tmp_path / "mine")
    wish, method = extended(folder, server), extension.method(server)
    made = compile.build(wish, method, quiet, cache)
    forms = [data_form.scripts(build_in(of)) for of in (server, made)]
    assert forms[0] == {}
    (made / "share" / "extension" / "my--1.1.sql").write_text("other objects")
    assert forms[1] != data_form.scripts(build_in(made))
    assert (made / "share" / "extension" / "my.control").is_file()
    assert not (server / "share" / "extension" / "my.control").exists()
    assert (folder / "stale").exists()
    record, before = built.kept(made), built.kept(server)
    assert record is not None
    assert before is not None
    assert (record.version, record.flags, record.files) == (before.version, before.flags, None)
    assert record.source.origin == str(folder)
    assert compile.is_there(wish, made)
    assert built.find("with-mine", "postgres", "x", cache) == made


def test_an_extension_is_another_beside_another_server_and_of_other_content(
    tmp_path: Path, cache: Path, server: Path
) -> None:
    folder = an_extension(tmp_path / "mine")
    first = extended(folder, server)
    (folder / "my.control").write_text("changed")
    keys = [built.key_of(wish.parts) for wish in (first, extended(folder, server))]
    assert keys[0] != keys[1]
    assert built.key_of(replace(first, beside="another").parts) not in keys


def test_the_page_shows_the_function_of_its_example() -> None:
    folder = Path(__file__).parent.parent / "docs" / "howto"
    shown = (folder / "extension.md").read_text().split("```c\n")[1].split("```")[0]
    assert shown in (folder / "extension" / "digits.c").read_text()


def test_what_is_no_extension_is_refused_in_one_line(tmp_path: Path, cache: Path, server: Path):
    method = extension.method(server)
    (tmp_path / "none").mkdir()
    with pytest.raises(ServerError, match="has no Makefile: dyno builds extensions by PGXS"):
        compile.build(extended(tmp_path / "none", server), method, quiet, cache)
    broken = an_extension(tmp_path / "broken", "echo 'my.c:3:1: error: no such thing'; false")
    with pytest.raises(ServerError, match=r"compile failed: my\.c:3:1: error: no such thing; see"):
        compile.build(extended(broken, server), method, quiet, cache)
    assert not (built.root(cache) / "with-mine").exists()
    (server / "bin" / "pg_config").unlink()
    with pytest.raises(ServerError, match="without pg_config and PGXS"):
        extended(tmp_path / "none", server)


# Compilers by way of ccache or sccache: what builds find first, where one is installed.


def program(folder: Path, name: str) -> Path:
    """A program that says how it was called."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text('#!/bin/sh\necho "$0 $*"\n')
    path.chmod(0o755)
    return path


def test_compilers_that_are_here_are_called_by_way_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    monkeypatch.setattr(compiler_cache, "COMPILERS", ("gcc", "cc", "never-here"))
    monkeypatch.setattr(compiler_cache, "PROGRAMS", ("my-cache", "other-cache"))
    gcc = program(here, "gcc")
    assert compiler_cache.environment(tmp_path) == {}
    for name in ("other-cache", "my-cache"):  # the first that is installed, also later
        cache = program(here, name)
        (here / "cc").unlink(missing_ok=True)
        (here / "cc").symlink_to(cache)  # as distributions have them: no way leads twice to it
        environment = compiler_cache.environment(tmp_path)
        assert [path.name for path in (tmp_path / "compilers").iterdir()] == ["gcc"]
        with BuildLog(tmp_path / "log") as log:
            log.run(["gcc", "-c", "a b.c"], tmp_path, environment)
        assert f"{cache} {gcc} -c a b.c\n" in (tmp_path / "log").read_text()
    before = (tmp_path / "compilers" / "gcc").stat().st_mtime_ns
    assert compiler_cache.environment(tmp_path) == environment
    assert (tmp_path / "compilers" / "gcc").stat().st_mtime_ns == before


def test_builds_find_them_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_cache, "PROGRAMS", ("true",))
    monkeypatch.setattr(compiler_cache, "COMPILERS", ("gcc",))
    tree = fake_source.make(tmp_path / "source", work="command -v gcc > used")
    repository = fake_source.checkout(tree)
    worktree = Worktree(
        repository=repository,
        engine="postgres",
        method=engine.of("postgres").method(),
        flags=Flags(recipe=None),
        cache=tmp_path / "cache",
    )
    worktree.build(fake_source.git(repository, "rev-parse", "HEAD"), lambda text: None)
    used = (worktree.tree / "used").read_text().strip()
    assert used == str(worktree.root / "compilers" / "gcc")
