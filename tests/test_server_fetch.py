"""Builds that are here, and the programs that come with the package."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.engine import fake, installed
from dbdyno.engine.fake.sampler import KEYS as sampler_keys
from dbdyno.engine.postgres import build, fetch
from dbdyno.host import program as binary
from dbdyno.host.account import Account, blocked_at, choose
from dbdyno.model import Arm
from dbdyno.model.error import DynoError, GeneratorError, PlanError, ServerError
from dbdyno.model.job import Job
from server_place import a_place

SELF = Account(name="me", uid=os.geteuid(), gid=os.getegid(), other=False)


def a_tree(base_dir: Path, says: str = "postgres (PostgreSQL) 17.6") -> Path:
    """A folder that looks like a PostgreSQL whose version is `says`."""
    (base_dir / "bin").mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (base_dir / "bin" / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (base_dir / "bin" / name).chmod(0o755)
    return base_dir


def a_program(path: Path) -> Path:
    """A program that does nothing."""
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("line", "version", "number"),
    [
        ("postgres (PostgreSQL) 17.6", "17.6", 170006),
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18", 150018),
        ("postgres (PostgreSQL) 9.6.24", "9.6.24", 90624),
        ("postgres (PostgreSQL) 19devel", "19devel", 190000),
        ("postgres (PostgreSQL) 18beta1", "18beta1", 180000),
    ],
)
def test_versions_and_numbers_are_the_servers_own(
    tmp_path: Path, line: str, version: str, number: int
):
    inspected = build.inspect(a_tree(tmp_path / "b", line), "x", SELF)
    assert (inspected.version, inspected.version_num) == (version, number)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("17", "17.10"), ("17.6", "17.6"), ("9.6", "9.6.24"), ("18", "18.1.0"), ("18.1", "18.1.0")],
)
def test_a_version_in_the_cache_is_found_without_going_online(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, found: str
):
    monkeypatch.setattr(fetch, "releases", lambda: pytest.fail("went online"))
    for version in ("17.6", "17.10", "9.6.24", "18.1.0"):
        a_tree(tmp_path / "postgres" / version)
    assert fetch.fetch("postgres", wanted, print, tmp_path) == tmp_path / "postgres" / found


@pytest.mark.parametrize("wanted", ["17.1", "1", "16", "17.6.1"])
def test_a_version_that_only_looks_alike_is_not_taken(tmp_path: Path, wanted: str):
    a_tree(tmp_path / "postgres" / "17.10")
    (tmp_path / "postgres" / "16.2" / "bin").mkdir(parents=True)  # broken off: no program in it
    assert build.cached("postgres", wanted, tmp_path) is None


def test_a_folder_without_a_server_is_named_with_the_plans_key(tmp_path: Path):
    arm = Arm(name="mine", engine="postgres", base_dir=tmp_path)
    with pytest.raises(ServerError, match=r"^arms.mine.base_dir: .*has no bin/postgres"):
        installed.locate(arm, account=SELF)


def test_a_program_that_says_no_version_is_refused(tmp_path: Path):
    with pytest.raises(ServerError, match="says no version: hello"):
        build.inspect(a_tree(tmp_path / "b", "hello"), "x", SELF)


def test_a_moved_tree_gets_its_own_libraries(tmp_path: Path):
    tree = a_tree(tmp_path / "b")
    missing = 'echo "error while loading shared libraries: libpq.so.5" >&2; exit 127'
    version = "echo 'postgres (PostgreSQL) 17.6'"
    script = f'#!/bin/sh\nif [ -z "$LD_LIBRARY_PATH" ]; then {missing}; fi\n{version}\n'
    (tree / "bin" / "postgres").write_text(script)
    inspected = build.inspect(tree, "x", SELF)
    assert inspected.version == "17.6"
    assert inspected.environment == {"LD_LIBRARY_PATH": str(tree / "lib")}


def test_a_build_closed_to_the_servers_account_is_named(tmp_path: Path):
    account = choose("postgres")
    if not account.other:
        pytest.skip("dyno runs as the servers' account here")
    tree = a_tree(tmp_path / "closed" / "b")
    (tmp_path / "closed").chmod(0o700)
    with pytest.raises(ServerError, match="cannot enter `"):
        build.inspect(tree, "x", account)
    assert blocked_at(tree, account) is not None


def test_installed_lists_what_works(tmp_path: Path):
    with a_place() as place:
        a_tree(place.cache_root / "postgres" / "17.6")
        (place.cache_root / "postgres" / "18.0").mkdir()
        (place.cache_root / "postgres" / ".lock").touch()
        (base,) = build.installed(place.cache_root, root=tmp_path)
        assert base.version == "17.6"


def test_an_override_decides_which_program_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = a_program(tmp_path / "program")
    monkeypatch.setenv("DYNO_LOADGEN", str(program))
    assert binary.find("dyno-loadgen") == program
    monkeypatch.setenv("DYNO_LOADGEN", str(tmp_path / "none"))
    with pytest.raises(GeneratorError, match="`DYNO_LOADGEN` names"):
        binary.find("dyno-loadgen")


def test_a_missing_program_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("DYNO_FLAME", raising=False)
    monkeypatch.setattr(binary.sysconfig, "get_path", lambda _: str(tmp_path))
    package = tmp_path / "lib/python3/site-packages/dbdyno"
    monkeypatch.setattr(binary.resources, "files", lambda _: package)
    with pytest.raises(DynoError) as caught:
        binary.find("dyno-flame")
    assert f"`{tmp_path}/dyno-flame`" in str(caught.value)
    assert f"`{tmp_path}/bin/dyno-flame`" in str(caught.value)


def test_the_path_is_never_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "path").mkdir()
    a_program(tmp_path / "path" / "dyno-flame")
    monkeypatch.delenv("DYNO_FLAME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(binary.sysconfig, "get_path", lambda _: str(tmp_path / "scripts"))
    monkeypatch.setattr(binary.resources, "files", lambda _: tmp_path / "dbdyno")
    with pytest.raises(DynoError, match="is not installed"):
        binary.find("dyno-flame")


def test_a_fake_takes_everything_and_says_what_is_planted():
    arm = Arm(name="f", engine="fake", fake={"default_us": 50, "server_cpu_us": {"q": 40.0}})
    server = fake.FakeServer(arm)
    server.check()
    server.start()
    server.create_database("ib")
    assert server.execute("CREATE TABLE t (a int)") == []
    assert (server.address(), server.failure()) == (None, None)
    assert server.plants.of_job(Job(clients=1)) == {
        "service_us": {},
        "default_us": 50,
        "jitter": 0.0,
        "rows": {},
        "stalls": [],
        "errors": [],
        "lost_at_s": None,
        "cursor": {},
    }
    assert server.facts().engine == "fake"
    server.stop()


def test_a_fakes_keys_are_those_of_the_fake_sampler():
    assert sampler_keys == fake.SAMPLER_KEYS


def test_a_fake_with_an_unknown_key_is_refused():
    arm = Arm(name="f", engine="fake", fake={"servcie_us": {}})
    with pytest.raises(PlanError, match=r"arms.f.fake.servcie_us: unknown key"):
        fake.FakeServer(arm)


def test_a_builds_libraries_are_found_where_the_arm_says(tmp_path: Path):
    tree = a_tree(tmp_path / "b")
    says = 'test "$LD_LIBRARY_PATH" = /opt/lib && echo "postgres (PostgreSQL) 17.6"'
    (tree / "bin" / "postgres").write_text(f"#!/bin/sh\n{says}\n")
    arm = Arm(name="a", engine="postgres", base_dir=tree)
    with pytest.raises(ServerError, match="says no version"):
        installed.locate(arm, account=SELF)
    there = replace(arm, environment={"LD_LIBRARY_PATH": "/opt/lib"})
    assert installed.locate(there, account=SELF).version == "17.6"
