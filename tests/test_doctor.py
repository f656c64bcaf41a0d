"""Each finding of the doctor is there where its facts are, and absent on a quiet host."""

import json
from pathlib import Path
from typing import Any

import pytest

from dbdyno import doctor
from dbdyno.doctor import MemoryNeed, memory, render
from dbdyno.model.host_facts import Cpu, HostFacts
from host_facts_builder import GIB, changed, quiet_host

LAYER = "data/layers/0"
SYNC = {"count": 100, "bytes": 8192, "p50_us": 250.0, "p99_us": 400.0, "max_us": 900.0}
CASES: list[tuple[str, str, tuple[tuple[str, Any], ...]]] = [
    ("steal", "some", (("look/steal_share", 0.01),)),
    ("steal", "much", (("look/steal_share", 0.09),)),
    ("load", "some", (("look/busy_share", 0.1),)),
    ("load", "much", (("look/busy_share", 0.5),)),
    ("cpu-quota", "much", (("control_group/cpu_max", 1.5),)),
    ("memory-limit", "some", (("control_group/memory_max", 8 * GIB),)),
    ("process-limit", "some", (("control_group/pids_max", 512),)),
    ("servers", "some", (("look/servers", [{"pid": 77, "name": "mysqld"}]),)),
    ("open-files", "some", (("limits/open_files", [1024, 4096]),)),
    ("processes", "some", (("limits/processes", [1000, 1000]),)),
    ("somaxconn", "some", (("sysctl/net.core.somaxconn", 128),)),
    ("max-map-count", "some", (("sysctl/vm.max_map_count", 1000),)),
    ("io-uring", "some", (("sysctl/kernel.io_uring_disabled", 2),)),
    ("remove-ipc", "some", (("login_service/remove_ipc", None), ("user_id", 1000))),
    ("virtual", "know", (("virtual", "kvm"),)),
    ("container", "know", (("container", True),)),
    ("swapping", "much", (("look/swap_pages", {"in": 3, "out": 0}),)),
    ("swap-used", "some", (("swap_used_bytes", GIB),)),
    ("transparent-huge-pages", "some", (("thp/enabled", "always"),)),
    ("transparent-huge-pages", "much", (("thp/enabled", "always"), ("thp/defrag", "always"))),
    ("huge-pages-idle", "some", (("huge_page_pool/free", 8192), ("huge_page_pool/total", 8192))),
    ("swappiness", "some", (("swap_bytes", GIB),)),
    ("memory-in-use", "some", (("memory/available_bytes", 20 * GIB),)),
    ("dirty-background", "some", (("sysctl/vm.dirty_background_bytes", 4 * GIB),)),
    ("overcommit", "know", (("sysctl/vm.overcommit_memory", 2),)),
    ("governor", "much", (("cpu/governor", "powersave"),)),
    ("governor-unknown", "know", (("cpu/governor", None),)),
    ("turbo", "some", (("frequency/turbo", True), ("frequency/turbo_file", "/x/boost"))),
    ("throttled", "some", (("frequency/throttled", 12),)),
    ("smt", "some", (("cpu/smt", True), ("processors/siblings", ["0,8"]))),
    ("clock", "some", (("clock/read_ns", 450.0),)),
    ("clock", "much", (("clock/read_ns", 1800.0), ("clock_source", "hpet"))),
    ("numa", "some", (("cpu/numa_nodes", 2),)),
    ("zone-reclaim", "much", (("sysctl/vm.zone_reclaim_mode", 1),)),
    ("offline", "know", (("processors/offline", "8-15"),)),
    ("isolated", "know", (("processors/isolated", "3"),)),
    ("cpuset", "some", (("processors/allowed", "0-3"),)),
    ("watchdog", "know", (("sysctl/kernel.nmi_watchdog", 1),)),
    ("autogroup", "know", (("sysctl/kernel.sched_autogroup_enabled", 1),)),
    ("mitigations", "know", (("mitigations", {"retbleed": "Mitigation: IBRS"}),)),
    ("no-device", "much", (("data/file_system", "tmpfs"),)),
    ("network-storage", "much", (("data/file_system", "nfs4"),)),
    ("copy-on-write", "some", (("data/file_system", "btrfs"),)),
    ("no-barrier", "much", (("data/mount_options", "rw,noatime,nobarrier"),)),
    ("sync-mount", "much", (("data/mount_options", "rw,noatime,sync"),)),
    ("data-journal", "some", (("data/mount_options", "rw,noatime,data=journal"),)),
    ("discard", "some", (("data/mount_options", "rw,noatime,discard"),)),
    ("access-times", "know", (("data/mount_options", "rw,relatime"),)),
    ("access-times", "some", (("data/mount_options", "rw"),)),
    ("scheduler", "some", ((f"{LAYER}/scheduler", "bfq"),)),
    ("read-ahead", "some", ((f"{LAYER}/read_ahead_bytes", 8 << 20),)),
    ("read-ahead", "some", ((f"{LAYER}/read_ahead_bytes", 0),)),
    ("sync", "know", (("sync", SYNC),)),
    ("sync-slow", "much", (("sync", SYNC | {"p50_us": 8000.0}),)),
    ("sync-fast", "some", (("sync", SYNC | {"p50_us": 3.0}),)),
    ("sync-stalls", "some", (("sync", SYNC | {"max_us": 90_000.0}),)),
    ("disk-full", "some", (("data/free_bytes", 180 * GIB),)),
    ("disk-full", "much", (("data/free_bytes", 18 * GIB),)),
    ("rotating", "know", (("data/rotational", True),)),
    ("write-cache", "know", ((f"{LAYER}/write_cache", "write back"),)),
    ("device-unknown", "know", (("data/unsure", "loop0 is a loop device"),)),
]


def test_a_quiet_host_has_no_findings() -> None:
    assert doctor.findings(quiet_host()) == ()


def test_facts_that_are_not_known_find_nothing() -> None:
    assert doctor.findings(HostFacts()) == ()
    of_processor = doctor.findings(HostFacts(cpu=Cpu(model="unknown")))
    assert [finding.name for finding in of_processor] == ["governor-unknown"]


@pytest.mark.parametrize(("name", "severity", "changes"), CASES, ids=lambda one: str(one)[:40])
def test_a_disturbing_fact_is_found_and_nothing_else(
    name: str, severity: str, changes: tuple[tuple[str, Any], ...]
) -> None:
    found = doctor.findings(changed(*changes))
    assert [(one.name, one.severity) for one in found] == [(name, severity)]
    assert found[0].why.endswith(".") and found[0].what
    assert severity == "know" or found[0].mend or found[0].barred, "it says how it is mended"


def test_another_lab_disturbs_most_of_all() -> None:
    facts = changed(("look/busy_share", 0.9), ("thp/enabled", "always"))
    found = doctor.findings(facts, lab="process 7, plan demo")
    assert [one.name for one in found] == ["lab", "load", "transparent-huge-pages"]
    assert "process 7, plan demo" in found[0].what


def test_commands_name_this_hosts_own_devices_and_numbers() -> None:
    facts = changed(
        (f"{LAYER}/scheduler", "bfq"), ("huge_page_pool/total", 100), ("huge_page_pool/free", 60)
    )
    found = {one.name: one for one in doctor.findings(facts, [MemoryNeed(who="a", bytes=8 * GIB)])}
    assert found["scheduler"].mend == ("echo none > /sys/block/nvme0n1/queue/scheduler",)
    pages = memory.pages_needed(MemoryNeed(who="a", bytes=8 * GIB), 2 << 20)
    # The 40 that others use stay theirs.
    assert found["huge-pages-missing"].mend == (f"sysctl -w vm.nr_hugepages={40 + pages}",)


@pytest.mark.parametrize(
    ("megabytes", "measured"), [(128, 92), (1024, 558), (8192, 4221), (102_400, 52_288)]
)
def test_huge_pages_suffice_for_what_postgres_was_measured_to_share(megabytes: int, measured: int):
    """`shared_memory_size_in_huge_pages` of PostgreSQL 15 with 1,000 connections."""
    pages = memory.pages_needed(MemoryNeed(who="a", bytes=megabytes << 20), 2 << 20)
    assert measured <= pages <= measured * 1.01 + 64


def test_huge_pages_are_counted_for_each_size_and_enough_for_the_largest() -> None:
    needs = [MemoryNeed(who=who, bytes=size * GIB) for who, size in (("a", 4), ("b", 4), ("c", 8))]
    short = doctor.findings(changed(("huge_page_pool/free", 3000)), needs)
    assert [one.name for one in short] == ["huge-pages-missing"]
    assert short[0].what.startswith("a, b: 4.0 GiB of buffers need about 2,1")
    assert "c: 8.0 GiB" in short[0].what
    there = changed(("huge_page_pool/free", 4300), ("huge_page_pool/total", 4300))
    assert [one.name for one in doctor.findings(there, needs)] == ["huge-pages"]


def test_pages_beyond_the_memory_are_not_asked_for() -> None:
    found = doctor.findings(quiet_host(), [MemoryNeed(who="a", bytes=70 * GIB)])
    missing = next(one for one in found if one.name == "huge-pages-missing")
    assert missing.mend == () and "more than the memory" in str(missing.barred)
    assert next(one for one in found if one.name == "memory-in-use").severity == "much"


def test_locked_memory_matters_to_mysql_alone() -> None:
    facts = changed(("huge_page_pool/free", 4300), ("huge_page_pool/total", 4300))
    for locks, names in ((False, ["huge-pages"]), (True, ["locked-memory", "huge-pages"])):
        found = doctor.findings(facts, [MemoryNeed(who="a", bytes=8 * GIB, locks=locks)])
        assert [one.name for one in found] == names


def test_what_a_container_cannot_change_is_said() -> None:
    facts = changed(("read_only", ["/sys"]), ("thp/enabled", "always"))
    (found,) = doctor.findings(facts)
    assert "read-only" in str(found.barred) and found.mend
    assert "Cannot be fixed here" in "\n".join(render.lines([found], facts))


def test_swap_that_does_not_fit_the_memory_is_not_switched_off() -> None:
    facts = changed(("swap_used_bytes", 63 * GIB))
    (found,) = doctor.findings(facts)
    assert found.mend == () and "less memory free" in str(found.barred)


def test_lines_fit_a_terminal_and_end_with_the_count() -> None:
    facts = changed(
        ("look/steal_share", 0.3),
        ("container", True),
        ("thp/enabled", "always"),
        ("unread", {"cpu.governor": "there is no such file"}),
    )
    text = list(render.lines(doctor.findings(facts), facts))
    assert all(len(line) <= render.WIDTH for line in text if not line.startswith("    $ "))
    assert " ".join(text[-2:]).endswith(
        "1 disturb much, 1 somewhat, 1 only to know; 1 fact cannot be read here (--json says why)."
    )
    titles = [line.strip() for line in text if line.startswith("\n")]
    assert titles == ["Disturbs much", "Disturbs somewhat", "To know"]


def test_the_document_has_the_findings_their_counts_and_the_facts() -> None:
    facts = changed(("look/steal_share", 0.3))
    found = json.loads(json.dumps(render.document(doctor.findings(facts), facts)))
    assert (found["format"], found["count"]) == (1, {"much": 1, "some": 0, "know": 0})
    assert found["findings"][0].keys() == {"name", "severity", "what", "why", "mend", "barred"}
    assert found["host"]["clock"]["read_ns"] == 31.0


def test_every_finding_is_on_the_page_of_the_doctor() -> None:
    page = (Path(__file__).parent.parent / "docs/doctor.md").read_text()
    names = {name for name, _, _ in CASES} | {"lab", "huge-pages", "huge-pages-missing"}
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_balancing_matters_only_where_memory_has_nodes() -> None:
    balanced = ("sysctl/kernel.numa_balancing", 1)
    assert doctor.findings(changed(balanced)) == ()
    found = doctor.findings(changed(balanced, ("cpu/numa_nodes", 2)))
    assert [one.name for one in found] == ["numa", "numa-balancing"]
