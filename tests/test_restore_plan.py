"""A plan's `restore`: the step that it adds, and where it is refused; without a server."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno import plan, workload
from dbdyno.engine.postgres import data_form
from dbdyno.model.error import PlanError
from dbdyno.model.job.external import Restore
from dbdyno.run import starting_state
from dbdyno.run.driver import registry

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


def test_time_and_counts_begin_from_one_copy_and_other_builds_or_shapes_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What holds counted work still, and settings that shape no data, make no other copy."""
    of = parsed(tmp_path)
    (use,) = of.workloads
    steps = workload.expand(workload.used(use, None), {}, "postgres")
    monkeypatch.setattr(registry.of(steps[0]), "version", lambda step: "a dump")
    counting = replace(of, schedule=replace(of.schedule, fills_alike=True))

    def key(plan: plan.Plan, sha256: str = "a", **settings: str) -> str:
        shaping = {name: settings[name] for name in settings if data_form.shapes(name)}
        keeper = SimpleNamespace(
            identity={"sha256": sha256, "settings": settings}, data_form={"shaping": shaping}
        )
        server: Any = SimpleNamespace(name="a", engine="postgres", keeper=keeper)
        (point,) = starting_state.points(plan, use, steps, server)
        return point.key

    timed = key(of, work_mem="4MB")
    assert key(counting, work_mem="4MB", autovacuum="off") == timed
    assert key(of, work_mem="64MB", jit="off") == timed
    assert key(of, default_statistics_target="500") != timed
    assert key(of, sha256="b") != timed
