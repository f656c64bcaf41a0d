"""Builds of many commits: each from what is compiled, else from nothing; found again."""

import json
import shutil
from pathlib import Path

import pytest

import fake_source
from dbdyno import engine
from dbdyno.builds import cache as built
from dbdyno.builds.flags import Flags
from dbdyno.builds.worktree import STATE, Worktree
from dbdyno.model.error import HostError, ServerError
from fake_source import commit, git

METHOD = engine.of("postgres").method()


def a_repository(tmp_path: Path, work: str = "true") -> Path:
    """A checkout whose configure and make each leave a line where they ran."""
    tree = fake_source.make(
        tmp_path / "source", check="echo x >> configured", work=f"echo x >> made; {work}"
    )
    return fake_source.checkout(tree)


def head(repository: Path) -> str:
    return git(repository, "rev-parse", "HEAD")


def a_worktree(repository: Path, tmp_path: Path, cflags: str = "-O2") -> Worktree:
    return Worktree(
        repository=repository, engine="postgres", method=METHOD,
        flags=Flags(recipe=None, cflags=cflags), cache=tmp_path / "cache",
    )  # fmt: skip


def runs(worktree: Worktree, what: str) -> int:
    """So often has it run since the tree was cleaned; make does to compile and to install."""
    return len((worktree.tree / what).read_text().splitlines())


def quiet(text: str) -> None:
    """Takes lines of progress."""


def test_commits_are_built_one_from_the_other_and_kept(tmp_path: Path):
    repository = a_repository(tmp_path)
    first = head(repository)
    makefile = (repository / "Makefile").read_text()
    second = commit(repository, "more", ("Makefile", makefile.replace("18.6", "18.7")))
    worktree = a_worktree(repository, tmp_path)
    folders = [worktree.build(one, quiet) for one in (first, second)]
    texts = [(one / "bin" / "postgres").read_text() for one in folders]
    assert ["18.6" in text for text in texts] == [True, False]
    assert "18.7" in texts[1]
    assert (runs(worktree, "configured"), runs(worktree, "made")) == (1, 4)
    record = built.record(folders[1])
    assert record is not None
    assert record["source"]["identity"] == f"commit:{second}"
    assert record["name"] == folders[1].name and record["name"] in built.names(tmp_path / "cache")
    assert "--enable-depend" in record["configure"]
    assert git(repository, "status", "--porcelain") == ""
    assert head(repository) == second


def test_a_build_that_is_there_is_not_made_again(tmp_path: Path):
    repository = a_repository(tmp_path)
    worktree = a_worktree(repository, tmp_path)
    folder = worktree.build(head(repository), quiet)
    (worktree.tree / "made").unlink()
    assert worktree.build(head(repository), quiet) == folder
    assert not (worktree.tree / "made").exists()


def test_other_flags_are_another_worktree_and_another_build(tmp_path: Path):
    repository = a_repository(tmp_path)
    one, other = (a_worktree(repository, tmp_path, flags) for flags in ("-O2", "-O3"))
    assert one.root != other.root
    folders = {each.build(head(repository), quiet) for each in (one, other)}
    assert len(folders) == 2


def test_a_commit_that_changes_configure_is_configured_again(tmp_path: Path):
    repository = a_repository(tmp_path)
    worktree = a_worktree(repository, tmp_path)
    worktree.build(head(repository), quiet)
    configure = (repository / "configure").read_text()
    worktree.build(commit(repository, "more", ("configure", configure + "# new\n")), quiet)
    assert runs(worktree, "configured") == 2


def test_what_does_not_build_from_what_is_there_is_built_from_nothing(tmp_path: Path):
    repository = a_repository(tmp_path, work='test "$$(wc -l < made)" -le 2')
    worktree = a_worktree(repository, tmp_path)
    worktree.build(head(repository), quiet)
    said: list[str] = []
    worktree.build(commit(repository, "more", ("note", "x")), said.append)
    assert any("once more, from nothing" in one for one in said)
    assert (runs(worktree, "configured"), runs(worktree, "made")) == (1, 2)


def test_a_commit_that_does_not_build_says_why_and_the_next_one_builds(tmp_path: Path):
    repository = a_repository(tmp_path, work="test ! -e broken")
    worktree = a_worktree(repository, tmp_path)
    worktree.build(head(repository), quiet)
    bad = commit(repository, "more", ("broken", "x"))
    with pytest.raises(ServerError, match=r"compile failed: .*; see "):
        worktree.build(bad, quiet)
    git(repository, "rm", "--quiet", "broken")
    good = commit(repository, "more", ("note", "x"))
    assert (worktree.build(good, quiet) / "bin" / "postgres").is_file()
    assert not (built.root(tmp_path / "cache") / worktree.wish(bad).name).exists()


def test_objects_of_a_making_that_was_killed_are_not_trusted(tmp_path: Path):
    repository = a_repository(tmp_path)
    worktree = a_worktree(repository, tmp_path)
    worktree.build(head(repository), quiet)
    (worktree.root / STATE).unlink()  # as while it compiles
    worktree.build(commit(repository, "more", ("note", "x")), quiet)
    assert runs(worktree, "made") == 2
    assert json.loads((worktree.root / STATE).read_text()) == {"commit": head(repository)}


def test_a_source_says_its_version_at_a_commit(tmp_path: Path):
    repository = a_repository(tmp_path)
    first = head(repository)
    configure = (repository / "configure").read_text()
    second = commit(repository, "more", ("configure", configure.replace("18.6", "19devel")))
    worktree = a_worktree(repository, tmp_path)
    assert [worktree.version(one) for one in (first, second)] == ["18.6", "19devel"]


def test_a_checkout_that_was_made_anew_at_its_path_gets_a_worktree_of_its_own(tmp_path: Path):
    worktree = a_worktree(a_repository(tmp_path), tmp_path)
    worktree.build(head(worktree.repository), quiet)
    shutil.rmtree(worktree.repository)
    second = commit(a_repository(tmp_path), "another", ("file", ""))
    assert worktree.build(second, quiet).is_dir()


def test_what_git_cannot_check_out_is_the_hosts_failure(tmp_path: Path):
    repository = a_repository(tmp_path)
    with pytest.raises(HostError, match=r"git: .*; see "):
        a_worktree(repository, tmp_path).build("0" * 40, quiet)
