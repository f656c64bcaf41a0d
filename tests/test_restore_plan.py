"""A plan's `restore`: the step that it adds, and where it is refused; without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno import plan, workload
from dbdyno.model.error import PlanError
from dbdyno.model.job.external import Restore

WORKLOAD = """
[source]
locale = "de_DE.UTF-8"
[statements]
count = "SELECT count(*) FROM orders"
[[steps]]
name = "first"
writes = false
headline = { metric = "qps", role = "query" }
roles.query = { run = "count", stop = { operations = 20 } }
[[steps]]
name = "second"
writes = false
headline = { metric = "qps", role = "query" }
roles.query = { run = "count", stop = { operations = 20 } }
"""
PLAN = """
{hosts}
[arms.a]
{arm}
[[workloads]]
name = "{folder}/shop.toml"
restore = "app.dump"
{more}
"""


def parsed(folder: Path, arm: str = 'version = "17"', more: str = "", hosts: str = "") -> plan.Plan:
    (folder / "shop.toml").write_text(WORKLOAD)
    text = PLAN.format(folder=folder, arm=arm, more=more, hosts=hosts)
    return plan.parse(text, folder / "plan.toml")


def test_a_dump_is_a_step_before_all_others_and_is_kept(tmp_path: Path) -> None:
    (use,) = parsed(tmp_path).workloads
    assert use.save == "post-restore"
    assert use.restore == tmp_path / "app.dump"
    steps = workload.expand(workload.used(use, None), {}, "postgres")
    assert [step.name for step in steps] == ["restore", "first", "second"]
    assert not steps[0].measured and steps[0].writes
    assert steps[0].job.restore == Restore(
        path=str(tmp_path / "app.dump"), locale="de_DE.UTF-8", statistics="same"
    )


def test_steps_that_a_plan_names_need_the_dump_too(tmp_path: Path) -> None:
    (use,) = parsed(tmp_path, more='steps = ["second"]').workloads
    steps = workload.expand(workload.used(use, None), {}, "postgres", steps=use.steps)
    assert [step.name for step in steps] == ["restore", "second"]


def test_a_save_of_one_s_own_stays(tmp_path: Path) -> None:
    (use,) = parsed(tmp_path, more='save = "post-first"').workloads
    assert use.save == "post-first"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"arm": 'dsn = "postgresql://a@b/c"'}, "which has a `dsn`, are there already; remove it"),
        (
            {"arm": 'engine = "fake"\nfake = { default_us = 100 }'},
            'engine "fake" takes no dump; remove it',
        ),
        ({"more": 'fill = "fast"'}, "`restore` makes the data; remove one of them"),
        ({"hosts": '[hosts.h]\nssh = "h"', "arm": 'version = "17"\nhost = "h"'}, "this host alone"),
    ],
)
def test_a_dump_goes_into_servers_of_this_host_alone(
    tmp_path: Path, keys: dict[str, str], said: str
) -> None:
    with pytest.raises(PlanError) as refused:
        parsed(tmp_path, **keys)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
