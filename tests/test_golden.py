"""Golden copies without a server: keys, what is kept, what is damaged, what a break leaves."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from msgspec.json import encode

import command
from dbdyno.engine import golden
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.postgres import fingerprint
from dbdyno.host import account, data_folder, quiesce
from dbdyno.host.place import Place
from dbdyno.model import Json, Step
from dbdyno.model.error import HostError, ServerError
from dbdyno.model.job import Job
from dbdyno.model.job.fills import Fill
from dbdyno.model.job.statements import Piece, Statement
from dbdyno.run import disk_space, starting_state
from dbdyno.run.check import dry_run

PARTS: Json = {"server": {"version": "17.6"}, "seed": 7, "steps": [{"name": "fill"}]}
ORIGIN = CopyOrigin(workload="w", step="fill", block_begun_unix_ns=5)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


def here() -> account.Account:
    """The account of the test itself."""
    return account.Account(name="me", uid=os.geteuid(), gid=os.getegid(), other=False)


def source(
    root: Path, *, state: int = fingerprint.SHUT_DOWN, wal: bool = False
) -> golden.DataDirectory:
    """What a PostgreSQL that was shut down leaves, as far as golden copies look at it."""
    data = data_folder.make(root / "data" / "a", "data", here())
    (data / "global").mkdir()
    (data / "pg_tblspc").mkdir()
    (data / "base").mkdir()
    (data / "base" / "1").write_bytes(b"x" * 8192)
    (data / "PG_VERSION").write_text("17\n")
    (data / fingerprint.CONTROL).write_bytes(
        fingerprint.CONTROL_HEAD.pack(1, 1700, 2024, state) + b"rest"
    )
    wal_dir = None
    if wal:
        wal_dir = data_folder.make(root / "wal" / "a", "wal", here())
        (wal_dir / "000000010000000000000001").write_bytes(b"w" * 100)
        (data / "pg_wal").symlink_to(wal_dir)
    return golden.DataDirectory(
        engine="postgres",
        arm="a",
        version="17.6",
        data_dir=data,
        wal_dir=wal_dir,
        data_root=root / "data",
        wal_root=root / "wal" if wal else None,
        account=here(),
    )


def place(root: Path) -> Place:
    made = Place(
        data_root=root / "data",
        run_root=root / "run",
        cache_root=root / "cache",
        log_dir=root / "log",
        account=here(),
    )
    made.make()
    return made


# --- Keys --------------------------------------------------------------------------------------


@given(st.dictionaries(st.text(max_size=5), SCALARS, max_size=5))
@pytest.mark.long
def test_a_key_does_not_depend_on_the_order_in_which_its_parts_stand(parts: Json) -> None:
    turned = dict(reversed(parts.items()))
    assert golden.key_of(parts) == golden.key_of(turned)
    assert len(golden.key_of(parts)) == golden.KEY_DIGITS


@given(
    st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3),
    st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3),
)
def test_other_parts_have_another_key(one: Json, other: Json) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (golden.key_of(one) == golden.key_of(other)) == same


def step(ordinal: int, *sql: str, after: tuple[str, ...] = (), writes: bool = True) -> Step:
    fills = (Fill(table="t", rows=1, columns=(), after=after),) if after else ()
    statements = tuple(Statement(name="s", pieces=(text, Piece(table="t"))) for text in sql)
    return Step(
        ordinal=ordinal,
        name=f"s{ordinal}",
        workload="w",
        measured=True,
        writes=writes,
        warm="none",
        setup=(),
        job=Job(clients=1, statements=statements, fills=fills),
        headline=None,
        sla=None,
        pad_to_s=None,
        roles={},
        tables=(),
        explain={},
        expected_s=None,
        nominal_s=None,
    )


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([step(1, "INSERT INTO ")], True),
        ([step(1, "INSERT INTO "), step(2, "VACUUM (ANALYZE) ")], False),
        ([step(1, "INSERT INTO "), step(2, "VACUUM "), step(3, "DELETE FROM ")], True),
        ([step(1, "INSERT INTO "), step(2, "VACUUM "), step(3, "SELECT * FROM ")], False),
        ([step(1, "VACUUM ", "\nupdate ")], True),
        ([step(1, after=("ALTER TABLE t", "VACUUM (ANALYZE) t"))], False),
        ([step(1, after=("ALTER TABLE t",))], True),
    ],
)
def test_what_is_kept_unvacuumed_is_seen_in_the_statements(steps: list[Step], expected: bool):
    assert starting_state.not_vacuumed(steps) is expected


# --- Keeping and finding -----------------------------------------------------------------------


@pytest.mark.parametrize("wal", [False, True])
def test_what_is_kept_is_found_whole_and_gone_from_its_place(tmp_path: Path, wal: bool) -> None:
    of = source(tmp_path, wal=wal)
    kept = golden.keep(of, PARTS, ORIGIN)
    found = golden.find(of.data_root, kept.key)
    assert found == kept
    assert found.key == golden.key_of(PARTS)
    assert (found.facts.files, found.facts.bytes >= 8192) == (5 if wal else 3, True)
    assert not of.data_dir.exists()
    assert (found.wal_dir is not None and (found.wal_dir / "000000010000000000000001").exists()) \
        is wal  # fmt: skip
    assert golden.find(of.data_root, "no such key") is None


@pytest.mark.parametrize("wal", [False, True])
def test_a_copy_has_the_same_content_and_its_own_write_ahead_log(tmp_path: Path, wal: bool) -> None:
    of = source(tmp_path, wal=wal)
    kept = golden.keep(of, PARTS, ORIGIN)
    data = data_folder.make(of.data_root / "b", "data", here())
    golden.fill(data, kept.data_dir, place(tmp_path), shared_blocks=True, what="copy b")
    assert (data / "base" / "1").read_bytes() == b"x" * 8192
    if wal:
        own = data_folder.make(tmp_path / "wal" / "b", "wal", here())
        golden.fill(own, kept.wal_dir, place(tmp_path), shared_blocks=False, what="copy b")
        golden.point_to_wal(data, own, "pg_wal")
        assert (data / "pg_wal" / "000000010000000000000001").read_bytes() == b"w" * 100
        (data / "pg_wal" / "000000010000000000000001").write_bytes(b"")
    (data / "base" / "1").write_bytes(b"changed")
    assert golden.find(of.data_root, kept.key) == kept, "what a run writes is not the copy's"
    assert not list((tmp_path / "run" / "started").iterdir())


def test_a_later_state_of_the_same_key_takes_its_place(tmp_path: Path) -> None:
    golden.keep(source(tmp_path), PARTS, ORIGIN)
    kept = golden.keep(source(tmp_path), PARTS, replace(ORIGIN, block_begun_unix_ns=6))
    assert golden.find(tmp_path / "data", kept.key).facts.block_begun_unix_ns == 6
    assert [one.name for one in (tmp_path / "data" / "golden").iterdir()] == [kept.key]


def test_a_server_that_was_not_shut_down_in_order_is_not_kept(tmp_path: Path) -> None:
    of = source(tmp_path, state=6)
    with pytest.raises(ServerError, match="not shut down in order"):
        fingerprint.refuse_unclean(of.data_dir)


def test_tablespaces_elsewhere_are_not_kept(tmp_path: Path) -> None:
    of = source(tmp_path)
    (of.data_dir / "pg_tblspc" / "16384").symlink_to(tmp_path)
    with pytest.raises(ServerError, match="tablespaces"):
        fingerprint.refuse_unclean(of.data_dir)


def test_a_disk_that_refuses_a_copy_is_told_in_one_line(tmp_path: Path) -> None:
    kept = golden.keep(source(tmp_path), PARTS, ORIGIN)
    data = data_folder.make(tmp_path / "data" / "b", "data", here())
    with pytest.raises(HostError, match=r"cannot be copied: .*check the disk") as raised:
        none = kept.data_dir / "none"
        golden.fill(data, none, place(tmp_path), shared_blocks=False, what="copy b")
    assert "\n" not in str(raised.value)


# --- Damage ------------------------------------------------------------------------------------


def lose(copy: Copy) -> None:
    (copy.data_dir / "base" / "1").unlink()


def shorten(copy: Copy) -> None:
    (copy.data_dir / "base" / "1").write_bytes(b"x")


def start(copy: Copy) -> None:
    (copy.data_dir / fingerprint.CONTROL).write_bytes(
        fingerprint.CONTROL_HEAD.pack(1, 1700, 2024, 6)
    )


def other_version(copy: Copy) -> None:
    (copy.data_dir / "PG_VERSION").write_text("16\n")


def tear(copy: Copy) -> None:
    path = copy.folder / golden.FACTS
    path.write_bytes(path.read_bytes()[:100])


def newer(copy: Copy) -> None:
    (copy.folder / golden.FACTS).write_bytes(encode(structs.replace(copy.facts, format=2)))


def other_parts(copy: Copy) -> None:
    (copy.folder / golden.FACTS).write_bytes(encode(structs.replace(copy.facts, parts={})))


def no_data(copy: Copy) -> None:
    copy.data_dir.rename(copy.folder / "elsewhere")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lose, "3 files with"),
        (shorten, "bytes were kept"),
        (start, "a server was started in it"),
        (other_version, "of PostgreSQL 16, not 17"),
        (tear, "golden.json cannot be read"),
        (newer, "another copy or version of dyno"),
        (other_parts, "another copy or version of dyno"),
        (no_data, "cannot be read"),
    ],
)
def test_a_damaged_copy_is_one_line_with_its_remedy(tmp_path: Path, damage, words: str) -> None:
    kept = golden.keep(source(tmp_path), PARTS, ORIGIN)
    damage(kept)
    with pytest.raises(ServerError) as raised:
        golden.find(tmp_path / "data", kept.key)
    line = str(raised.value)
    assert words in line
    assert "\n" not in line
    assert line.endswith(f"`dyno golden remove {kept.key} --data-dir {tmp_path / 'data'}`")
    assert golden.remove(tmp_path / "data", [kept.key]) == [kept.key], "the remedy helps"
    assert golden.find(tmp_path / "data", kept.key) is None


def test_a_foreign_folder_is_neither_used_nor_removed(tmp_path: Path) -> None:
    folder = tmp_path / "golden" / "abc"
    folder.mkdir(parents=True)
    (folder / "mine").write_text("precious")
    with pytest.raises(ServerError, match="not made by dyno"):
        golden.find(tmp_path, "abc")
    with pytest.raises(ServerError, match="no golden copy `abc`"):
        golden.remove(tmp_path, ["abc"])
    assert (folder / "mine").read_text() == "precious"


def test_what_a_break_left_half_done_is_swept_up(tmp_path: Path) -> None:
    kept = golden.keep(source(tmp_path, wal=True), PARTS, ORIGIN)
    for root in (tmp_path / "data", tmp_path / "wal"):
        data_folder.make(root / "golden" / ".new-123", "data", here())
        data_folder.make(root / "golden" / ".gone-456", "data", here())
    golden.sweep(tmp_path / "data", tmp_path / "wal", None)
    assert [one.name for one in (tmp_path / "data" / "golden").iterdir()] == [kept.key]
    assert [one.name for one in (tmp_path / "wal" / "golden").iterdir()] == [kept.key]
    assert golden.find(tmp_path / "data", kept.key) == kept


def test_copies_are_listed_in_a_line_each_and_removed_with_their_write_ahead_log(tmp_path: Path):
    kept = golden.keep(source(tmp_path, wal=True), PARTS, ORIGIN)
    broken = tmp_path / "data" / "golden" / "broken"
    shutil.copytree(tmp_path / "data" / "golden" / kept.key, broken, symlinks=True)
    (broken / "golden.json").write_text("{")
    of_data = ("--data-dir", tmp_path / "data")
    by_key = sorted([kept.key, "broken"])
    rows = json.loads(command.dyno("golden", "list", "--json", *of_data).stdout)
    assert [(row["key"], "error" in row) for row in rows] == [(k, k == "broken") for k in by_key]
    lines = command.dyno("golden", "list", *of_data).stdout.splitlines()
    assert [line.split()[0] for line in lines] == by_key
    for words in ([], ["--all", kept.key]):
        refused = command.dyno("golden", "remove", *words, *of_data)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    shutil.rmtree(broken)
    (line,) = golden.listing(tmp_path / "data")
    assert line.endswith("a 17.6 after fill of w")
    with pytest.raises(ServerError, match=f"there are {kept.key}"):
        golden.remove(tmp_path / "data", [kept.key, "other"])
    removed = command.dyno("golden", "remove", "--all", *of_data)
    assert removed.stderr == f"removed {kept.key}\n"
    assert golden.listing(tmp_path / "data") == []
    assert not list((tmp_path / "wal" / "golden").iterdir())


# --- Room --------------------------------------------------------------------------------------


def need(what: str, root: Path, gigabytes: float) -> disk_space.Need:
    return disk_space.Need(what=what, root=root, bytes=round(gigabytes * (1 << 30)))


def test_runs_need_the_largest_of_them_and_copies_all_together(tmp_path: Path) -> None:
    runs = [
        need(disk_space.DATA, tmp_path, 3),
        need(disk_space.DATA, tmp_path, 5),
        need(disk_space.WAL, tmp_path, 1),
    ]
    assert disk_space.largest(runs) == runs[1:]
    copies = [need(disk_space.COPIES, tmp_path, 3), need(disk_space.COPIES, tmp_path, 5)]
    assert disk_space.total(copies) == [need(disk_space.COPIES, tmp_path, 8)]


def test_folders_of_one_file_system_share_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quiesce, "room", lambda path: 10 << 30)
    needs = [need(disk_space.DATA, tmp_path / "a", 4), need(disk_space.COPIES, tmp_path / "b", 4.5)]
    disk_space.refuse_full(needs, [])
    with pytest.raises(HostError) as raised:
        disk_space.refuse_full([*needs, need(disk_space.WAL, tmp_path / "c", 1)], [])
    line = str(raised.value)
    assert "has 10.0 GB free; the plan needs 4.0 GB of data, 4.5 GB of golden copies, " in line
    assert "remove golden copies or `save`" in line
    assert "fewer rows" in line


def test_what_a_dead_run_of_an_arm_left_counts_as_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiesce, "room", lambda path: 10 << 30)  # others write meanwhile
    data_folder.make(tmp_path / "a", "data", here())
    (tmp_path / "a" / "data" / "big").write_bytes(b"x" * 100_000)
    needs = [need(disk_space.DATA, tmp_path, 1)]
    with_it = disk_space.available(needs, ["a"])
    assert with_it - disk_space.available(needs, ["b"]) >= 100_000


def test_no_line_of_the_outlook_is_wider_than_a_terminal() -> None:
    line = "  arm " + "word " * 60
    cut = dry_run.folded(line)
    assert all(len(one) <= dry_run.COLUMNS for one in cut)
    assert " ".join(" ".join(cut).split()) == " ".join(line.split())
    assert cut[1].startswith("    word")
