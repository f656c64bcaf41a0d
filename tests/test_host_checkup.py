"""`dyno doctor`: what a plan's servers need, who holds the lock, and what the command prints."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dbdyno import cli, plan
from dbdyno.host import lock
from dbdyno.host.lock import HostLock
from dbdyno.host.observe import facts
from dbdyno.model import Plan
from dbdyno.model.error import PlanError
from dbdyno.run.check import host_checkup
from host_facts_builder import quiet_host

PLAN = """
[arms.a]
version = "17"
settings = { shared_buffers = "2GB" }
[arms.b]
version = "17"
config = "x10a"
memory = "8GB"
settings = { huge_pages = "on" }
[arms.c]
version = "17"
settings = { huge_pages = "off" }
[arms.d]
version = "17"
[[workloads]]
name = "insert-benchmark"
parameters = { clients = 1, rows = 1000, seconds = 3 }
[schedule]
blocks = 1
"""


def plan_of(text: str = PLAN) -> Plan:
    return plan.parse(text, Path("a.toml"))


def test_each_arms_buffers_are_what_its_settings_preset_or_engine_say() -> None:
    needs = {need.who: need.bytes for need in host_checkup.needs_of(plan_of())}
    assert needs == {"a": 2 << 30, "b": needs["b"], "d": 128 << 20}
    assert 5 << 30 < needs["b"] < 6 << 30, "the published share of 8 GB"


def test_arms_that_are_up_at_once_need_their_sum() -> None:
    of = plan_of()
    turns = replace(of, schedule=replace(of.schedule, interleave="step"))
    whole, *each = host_checkup.needs_of(turns)
    assert [need.who for need in each] == ["a", "b", "d"]
    assert (whole.who, whole.bytes) == ("all arms at once", sum(need.bytes for need in each))


def test_mysql_needs_huge_pages_only_where_it_is_told_to_use_them() -> None:
    arm = {"engine": "mysql", "base_dir": "/opt/mysql"}
    of = plan_of()
    for settings, expected in (
        ({"innodb_buffer_pool_size": "4G"}, []),
        ({"innodb_buffer_pool_size": "4G", "large_pages": "ON"}, [(4 << 30, True)]),
        ({"innodb_buffer_pool_size": "1073741824", "large_pages": "1"}, [(1 << 30, True)]),
        ({"large_pages": "1"}, [(128 << 20, True)]),
    ):
        one = host_checkup.Arm(name="m", engine=arm["engine"], settings=settings)
        assert [(need.bytes, need.locks) for need in host_checkup.need_of(of, one)] == expected


def test_a_size_that_is_none_is_refused_in_one_line() -> None:
    with pytest.raises(PlanError, match="--shared-buffers: `much` is not a size"):
        list(host_checkup.asked_for("much"))
    assert [need.bytes for need in host_checkup.asked_for("8GB")] == [8 << 30]
    assert list(host_checkup.asked_for(None)) == []


def test_the_locks_holder_is_seen_without_taking_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "dyno.lock"
    assert lock.holder(path) is None
    with HostLock(plan="some-plan", path=path):
        assert ", plan some-plan, since " in str(lock.holder(path))
        with pytest.raises(lock.HostError, match="some-plan"), HostLock(path=path):
            pass
    assert lock.holder(path) is None


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "collect", lambda *_, **__: quiet_host())
    monkeypatch.setattr(lock, "holder", lambda: None)


def test_the_command_ends_well_whatever_it_finds(quiet: None, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(PLAN)
    for arguments in ([], [str(file)], ["--shared-buffers", "8GB"], ["--data-dir", str(tmp_path)]):
        ended = CliRunner().invoke(cli.app, ["doctor", *arguments])
        assert ended.exit_code == 0, ended.output
        assert "\nFindings: 0 disturb much," in ended.stdout


def test_its_json_can_be_read_by_programs(quiet: None) -> None:
    ended = CliRunner().invoke(cli.app, ["doctor", "--json", "--shared-buffers", "8GB"])
    found = json.loads(ended.stdout)
    assert [one["name"] for one in found["findings"]] == ["huge-pages-missing"]
    assert found["findings"][0]["mend"][0].startswith("sysctl -w vm.nr_hugepages=")


def test_this_host_is_looked_at(tmp_path: Path) -> None:
    its = host_checkup.check_up(data_dir=tmp_path)
    assert its.facts.data.path == str(tmp_path)
    assert its.facts.look is not None and its.facts.look.seconds < 60
    assert list(tmp_path.iterdir()) == []
    assert {finding.severity for finding in its.findings} <= {"much", "some", "know"}
