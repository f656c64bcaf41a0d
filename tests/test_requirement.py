"""What a plan requires of its host: refused by the line where it is not so, on recorded facts."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno import doctor, plan
from dbdyno.doctor import MemoryNeed, requirement
from dbdyno.model.error import PlanError
from dbdyno.model.host_facts import HostFacts
from dbdyno.plan.schema import RequireForm
from dbdyno.run.check import preflight, requirements
from host_facts_builder import GIB, changed

M5_METAL: dict[str, requirement.Value] = {
    "huge_pages": True,
    "wal_device": True,
    "swappiness": 1,
    "max_map_count": 3_112_960,
    "somaxconn": 1024,
    "transparent_huge_pages": "never",
    "transparent_huge_pages_defrag": "never",
    "scheduler": "mq-deadline",
    "read_ahead_kb": 4096,
    "file_system": "ext4",
    "governor": "performance",
    "clock_source": "tsc",
}
"""The study's host, and what else it may be asked for: each key of the table."""
BUFFERS = MemoryNeed(who="arm pg12", bytes=100 * GIB)


def study_host(*changes: tuple[str, Any]) -> HostFacts:
    """The facts of a host that has all of it."""
    return changed(
        ("huge_page_pool", {"total": 52_600, "free": 52_600, "size_bytes": 2 << 20}),
        ("sysctl/vm.swappiness", 1),
        ("sysctl/vm.max_map_count", 3_112_960),
        ("sysctl/net.core.somaxconn", 4096),
        ("thp/enabled", "never"),
        ("thp/defrag", "never"),
        ("data/scheduler", "mq-deadline"),
        ("data/layers/0/read_ahead_bytes", 4096 * 1024),
        ("data/devices", ["nvme0n1"]),
        ("wal", {"devices": ["nvme1n1"]}),
        ("clock_source", "tsc"),
        *changes,
    )


def unmet(facts: HostFacts, required: dict[str, requirement.Value]) -> list[doctor.HostFinding]:
    return list(requirement.findings(facts, required, [BUFFERS]))


def test_a_host_that_has_it_all_is_found_nothing() -> None:
    assert unmet(study_host(), M5_METAL) == []
    assert set(M5_METAL) == set(RequireForm.model_fields), "each key of the table is tried"


@pytest.mark.parametrize(
    ("fact", "value", "key", "words", "mend"),
    [
        ("sysctl/vm.swappiness", 60, "swappiness", "swappiness = 1: vm.swappiness is 60",
         "sysctl -w vm.swappiness=1"),
        ("sysctl/vm.swappiness", None, "swappiness", "vm.swappiness is not known here",
         "sysctl -w vm.swappiness=1"),
        ("sysctl/net.core.somaxconn", 128, "somaxconn", "somaxconn = 1024 or more: net.core.som",
         "sysctl -w net.core.somaxconn=1024"),
        ("sysctl/vm.max_map_count", 65_530, "max_map_count", "vm.max_map_count is 65530",
         "sysctl -w vm.max_map_count=3112960"),
        ("thp/enabled", "always", "transparent_huge_pages", "transparent huge pages is always",
         "echo never > /sys/kernel/mm/transparent_hugepage/enabled"),
        ("thp/defrag", "madvise", "transparent_huge_pages_defrag", "their defrag is madvise",
         "echo never > /sys/kernel/mm/transparent_hugepage/defrag"),
        ("data/scheduler", "none", "scheduler", "the scheduler of the data's device is none",
         "echo mq-deadline > /sys/block/nvme0n1/queue/scheduler"),
        ("data/layers/0/read_ahead_bytes", 128 << 10, "read_ahead_kb", "device in kB is 128",
         "echo 4096 > /sys/block/nvme0n1/queue/read_ahead_kb"),
        ("data/layers", [], "read_ahead_kb", "device in kB is not known here",
         "echo 4096 > /sys/block/nvme0n1/queue/read_ahead_kb"),
        ("data/file_system", "xfs", "file_system", "the data's file system is xfs",
         "set server.data_dir to a folder on ext4"),
        ("cpu/governor", None, "governor", "the cores' governor is not known here",
         "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"),
        ("clock_source", "hpet", "clock_source", "the clock source is hpet",
         "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("huge_page_pool/free", 50_000, "huge_pages",
         "50,000 huge pages are free, and the largest server needs about 52,536",
         "sysctl -w vm.nr_hugepages=55136"),
        ("huge_page_pool", {}, "huge_pages", "the kernel reports none", None),
        ("wal/devices", ["nvme0n1"], "wal_device", "the log is on nvme0n1, the data on nvme0n1",
         "set server.wal_dir to a folder on another disk"),
        ("wal/devices", [], "wal_device", "the log is on no known device",
         "set server.wal_dir to a folder on another disk"),
        ("wal", None, "wal_device", "the log lies with the data: the plan has no `server.wal_dir`",
         "set server.wal_dir to a folder on another disk"),
    ],
)  # fmt: skip
def test_each_requirement_that_is_not_met_is_said_with_its_remedy(
    fact: str, value: Any, key: str, words: str, mend: str | None
) -> None:
    (found,) = unmet(study_host((fact, value)), M5_METAL)
    assert found.name == f"required-{key.replace('_', '-')}"
    assert found.severity == "much"
    assert found.what.startswith(f"the plan requires {key} = ")
    assert words in found.what
    assert found.mend == (() if mend is None else (mend,))


def test_a_host_whose_settings_nobody_can_change_here_says_so() -> None:
    facts = study_host(("sysctl/vm.swappiness", 60), ("read_only", ["/proc/sys"]))
    (found,) = unmet(facts, {"swappiness": 1})
    assert found.barred is not None
    assert "/proc/sys is read-only here" in found.barred


def test_the_doctor_says_it_first_and_only_of_a_plan_that_asks() -> None:
    facts = study_host(("sysctl/vm.swappiness", 60))
    names = [one.name for one in doctor.findings(facts, (), None, {"swappiness": 1})]
    assert names[0] == "required-swappiness"
    assert not any(one.name.startswith("required") for one in doctor.findings(facts))


FAKE = 'engine = "fake"\nfake = { default_us = 100 }'
PLAN = """
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[[workloads]]
name = "insert-benchmark"
[require]
"""


def planned(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(PLAN + text)
    return path


def test_a_plan_is_refused_with_a_line_for_each_setting_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = planned(tmp_path, 'swappiness = 1\nclock_source = "tsc"\nsomaxconn = 4096\n')
    facts = study_host(("sysctl/vm.swappiness", 60), ("clock_source", "hpet"))
    monkeypatch.setattr(requirements, "look", lambda plan: facts)
    with pytest.raises(PlanError) as raised:
        preflight.prepare(plan.load(path))
    assert str(raised.value).splitlines() == [
        f"{path}: require: swappiness = 1: vm.swappiness is 60; sysctl -w vm.swappiness=1",
        f"{path}: require: clock_source = tsc: the clock source is hpet; echo tsc > "
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ]
    monkeypatch.setattr(requirements, "look", lambda plan: study_host())
    assert preflight.prepare(plan.load(path)).steps


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("swapiness = 1", "key `require.swapiness`: unknown key; did you mean `swappiness`?"),
        ("huge_pages = false", "key `require.huge_pages`: must be "),
        ('swappiness = "low"', "key `require.swappiness`: must be "),
        ('transparent_huge_pages = "off"', "key `require.transparent_huge_pages`: must be"),
    ],
)
def test_what_a_plan_cannot_require_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PlanError) as raised:
        plan.load(planned(tmp_path, text))
    assert words in str(raised.value)


def test_the_host_of_a_server_elsewhere_cannot_be_required(tmp_path: Path) -> None:
    path = planned(tmp_path, "swappiness = 1")
    path.write_text(path.read_text().replace(FAKE, 'dsn = "postgresql://u@db/d"'))
    with pytest.raises(PlanError, match="require: the server of arm a runs elsewhere"):
        requirements.refuse_unmet(plan.load(path))
