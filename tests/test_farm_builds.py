"""Branches that are followed: new commits, rewritten ones, what is pinned, and a user's command."""

from pathlib import Path

import pytest

import fake_source
from dbdyno.builds.repository_clone import RepositoryClone
from dbdyno.cli.farm_builds import BranchOrigin
from dbdyno.farm.file import Branch, Farm
from dbdyno.farm.hands import HeadPair
from dbdyno.host import place
from dbdyno.model.error import DynoError, HostError, ServerError
from fake_source import commit, git

BRANCH = Branch(name="main", branch="main", source="pg", pinned="REL_18_6", steps=("point-query",))


@pytest.fixture(name="tree")
def _tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit and a tag, beside the farm's file."""
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    return fake_source.checkout(fake_source.make(tmp_path / "pg", version="18.6"))


def origin(tree: Path, said: list[str] | None = None, **keys: object) -> BranchOrigin:
    """A branch of that repository, in a farm beside it."""
    branch = BRANCH.model_copy(update=keys)
    folder = tree.parent
    farm = Farm(path=folder / "farm.toml", folder=folder / "farm", branches=(branch,))
    return BranchOrigin(farm=farm, branch=branch, say=(said if said is not None else []).append)


def changes(tree: Path, *subjects: str) -> list[str]:
    """Commits with these subjects."""
    return [commit(tree, subject, ("README", subject)) for subject in subjects]


# --- Looks ------------------------------------------------------------------------------------


def test_the_first_look_is_at_the_tip_alone(tree: Path) -> None:
    (*_, last) = changes(tree, "one", "two")
    sight = origin(tree).look(None)
    assert [(head.commit, head.subject) for head in sight.heads] == [(last, "two")]
    assert (sight.tip, sight.rewritten, sight.why) == (last, False, "")


def test_each_commit_is_a_head_or_the_last_of_a_night(tree: Path) -> None:
    of = origin(tree, every="commit")
    first = of.look(None).tip
    made = changes(tree, "one", "two", "three")
    assert [head.commit for head in of.look(first).heads] == made
    assert [head.commit for head in origin(tree).look(first).heads] == made[-1:]
    assert not of.look(made[-1]).heads


def test_commits_since_a_ref_are_followed_from_the_first_look_on(tree: Path) -> None:
    begin = git(tree, "rev-parse", "HEAD")
    made = changes(tree, "one", "two")
    sight = origin(tree, every="commit", since="REL_18_6").look("REL_18_6")
    assert [head.commit for head in sight.heads] == made
    assert sight.since == begin


def test_a_merge_is_one_head(tree: Path) -> None:
    first = git(tree, "rev-parse", "HEAD")
    git(tree, "checkout", "--quiet", "-b", "side")
    commit(tree, "aside", ("aside", "x"))
    git(tree, "checkout", "--quiet", "main")
    (ours,) = changes(tree, "ours")
    git(tree, "merge", "--quiet", "--no-edit", "side")
    heads = origin(tree, every="commit").look(first).heads
    assert [head.commit for head in heads] == [ours, git(tree, "rev-parse", "HEAD")]


def test_a_rewritten_branch_is_told_and_followed_from_where_it_parts(tree: Path) -> None:
    first = git(tree, "rev-parse", "HEAD")
    of = origin(tree, every="commit")
    of.look(None)
    (lost,) = changes(tree, "lost")
    assert of.look(first).tip == lost
    git(tree, "reset", "--quiet", "--hard", first)
    made = changes(tree, "new", "newer")
    sight = of.look(lost)
    assert (sight.rewritten, sight.parted) == (True, first)
    assert [head.commit for head in sight.heads] == made
    assert sight.why == (
        f"`main` was rewritten: {lost[:10]} is no longer on it; goes on with {made[-1][:10]}"
    )


@pytest.mark.parametrize(
    ("keys", "known", "said"),
    [
        ({"branch": "nope"}, None, "has no branch `nope`"),
        ({"pinned": "nope"}, None, "key `pinned`: `nope` is neither a version nor a tag"),
        ({"since": "nope"}, "nope", "key `since`: `main` has no commit `nope`"),
        ({"source": "/nowhere/pg"}, None, "`/nowhere/pg`: git: "),
    ],
)
def test_what_is_not_there_is_told_in_a_line(
    tree: Path, keys: dict[str, str], known: str | None, said: str
) -> None:
    with pytest.raises(DynoError) as refused:
        origin(tree, **keys).look(known)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_look_at_a_source_that_was_moved_keeps_what_is_there(tree: Path) -> None:
    of = origin(tree)
    of.look(None)
    tree.rename(tree.with_name("moved"))
    with pytest.raises(HostError, match="git: "):
        of.look(None)
    assert of.repository.commit("REL_18_6")


# --- What is pinned ---------------------------------------------------------------------------


def test_the_pinned_ref_stays_what_it_was_when_it_goes_or_moves(tree: Path) -> None:
    of = origin(tree)
    assert of.look(None).why == ""
    pinned = of.pinned_commit()
    changes(tree, "one")
    git(tree, "tag", "--force", "REL_18_6")
    why = of.look(None).why
    assert why == f"pinned `REL_18_6` has moved or gone: goes on with commit {str(pinned)[:10]}, " \
        "as it was"  # fmt: skip
    assert of.pinned_commit() == pinned


def test_a_version_is_taken_as_it_is(tree: Path) -> None:
    of = origin(tree, pinned="18.0")
    assert of.look(None).why == ""
    assert of.pinned_commit() is None
    assert of.pinned() == "18.0"


# --- Builds -----------------------------------------------------------------------------------


def test_a_head_and_what_it_is_measured_beside_are_built_once(tree: Path) -> None:
    made = changes(tree, "one", "two")
    said: list[str] = []
    of = origin(tree, said)
    of.look(None)
    pair = HeadPair(branch=of.branch, head=made[1], previous=made[0], seen_s=0.0)
    arms = of.arms(pair)
    assert list(arms) == ["pinned", "previous", "head"]
    assert len(set(arms.values())) == 3
    lines = len(said)
    assert of.arms(pair) == arms
    assert len(said) == lines, "it was built again"
    assert set(of.arms(pair, relaid=True).values()).isdisjoint(arms.values())


def test_a_head_that_does_not_build_is_its_own_fault_and_another_arm_s_is_not(tree: Path) -> None:
    broken = (tree / "Makefile").read_text().replace("all:\n\t", "all:\n\texit 1; ")
    (good,) = changes(tree, "good")
    bad = commit(tree, "broken", ("Makefile", broken))
    of = origin(tree)
    of.look(None)
    with pytest.raises(ServerError, match="compile failed"):
        of.arms(HeadPair(branch=of.branch, head=bad, previous=good, seen_s=0.0))
    with pytest.raises(HostError, match=f"what {good[:10]} is measured beside: compile failed"):
        of.arms(HeadPair(branch=of.branch, head=good, previous=bad, seen_s=0.0))


def test_a_commit_says_what_it_reverts(tree: Path) -> None:
    (one,) = changes(tree, "one")
    git(tree, "revert", "--no-edit", one)
    of = origin(tree)
    tip = of.look(None).tip
    assert of.repository.reverts(tip) == (one,)
    assert of.repository.reverts(one) == ()


def test_a_clone_that_a_break_has_left_half_made_is_made_again(tree: Path) -> None:
    of = origin(tree)
    part = of.repository.folder.with_name("main.part")
    part.mkdir(parents=True)
    (part / "half").write_text("")
    of.look(None)
    assert isinstance(of.repository, RepositoryClone) and not part.exists()


# --- A command in place of a repository -------------------------------------------------------


def test_a_command_makes_a_build_and_prints_its_version(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("11.4.5\n")
    command = f'mkdir -p "$1/bin" && cp {tmp_path}/version "$1/bin/" && cat {tmp_path}/version'
    branch = BRANCH.model_copy(update={"source": None, "command": command, "pinned": "11.4.2"})
    farm = Farm(path=tmp_path / "farm.toml", folder=tmp_path / "farm", branches=(branch,))
    of = BranchOrigin(farm=farm, branch=branch, say=print)
    sight = of.look(None)
    assert (sight.tip, [head.commit for head in sight.heads]) == ("11.4.5", ["11.4.5"])
    assert (Path(of.built("11.4.5")) / "bin" / "version").read_text() == "11.4.5\n"
    assert not of.look("11.4.5").heads
    (tmp_path / "version").write_text("11.4.6\n")
    assert [head.commit for head in of.look("11.4.5").heads] == ["11.4.6"]
    pair = HeadPair(branch=branch, head="11.4.6", previous="11.4.5", seen_s=0.0)
    assert of.arms(pair) == {
        "pinned": "11.4.2", "previous": of.built("11.4.5"), "head": of.built("11.4.6"),
    }  # fmt: skip


@pytest.mark.parametrize("command", ["echo no compiler; exit 3", "true\ntrue"])
def test_a_command_that_makes_nothing_is_told(tmp_path: Path, command: str) -> None:
    branch = BRANCH.model_copy(update={"source": None, "command": command, "pinned": "11.4.2"})
    farm = Farm(path=tmp_path / "farm.toml", folder=tmp_path / "farm", branches=(branch,))
    with pytest.raises(HostError, match=r"^command: (no compiler|it said nothing); see `"):
        BranchOrigin(farm=farm, branch=branch, say=print).look(None)
