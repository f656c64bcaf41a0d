"""Vega is bundled once a version: a file of the account alone keeps it, or nobody does."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import vl_convert

from dbdyno.host import place
from dbdyno.report import vega


class Bundler:
    """Stands in for `vl_convert`, whose bundle takes seconds, and counts."""

    def __init__(self) -> None:
        self.bundled = 0

    def bundle(self, entry: str) -> str:
        self.bundled += 1
        return f"vega\r\n{self.bundled} {entry}"


@pytest.fixture
def bundler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bundler]:
    made = Bundler()
    monkeypatch.setattr(vl_convert, "javascript_bundle", made.bundle)
    yield made
    vega.library.cache_clear()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The cache folder, which is not there yet."""
    folder = tmp_path / "cache/dyno"
    monkeypatch.setattr(place, "cache_root", lambda: folder)
    return folder


def anew() -> str:
    """The script as another process has it."""
    vega.library.cache_clear()
    return vega.library()


def test_a_second_process_reads_what_the_first_one_bundled(cache: Path, bundler: Bundler) -> None:
    first = anew()
    assert first.endswith(vega.ENTRY)
    assert (anew(), bundler.bundled) == (first, 1)
    (file,) = (cache / vega.FOLDER).iterdir()
    assert (cache / vega.FOLDER).stat().st_mode & 0o077 == 0
    assert file.read_bytes() == first.encode()


def test_another_version_is_bundled_by_itself(
    cache: Path, bundler: Bundler, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = anew()
    monkeypatch.setattr(metadata, "version", lambda _name: "99.0")
    assert anew() != first
    assert len(list((cache / vega.FOLDER).iterdir())) == bundler.bundled == 2


def test_a_folder_that_others_may_enter_keeps_nothing_and_is_not_believed(
    cache: Path, bundler: Bundler
) -> None:
    first = anew()
    (file,) = (cache / vega.FOLDER).iterdir()
    (cache / vega.FOLDER).chmod(0o755)
    file.write_text("planted")
    assert (anew(), anew()) != (first, first)
    assert bundler.bundled == 3
    assert file.read_text() == "planted"


def test_a_cache_that_cannot_be_written_is_no_error(cache: Path, bundler: Bundler) -> None:
    cache.parent.write_text("a file where the folder would be")
    assert anew() != anew()
    assert bundler.bundled == 2


def test_a_file_that_cannot_be_read_is_no_error(cache: Path, bundler: Bundler) -> None:
    anew()
    (file,) = (cache / vega.FOLDER).iterdir()
    file.unlink()
    file.mkdir()  # in its place, so that it can be neither read nor replaced
    assert anew().endswith(vega.ENTRY)
    assert [path.name for path in (cache / vega.FOLDER).iterdir()] == [file.name]
