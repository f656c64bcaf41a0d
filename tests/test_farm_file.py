"""The file of a farm: what it says, and what is refused in one line."""

from pathlib import Path

import pytest

from dbdyno.farm import file
from dbdyno.model.error import PlanError

WHOLE = """
folder = "farm"
false_reports_a_quarter = 2
report_command = "mail -s dyno me"
minutes = 20
search_minutes = 100
poll_minutes = 1

[hosts.db1]
ssh = "bench@db1"

[server]
host = "db1"

[[branches]]
name = "master"
source = "/src/postgres"
branch = "master"
pinned = "REL_18_0"
since = "REL_18_1"
every = "commit"
build = "o2nofp"
workload = "sysbench"
steps = ["point-query", "range-covered-pk"]
config = ["x10a"]
count = true
time = false
"""
LEAST = """
folder = "farm"
[[branches]]
name = "master"
source = "/src/postgres"
pinned = "18.0"
steps = ["point-query"]
"""


def parse(text: str) -> file.Farm:
    return file.parse(text, Path("/etc/dyno/farm.toml"))


def test_a_whole_file_is_read() -> None:
    farm = parse(WHOLE)
    assert farm.folder == Path("/etc/dyno/farm")
    assert (farm.false_reports_a_quarter, farm.minutes, farm.search_minutes) == (2, 20, 100)
    assert farm.hosts == {"db1": {"ssh": "bench@db1"}} and farm.server == {"host": "db1"}
    branch = farm.branch("master")
    assert (branch.every, branch.build, branch.since, branch.time) == (
        "commit", "o2nofp", "REL_18_1", False,
    )  # fmt: skip
    assert tuple(branch.steps) == ("point-query", "range-covered-pk")


def test_the_least_file_follows_master_each_night_by_counts_and_time() -> None:
    farm = parse(LEAST)
    (branch,) = farm.branches
    assert (branch.branch, branch.every, branch.count, branch.time) == (
        "master", "night", True, True,
    )  # fmt: skip
    assert (farm.false_reports_a_quarter, farm.minutes, farm.search_minutes) == (1, 30, 240)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('folder = "farm"', "", "key `folder`: missing"),
        ('folder = "farm"', 'folder = ""', 'key `folder`: is empty; name one, such as "farm"'),
        ('pinned = "18.0"', "", "key `branches[1].pinned`: missing"),
        ("pinned =", "pined =", "key `branches[1].pined`: unknown key; did you mean `pinned`?"),
        ('steps = ["point-query"]', "steps = []",
         "key `branches[1].steps`: is empty; name the steps to measure"),
        ('name = "master"', 'name = "../x"',
         "key `branches[1].name`: '../x' is not a name for folders; write it as \"master\""),
        ('pinned = "18.0"', 'pinned = "18.0"\nevery = "hour"',
         "key `branches[1].every`: must be 'night' or 'commit', not 'hour'"),
        ('source = "/src/postgres"', "",
         "key `branches[1]`: name either `source`, a git repository, or `command`"),
        ('pinned = "18.0"', 'pinned = "18.0"\ncommand = "make"',
         "key `branches[1]`: name either `source`, a git repository, or `command`"),
        ('pinned = "18.0"', 'pinned = "18.0"\ncount = false\ntime = false',
         "key `branches[1].time`: neither counts nor time"),
        ('source = "/src/postgres"', 'command = "make"\nsince = "a"',
         "key `branches[1].since`: is a ref of a repository"),
        ('folder = "farm"', 'folder = "farm"\nminutes = 0', "key `minutes`: must be from 1"),
        ('folder = "farm"', 'folder = "farm"\nfalse_reports_a_quarter = 0',
         "key `false_reports_a_quarter`: must be from 0.01 to 100"),
        ("[[branches]]", "[[branches", "not valid TOML"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_with_file_and_key(old: str, new: str, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        parse(LEAST.replace(old, new, 1))
    assert str(refused.value).startswith(f"/etc/dyno/farm.toml: {said}")
    assert "\n" not in str(refused.value)


def test_two_branches_have_two_names() -> None:
    second = LEAST[LEAST.index("[[branches]]") :]
    with pytest.raises(PlanError, match=r"key `branches\[2\]\.name`: `master` is a branch above"):
        parse(LEAST + second)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be read: No such file"):
        file.load(tmp_path / "farm.toml")


def test_a_branch_may_name_the_placement_of_its_races() -> None:
    assert parse(LEAST).branches[0].placement is None
    assert parse(f'{LEAST}placement = "apart"\n').branches[0].placement == "apart"
    with pytest.raises(PlanError, match=r"key `branches\[1\]\.placement`"):
        parse(f'{LEAST}placement = "near"\n')
