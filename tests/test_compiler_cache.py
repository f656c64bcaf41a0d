"""Compilers by way of ccache or sccache: what builds find first, where one is installed."""

import os
from pathlib import Path

import pytest

import fake_source
from dbdyno import engine
from dbdyno.builds import compiler_cache
from dbdyno.builds.flags import Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.worktree import Worktree


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
