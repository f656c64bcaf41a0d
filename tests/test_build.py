"""Builds from source: made whole or not at all, found again by name and key."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import command
import fake_source
from dbdyno import engine
from dbdyno.builds import cache as built
from dbdyno.builds import compile, source
from dbdyno.builds import flags as recipe
from dbdyno.builds.compile import BuildRequest
from dbdyno.builds.source import Ref
from dbdyno.cli.server import ref_of
from dbdyno.engine import installed
from dbdyno.host import account, lock, place
from dbdyno.host.account import Account
from dbdyno.host.process import is_alive, start_ticks
from dbdyno.model import Arm
from dbdyno.model.error import DynoError, HostError, ServerError
from server_place import within

SELF = Account(name="me", uid=os.geteuid(), gid=os.getegid(), other=False)

POSTGRES = engine.of("postgres").method()


def quiet(text: str) -> None:
    """Takes lines of progress."""


def a_wish(written: Path | str, name: str = "mine", *, cflags: str | None = None, **more: object):
    """A build of PostgreSQL as a command would ask for it."""
    ref = more.pop("ref", None)
    assert ref is None or isinstance(ref, Ref)
    flags = recipe.choose(
        engine.recipes("postgres"), recipe=None, cflags=cflags, march=None, lto=False
    )
    found = source.identify(str(written), ref)
    return BuildRequest(engine="postgres", name=name, source=found, flags=flags, **more)  # type: ignore[arg-type]


@pytest.fixture(name="cache")
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Not the host's own lock: whoever measures here now would be waited for.
    monkeypatch.setattr(lock, "default_path", lambda: tmp_path / "dyno.lock")
    return tmp_path / "cache"


@pytest.fixture(name="tarball")
def _tarball(tmp_path: Path) -> Path:
    return fake_source.tarball(fake_source.make(tmp_path / "tree"))


def left(cache: Path) -> set[str]:
    """What lies among the builds."""
    return (
        {path.name for path in built.root(cache).glob("*")} if built.root(cache).is_dir() else set()
    )


def test_a_tarball_becomes_a_build_that_an_arm_finds(
    tmp_path: Path, cache: Path, tarball: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CFLAGS", "-Oops")  # flags of our environment get into no build
    old = os.umask(0o077)
    try:
        prefix = compile.build(a_wish(tarball, cflags="-O2 -g3"), POSTGRES, quiet, cache)
    finally:
        os.umask(old)
    assert prefix == cache / "builds" / "mine"
    assert "# -O2 -g3\n" in (prefix / "bin" / "postgres").read_text()
    assert (prefix / "share" / "pg_prewarm.control").is_file()
    assert (prefix / "share").stat().st_mode & 0o777 == 0o755
    assert left(cache) == {"mine"}
    arm = Arm(name="a", engine="postgres", build="mine")
    build = installed.locate(arm, cache, SELF)
    assert (build.version, build.base_dir) == ("18.6", prefix)


def test_the_record_says_what_a_build_was_made_of(cache: Path, tarball: Path):
    wish = a_wish(tarball, cflags="-O2", options=("--without-icu",), jobs=2)
    record = built.record(compile.build(wish, POSTGRES, quiet, cache))
    assert record is not None
    assert (record["engine"], record["version"], record["flags"]) == ("postgres", "18.6", "-O2")
    assert record["source"]["identity"].startswith("sha256:")
    prefix = cache / "builds" / "mine"
    options = ["--enable-debug", "--with-lz4", "--with-liburing", "CFLAGS=-O2", "--without-icu"]
    assert record["configure"] == ["./configure", f"--prefix={prefix}", *options]
    assert set(record["seconds"]) == {"unpack", "configure", "compile", "install"}
    assert record["compiler"]
    assert Path(record["log"]).read_text().count("make install") == 2
    facts = built.facts_of(prefix)
    assert facts is not None and facts.flags == "-O2"


def test_the_same_again_is_there_at_once(cache: Path, tarball: Path):
    prefix = compile.build(a_wish(tarball), POSTGRES, quiet, cache)
    before = (prefix / "bin" / "postgres").stat().st_ino
    said: list[str] = []
    assert compile.build(a_wish(tarball), POSTGRES, said.append, cache) == prefix
    assert (prefix / "bin" / "postgres").stat().st_ino == before
    assert said == ["mine is there already, of the same source and flags"]


def test_another_build_of_the_same_name_is_refused_with_what_differs(cache: Path, tarball: Path):
    compile.build(a_wish(tarball, cflags="-O2"), POSTGRES, quiet, cache)
    with pytest.raises(ServerError) as caught:
        compile.build(a_wish(tarball, cflags="-O3"), POSTGRES, quiet, cache)
    assert str(caught.value) == (
        "--name mine: that is another build: flags `-O2` here, `-O3` asked for: take another name, "
        "or say --replace"
    )


def test_replacing_puts_another_build_in_its_place(cache: Path, tarball: Path):
    compile.build(a_wish(tarball, cflags="-O2"), POSTGRES, quiet, cache)
    prefix = compile.build(a_wish(tarball, cflags="-O3", replace=True), POSTGRES, quiet, cache)
    assert "# -O3\n" in (prefix / "bin" / "postgres").read_text()
    assert left(cache) == {"mine"}


def test_a_failed_replacement_leaves_the_old_build(tmp_path: Path, cache: Path, tarball: Path):
    prefix = compile.build(a_wish(tarball), POSTGRES, quiet, cache)
    broken = fake_source.make(tmp_path / "broken", work="false")
    with pytest.raises(ServerError, match="compile failed"):
        compile.build(a_wish(broken, replace=True), POSTGRES, quiet, cache)
    assert (prefix / "bin" / "postgres").is_file()
    assert left(cache) == {"mine"}


def test_what_fails_leaves_its_log_and_nothing_else(tmp_path: Path, cache: Path):
    work = "echo 'main.c:1:10: error: you shall not pass' >&2; exit 1"
    tree = fake_source.make(tmp_path / "tree", work=work)
    with pytest.raises(ServerError) as caught:
        compile.build(a_wish(tree), POSTGRES, quiet, cache)
    assert "compile failed: main.c:1:10: error: you shall not pass" in str(caught.value)
    log = built.log_of("mine", cache)
    assert str(caught.value).endswith(f"see `{log}`")
    assert "you shall not pass" in log.read_text()
    assert left(cache) == set()


def test_a_missing_header_is_named_with_its_package_and_nothing_is_compiled(
    tmp_path: Path, cache: Path
):
    check = (
        "echo 'configure: error: Package requirements (liburing) were not met:' >&2\n"
        "echo 'conftest.c:9: fatal error: no liburing.h' > config.log\nexit 1"
    )
    compiled = tmp_path / "compiled"
    tree = fake_source.make(tmp_path / "tree", check=check, work=f"touch {compiled}")
    with pytest.raises(ServerError) as caught:
        compile.build(a_wish(tree), POSTGRES, quiet, cache)
    assert "apt-get install liburing-dev, or --configure --without-liburing" in str(caught.value)
    assert not compiled.exists()
    assert "conftest.c:9: fatal error" in built.log_of("mine", cache).read_text()


def test_two_do_not_make_the_same_build_at_once(cache: Path, tarball: Path):
    from dbdyno.builds.log import BuildLog

    with (
        BuildLog(built.log_of("mine", cache)),
        pytest.raises(HostError, match="`mine` is being built now"),
    ):
        compile.build(a_wish(tarball), POSTGRES, quiet, cache)


def wait_for(path: Path) -> str:
    """What a file says as soon as it says something."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if path.is_file() and (text := path.read_text().strip()):
            return text
        time.sleep(0.02)
    raise AssertionError(f"{path} was not written")


@pytest.mark.long
def test_an_interrupt_ends_the_compiler_and_leaves_nothing(tmp_path: Path, cache: Path):
    mark = tmp_path / "process"
    # What make started goes on by itself: only who ends the whole group ends it.
    tree = fake_source.make(
        tmp_path / "tree", work=f"(trap '' TERM; echo $$$$ > {mark}; sleep 600)"
    )
    code = (
        "import sys; from pathlib import Path; from dbdyno.host import place; "
        f"place.cache_root = lambda: Path({str(cache)!r}); "
        "from dbdyno.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "server", "build", "postgres", str(tree)]
    process = subprocess.Popen([*command, "--name", "mine"], stderr=subprocess.PIPE, text=True)
    compiler = int(wait_for(mark))
    begun = start_ticks(compiler)
    assert begun is not None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.endswith("interrupted; only the log of the build is kept\n")
    assert left(cache) == set()
    assert within(60, lambda: not is_alive(compiler, begun)), "another process may have its number"


def test_what_a_killed_making_left_is_swept_up(cache: Path, tarball: Path):
    scratch = built.root(cache) / ".mine"
    (scratch / "source").mkdir(parents=True)
    compile.build(a_wish(tarball), POSTGRES, quiet, cache)
    assert left(cache) == {"mine"}


def test_a_folder_that_dyno_did_not_make_is_neither_replaced_nor_removed(
    cache: Path, tarball: Path
):
    (built.root(cache) / "mine").mkdir(parents=True)
    with pytest.raises(ServerError, match="dyno did not build it: take another --name"):
        compile.build(a_wish(tarball), POSTGRES, quiet, cache)
    with pytest.raises(ServerError, match="dyno did not build it: take another --name"):
        compile.build(a_wish(tarball, replace=True), POSTGRES, quiet, cache)
    with pytest.raises(ServerError, match="dyno built nothing named `mine`"):
        built.remove("mine", cache)


def test_a_build_is_listed_and_removed_with_its_log(
    cache: Path, tarball: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(place, "cache_root", lambda: cache)
    monkeypatch.setattr(account, "choose", lambda engine: SELF)
    monkeypatch.setattr(installed, "rows", partial(installed.rows, root=cache))
    compile.build(a_wish(tarball), POSTGRES, quiet, cache)
    (row,) = json.loads(command.dyno("server", "list", "--json").stdout)
    assert (row["name"], row["version"], row["origin"]) == ("mine", "18.6", "built")
    assert command.dyno("server", "list").stdout.startswith("postgres 18.6     built  build = mine")
    assert command.dyno("server", "remove", "mine").stderr == "removed mine\n"
    assert left(cache) == set()
    assert not built.log_of("mine", cache).exists()


def test_an_unknown_build_of_an_arm_suggests_the_nearest(cache: Path, tarball: Path):
    compile.build(a_wish(tarball, name="pg18_o2nofp"), POSTGRES, quiet, cache)
    arm = Arm(name="a", engine="postgres", build="pg18_o2nofb")
    with pytest.raises(ServerError) as caught:
        installed.locate(arm, cache, SELF)
    assert str(caught.value) == (
        "arms.a.build: there is no build `pg18_o2nofb`; did you mean `pg18_o2nofp`?"
    )
    for other, name, said in (
        ("mariadb", "pg18_o2nofp", "build `pg18_o2nofp` is of engine postgres"),
        ("postgres", "../mine", "cannot name a build"),
    ):
        with pytest.raises(ServerError, match=said):
            installed.locate(Arm(name="a", engine=other, build=name), cache, SELF)


# --- Sources -----------------------------------------------------------------------------------


def test_a_checkout_is_built_at_its_tag_and_not_touched(tmp_path: Path, cache: Path):
    tree = fake_source.checkout(fake_source.make(tmp_path / "tree"))
    first = fake_source.git(tree, "rev-parse", "HEAD")
    (tree / "Makefile").write_text("all: ; false\n")
    fake_source.git(tree, "commit", "--all", "--quiet", "--message", "broken")
    wish = a_wish(tree, ref=Ref(kind="tag", name="REL_18_6"))
    assert (wish.source.identity, wish.source.ref) == (f"commit:{first}", "tag REL_18_6")
    prefix = compile.build(wish, POSTGRES, quiet, cache)
    assert (prefix / "bin" / "postgres").is_file()
    assert fake_source.git(tree, "status", "--porcelain") == ""
    assert not (tree / "Makefile.global").exists()


def test_a_branch_is_the_checkouts_own_and_else_that_of_its_origin(tmp_path: Path):
    tree = fake_source.checkout(fake_source.make(tmp_path / "tree"))
    fake_source.git(tree, "checkout", "--quiet", "-b", "both")
    fake_source.git(tree, "branch", "theirs")
    fake_source.git(tmp_path, "clone", "--quiet", str(tree), "mine")
    own = fake_source.commit(tmp_path / "mine", "own", ("notes.txt", "x"))
    theirs = fake_source.git(tree, "rev-parse", "HEAD")
    for name, commit in (("both", own), ("theirs", theirs)):
        identified = source.identify(str(tmp_path / "mine"), Ref(kind="branch", name=name))
        assert identified.identity == f"commit:{commit}"
    with pytest.raises(ServerError, match=r"--branch neither: .* has none of that name"):
        source.identify(str(tmp_path / "mine"), Ref(kind="branch", name="neither"))


def test_a_checkout_with_changes_is_built_as_it_stands(tmp_path: Path, cache: Path):
    tree = fake_source.checkout(fake_source.make(tmp_path / "tree"))
    clean = source.identify(str(tree)).identity
    (tree / "Makefile").write_text((tree / "Makefile").read_text().replace("18.6", "18.7"))
    changed = a_wish(tree)
    assert changed.source.identity.startswith(f"{clean} with changes sha256:")
    prefix = compile.build(changed, POSTGRES, quiet, cache)
    assert "18.7" in (prefix / "bin" / "postgres").read_text()


def test_a_repository_elsewhere_is_fetched_at_its_tag(tmp_path: Path, cache: Path):
    tree = fake_source.checkout(fake_source.make(tmp_path / "tree"))
    first = fake_source.git(tree, "rev-parse", "HEAD")
    wish = a_wish(f"file://{tree}", ref=Ref(kind="tag", name="REL_18_6"))
    assert (wish.source.kind, wish.source.identity) == ("address", f"commit:{first}")
    assert (compile.build(wish, POSTGRES, quiet, cache) / "bin" / "postgres").is_file()
    with pytest.raises(ServerError, match="has no refs/tags/REL_99"):
        source.identify(f"file://{tree}", Ref(kind="tag", name="REL_99"))


def test_a_folders_identity_is_its_content(tmp_path: Path):
    one, two = fake_source.make(tmp_path / "one"), fake_source.make(tmp_path / "two")
    assert source.identify(str(one)).identity == source.identify(str(two)).identity
    (two / "configure").chmod(0o644)
    assert source.identify(str(one)).identity != source.identify(str(two)).identity


def test_a_folder_that_was_built_in_is_refused(tmp_path: Path):
    tree = fake_source.make(tmp_path / "tree")
    (tree / "config.status").touch()
    with pytest.raises(ServerError, match=r"has been built in .* run `make distclean` there"):
        source.identify(str(tree))


@pytest.mark.parametrize(
    ("name", "content", "ref", "said"),
    [
        ("none.tar.gz", None, None, "no such file or folder"),
        ("notes.txt", "x", None, "is no tarball"),
        ("a.tar.gz", "x", Ref(kind="tag", name="v1"), "is no git checkout: drop the option"),
    ],
)
def test_what_is_no_source_is_refused(
    tmp_path: Path, name: str, content: str | None, ref: Ref | None, said: str
):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(ServerError, match=said):
        source.identify(str(tmp_path / name), ref)


def test_a_damaged_tarball_is_one_line(tmp_path: Path, cache: Path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"no tarball")
    with pytest.raises(ServerError, match="cannot be unpacked: "):
        compile.build(a_wish(path), POSTGRES, quiet, cache)
    assert left(cache) == set()


def test_one_ref_is_wanted_at_most():
    assert ref_of(None, "b", None) == Ref(kind="branch", name="b")
    with pytest.raises(DynoError, match="name one of --tag and --commit"):
        ref_of("a", None, "c")


def test_a_tree_of_something_else_is_refused(tmp_path: Path, cache: Path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "configure").write_text("#!/bin/sh\nPACKAGE_NAME='zlib'\n")
    with pytest.raises(ServerError, match="is not a source of PostgreSQL"):
        compile.build(a_wish(tmp_path / "tree"), POSTGRES, quiet, cache)
    old = fake_source.make(tmp_path / "old", version="11.22")
    with pytest.raises(ServerError, match=r"is PostgreSQL 11.22: 12 is the oldest"):
        compile.build(a_wish(old), POSTGRES, quiet, cache)


def test_a_damaged_record_says_how_to_mend_it(cache: Path, tarball: Path):
    prefix = compile.build(a_wish(tarball), POSTGRES, quiet, cache)
    (prefix / built.RECORD).write_text(json.dumps({"format": 99}))
    with pytest.raises(ServerError, match="is not of format 1: build it again, --replace"):
        built.record(prefix)
