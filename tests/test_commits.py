"""The commits of a checkout: which lie between two of them, and what cannot be searched."""

from pathlib import Path

import pytest

from dbdyno.builds import commits
from dbdyno.model.error import ServerError
from fake_source import commit, git


@pytest.fixture(name="repository")
def _repository(tmp_path: Path) -> Path:
    """Four commits on main; a branch of one commit leaves after the second."""
    folder = tmp_path / "source"
    git(tmp_path, "init", "--quiet", folder.name)
    for number in range(4):
        commit(folder, f"commit {number}", ("file", f"{number}\n"))
        git(folder, "tag", f"c{number}")
    git(folder, "checkout", "--quiet", "-b", "other", "c1")
    commit(folder, "beside", ("more", "x"))
    git(folder, "checkout", "--quiet", "main")
    return folder


def test_commits_are_in_order_with_the_good_and_the_bad_one(repository: Path):
    found = commits.between(repository, "c1", "main")
    assert [one.subject for one in found] == ["commit 1", "commit 2", "commit 3"]
    assert found[0].sha == git(repository, "rev-parse", "c1")
    assert found[0].short == found[0].sha[:10]


def test_a_merge_is_one_commit(repository: Path):
    git(repository, "merge", "--quiet", "--no-ff", "--message", "merged", "other")
    found = commits.between(repository, "c2", "main")
    assert [one.subject for one in found] == ["commit 2", "commit 3", "merged"]


def test_commits_that_lack_the_good_one_are_left_out(repository: Path):
    git(repository, "merge", "--quiet", "--no-ff", "--message", "merged", "other")
    found = commits.between(repository, "other", "main")
    assert [one.subject for one in found] == ["beside", "merged"]


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("c9", "main", "--good c9: .* has no such commit"),
        ("c1", "--all", "--bad --all: .* has no such commit"),
        ("c3", "main", "--good c3 and --bad main are one commit"),
        ("main", "c1", "--bad c1 is an ancestor of --good main: exchange the two"),
        ("other", "main", "--good other is no ancestor of --bad main: they part at [0-9a-f]{10}:"),
    ],
)
def test_refs_that_enclose_nothing_are_one_line(repository: Path, good: str, bad: str, said: str):
    with pytest.raises(ServerError, match=said) as error:
        commits.between(repository, good, bad)
    assert "\n" not in str(error.value)


def test_histories_without_a_common_commit_are_told_apart(repository: Path):
    git(repository, "checkout", "--quiet", "--orphan", "alone")
    git(repository, "commit", "--quiet", "--message", "alone")
    with pytest.raises(ServerError, match="they share no commit"):
        commits.between(repository, "c1", "alone")


def test_of_commits_that_leave_the_server_alone_only_the_ends_stay(repository: Path):
    git(repository, "merge", "--quiet", "--no-ff", "--message", "merged", "other")
    commit(repository, "last", ("note", "1"))
    between = commits.between(repository, "c0", "main")
    for files, subjects in (
        ({"file"}, ["commit 0", "commit 1", "commit 2", "commit 3", "last"]),
        ({"more"}, ["commit 0", "merged", "last"]),
        (set(), ["commit 0", "last"]),
    ):
        serving = commits.serving(repository, between, files.__contains__)
        assert [one.subject for one in serving] == subjects


def test_a_checkout_with_changes_is_refused_and_a_file_beside_is_not(repository: Path):
    (repository / "beside.o").touch()
    assert commits.checkout(str(repository)) == repository
    (repository / "file").write_text("changed")
    with pytest.raises(ServerError, match=r"has a changed file \(file\), of which no commit"):
        commits.checkout(str(repository))
    git(repository, "rm", "--quiet", "--cached", "-f", "file")
    (repository / "second").touch()
    git(repository, "add", "second")
    with pytest.raises(ServerError, match="has 2 changed files, of which no commit knows"):
        commits.checkout(str(repository))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("https://example.invalid/p.git", "commits are built from a checkout: git clone it"),
        ("/nowhere", "is no git checkout: name the folder that has .git"),
    ],
)
def test_what_is_no_checkout_is_refused(written: str, said: str):
    with pytest.raises(ServerError, match=said):
        commits.checkout(written)
