"""On whose data a PostgreSQL can go on: what a fresh cluster of its build says of itself."""

import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbdyno.builds import Build
from dbdyno.engine import golden
from dbdyno.engine.postgres import data_form, fingerprint, initdb
from dbdyno.host import account, place
from dbdyno.model.error import CopyRefused
from dbdyno.run import count

SIZES = (8192, 131072, 8192, 16 << 20, 64, 32, 1996, 2048)


def cluster(
    data: Path, major: str, control: int, catalog: int, sizes: tuple[int, ...], log: int = 0xD11D
) -> None:
    """What initdb leaves, as far as it tells on what a server starts."""
    (data / "global").mkdir()
    (data / "pg_wal" / "archive_status").mkdir(parents=True)
    (data / "pg_wal" / f"{1:024X}").write_bytes(log.to_bytes(2, sys.byteorder) + bytes(30))
    (data / "PG_VERSION").write_text(f"{major}\n")
    head = fingerprint.CONTROL_HEAD.pack(1, control, catalog, fingerprint.SHUT_DOWN)
    form = struct.pack("=I4xd8I2?", 8, 1234567.0, *sizes, True, False)
    (data / fingerprint.CONTROL).write_bytes(head + bytes(200) + form + bytes(300))


@pytest.fixture(name="made")
def _made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The clusters that were made, each by what its build's folder is called."""
    made: list[Path] = []

    def make(build: Build, own: object, data: Path, words: object) -> None:
        made.append(data)
        cluster(data, *CLUSTERS[build.base_dir.name])

    monkeypatch.setattr(initdb, "make", make)
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    return made


CLUSTERS: dict[str, tuple[Any, ...]] = {
    "18": ("18", 1800, 202506291, SIZES),
    "18 with other segments": ("18", 1800, 202506291, (*SIZES[:3], 1 << 30, *SIZES[4:])),
    "19devel": ("19", 1800, 202506291, SIZES),  # PostgreSQL's 2652835d3e: the catalogs of 18
    "other catalogs": ("18", 1800, 202507011, SIZES),
    "other control file": ("18", 1801, 202506291, SIZES),
    "other log": ("18", 1800, 202506291, SIZES, 0xD11E),  # of PostgreSQL's d774072f00
    **{
        f"other size {at}": ("18", 1800, 202506291, (*SIZES[:at], size // 2, *SIZES[at + 1 :]))
        for at, size in enumerate(SIZES)
        if at != data_form.SEGMENT
    },
}


def build_of(folder: Path, name: str, version: str = "18.6") -> Build:
    """A build whose program is in the folder of that name."""
    program = folder / name / "postgres"
    program.parent.mkdir()
    program.write_text(name)
    return Build(
        engine="postgres", base_dir=program.parent, program=program, version=version,
        version_num=180006,
    )  # fmt: skip


def test_a_copy_belongs_to_all_that_a_server_looks_at_as_it_starts(
    tmp_path: Path, made: list[Path]
) -> None:
    """What initdb is told is another matter, and so are two builds of one form."""
    own = account.Account(name="me", uid=0, gid=0, other=False)
    keys = {
        name: golden.key_of({"cluster": data_form.of_build(build_of(tmp_path, name), own)})
        for name in CLUSTERS
    }
    assert keys["18"] == keys.pop("18 with other segments")
    assert len(set(keys.values())) == len(keys)
    assert not any(data.exists() for data in made)


def test_a_build_is_asked_once_whatever_it_is_called(tmp_path: Path, made: list[Path]) -> None:
    own = account.Account(name="me", uid=0, gid=0, other=False)
    build = build_of(tmp_path, "18")
    first = data_form.of_build(build, own)
    (tmp_path / "moved").symlink_to(build.base_dir)
    again = data_form.of_build(replace(build, base_dir=tmp_path / "moved"), own)
    assert (again, len(made)) == (first, 1)
    kept = next((tmp_path / "cache" / data_form.FOLDER).iterdir())
    kept.write_text("{}")
    assert (data_form.of_build(build, own), len(made)) == (first, 2)


def test_a_build_that_is_not_made_yet_is_guessed_by_its_release(made: list[Path]) -> None:
    own = account.Account(name="me", uid=0, gid=0, other=False)
    to_be = Build(
        engine="postgres", base_dir=Path("/none"), program=Path("/none/postgres"), version="18.6",
        version_num=180006, made=False,
    )  # fmt: skip
    assert data_form.of_build(to_be, own) == {"release": [18]}
    assert made == []


class Refusing:
    """A pass of counts whose copies are refused, one after the other, by their keys."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)

    def go_on(self, lab: object) -> None:
        """Ends well once all were refused."""
        if self.keys:
            raise CopyRefused(self.keys.pop(0), "refused")


def test_each_copy_is_made_anew_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lab: Any = None
    several = Refusing("a", "b", "c")
    monkeypatch.setattr(count, "go_on", several.go_on)
    count.go(lab)
    assert several.keys == []
    again = Refusing("a", "b", "a", "a")
    monkeypatch.setattr(count, "go_on", again.go_on)
    with pytest.raises(CopyRefused):
        count.go(lab)
    assert again.keys == ["a"]
