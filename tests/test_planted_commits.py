"""The repository that searches of a commit are tried on: what its commits change."""

import tarfile
from pathlib import Path

import pytest

import fake_source
import planted_commits
from fake_source import git
from planted_commits import FILES, GUILTY_FILE, LoopChange, Wish

SCAN = f"""\
/* another function before it */
static TupleTableSlot *{planted_commits.GUILTY_HEAD}
\tEState\t   *estate;

{planted_commits.GUILTY_BEFORE}\t */
\testate = node->ss.ps.state;
}}
"""


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    tree = tmp_path / "postgresql-18.6"
    for name in [*(f"src/backend/{file}.c" for file in FILES), GUILTY_FILE]:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCAN if name == GUILTY_FILE else f"/* {name} */\n")
    descent = planted_commits.PLACES["_bt_first"]
    path = tree / descent.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"bool{descent.head}\n\tint\ti;\n{descent.before}}}\n")
    return fake_source.tarball(tree)


def changed(folder: Path, commit: str) -> list[str]:
    return git(folder, "show", "--format=", "--name-only", commit).split()


def test_one_commit_burns_cpu_and_all_others_change_a_file_beside_it(tarball: Path, tmp_path: Path):
    folder = tmp_path / "planted"
    made = planted_commits.make(tarball, folder, Wish(commits=6, at=4, turns=600))
    assert len(set(made)) == 7
    assert [git(folder, "rev-parse", tag) for tag in ("good", "bad")] == [made[0], made[6]]
    assert changed(folder, made[4]) == [GUILTY_FILE]
    others = [changed(folder, one) for one in (*made[1:4], *made[5:])]
    assert len({one for (one,) in others}) == 5
    scan = (folder / GUILTY_FILE).read_text()
    assert scan.count("turn < 600;") == 1
    assert scan.index("*estate;") < scan.index("turn < 600;") < scan.index("estate =")


def test_loops_of_several_functions_come_shrink_and_are_reverted(tarball: Path, tmp_path: Path):
    folder = tmp_path / "planted"
    texts = ("0:_bt_first:200", "2:IndexNext:136", "4:_bt_first:19", "5:IndexNext:0")
    changes = tuple(map(LoopChange.read, texts))
    made = planted_commits.make(tarball, folder, Wish(commits=6, changes=changes))
    descent = planted_commits.PLACES["_bt_first"].file
    assert [changed(folder, made[at]) for at in (2, 4, 5)] == [
        [GUILTY_FILE], [descent], [GUILTY_FILE],
    ]  # fmt: skip
    assert (folder / GUILTY_FILE).read_text() == SCAN
    turns = [git(folder, "show", f"{made[at]}:{descent}").count("turn < 200;") for at in (0, 3)]
    assert turns == [1, 1]
    assert "turn < 19;" in (folder / descent).read_text()
    said = git(folder, "log", "-1", "--format=%B", made[5])
    assert said == (f'Revert "Mix the address of an index scan"\n\nThis reverts commit {made[2]}.')


def test_without_a_guilty_commit_none_touches_the_executor_s_scan(tarball: Path, tmp_path: Path):
    made = planted_commits.make(tarball, tmp_path / "planted", Wish(commits=3))
    assert len(made) == 4
    assert (tmp_path / "planted" / GUILTY_FILE).read_text() == SCAN


def test_a_broken_commit_is_mended_by_the_next_one_even_the_guilty(tarball: Path, tmp_path: Path):
    folder = tmp_path / "planted"
    made = planted_commits.make(tarball, folder, Wish(commits=4, at=3, turns=1, broken=(2, 3)))
    held = [
        git(folder, "grep", "--name-only", "-e", "#error", one, "--").split() for one in made[2:4]
    ]
    assert [len(one) for one in held] == [1, 1]
    assert GUILTY_FILE in changed(folder, made[3])
    assert "#error" not in git(folder, "show", f"{made[4]}:src/backend/{FILES[1]}.c")
    assert "#error" not in git(folder, "show", f"{made[4]}:src/backend/{FILES[2]}.c")


def test_the_same_arguments_make_the_same_commits(tarball: Path, tmp_path: Path) -> None:
    one = planted_commits.make(tarball, tmp_path / "one", Wish(commits=2, at=1, turns=5))
    assert one == planted_commits.make(tarball, tmp_path / "other", Wish(commits=2, at=1, turns=5))
    assert (
        one[1:]
        != planted_commits.make(tarball, tmp_path / "more", Wish(commits=2, at=1, turns=6))[1:]
    )


def test_numbers_that_no_commit_has_and_other_sources_are_refused(tarball: Path, tmp_path: Path):
    with pytest.raises(ValueError, match="commits are 1 to 2"):
        Wish(commits=2, at=3)
    other = tmp_path / "other.tar.gz"
    with tarfile.open(other, "w:gz") as archive:
        archive.add(tarball, arcname="other/one")
    with pytest.raises(ValueError, match="no source of PostgreSQL"):
        planted_commits.make(other, tmp_path / "two", Wish(commits=1))
