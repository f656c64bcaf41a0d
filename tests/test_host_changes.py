"""A host whose lasting facts changed between sessions is named, with the blocks on each side."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import report_parts
import result_builder
from dbdyno.analysis import compare
from dbdyno.doctor import stable_facts
from dbdyno.judge import host_changes
from dbdyno.model import Comparison
from dbdyno.model.host_facts import HostFacts
from dbdyno.report import page
from dbdyno.run import blocks
from dbdyno.store import Results
from doubted import doubted
from host_facts_builder import changed, quiet_host

SECOND = 1_000_000_000


def test_blocks_are_told_by_the_facts_that_held_when_they_began() -> None:
    sessions = [
        changed(("since_unix_ns", 10), ("thp/enabled", "madvise")),
        changed(("since_unix_ns", 30), ("thp/enabled", "always"), ("sysctl/vm.swappiness", 1)),
        changed(("since_unix_ns", 50), ("thp/enabled", "madvise")),
    ]
    begun = {1: 11, 2: 20, 3: 31, 5: 55, 6: 60, 7: 65}
    assert [str(doubt) for doubt in host_changes.changes(sessions, begun)] == [
        "changed host: between blocks transparent huge pages was madvise in blocks 1, 2, 5 to 7 "
        "and always in block 3; vm.swappiness was 60 in blocks 1, 2, 5 to 7 and 1 in block 3"
    ]


def test_a_host_that_stayed_or_is_unknown_is_not_told() -> None:
    assert list(host_changes.changes([quiet_host(), quiet_host()], {1: 5, 2: 6})) == []
    assert list(host_changes.changes([], {1: 5})) == []
    older = HostFacts(kernel="6.1", sysctl={"vm.swappiness": 60})
    newer = changed(("since_unix_ns", 10))
    assert list(host_changes.changes([older, newer], {1: 5, 2: 20})) == [], (
        "only what both know differs"
    )


def test_what_varies_by_itself_is_no_change() -> None:
    now = changed(
        ("memory/available_bytes", 1),
        ("look/busy_share", 0.9),
        ("clock/read_ns", 99.0),
        ("data/free_bytes", 5),
    )
    assert not stable_facts.changed(quiet_host(), now)
    assert stable_facts.changed(quiet_host(), changed(("sysctl/vm.swappiness", 1)))


def test_a_session_on_a_changed_host_keeps_the_facts_of_before(tmp_path: Path) -> None:
    folder = result_builder.build(tmp_path, blocks=2)
    results = Results.open(folder)
    first = changed(("boot_id", "a"), ("since_unix_ns", SECOND))

    def session(**facts: object) -> None:
        blocks.keep_host(results, structs.replace(first, **facts))

    def since() -> int | None:
        return (results.host() or HostFacts()).since_unix_ns

    (folder / "host.json").unlink()
    session()
    session(since_unix_ns=2 * SECOND)
    assert since() == SECOND, "it has been so since the first one"
    session(since_unix_ns=3 * SECOND, clock_source="hpet")
    assert [host.clock_source for host in results.earlier_hosts()] == ["tsc"]
    assert since() == 3 * SECOND
    for number, begun in ((1, 2), (2, 4)):
        path = folder / f"blocks/00{number}/order.json"
        path.write_text(
            json.dumps(json.loads(path.read_text()) | {"started_unix_ns": begun * SECOND})
        )
    line = "changed host: between blocks clock source was tsc in block 1 and hpet in block 2"
    assert line in doubted(compare.load(folder))


def facts_of(comparison: Comparison, host: HostFacts) -> dict[str, str]:
    return report_parts.pairs(page.make(replace(comparison, host=host)), "facts")


@pytest.mark.long
def test_what_disturbs_stands_among_the_facts_of_a_report(tmp_path: Path) -> None:
    comparison = compare.load(result_builder.build(tmp_path, blocks=2))
    assert facts_of(comparison, quiet_host())["What disturbs here"] == "nothing known"
    bad = changed(("look/steal_share", 0.3), ("thp/enabled", "always"), ("virtual", "kvm"))
    assert facts_of(comparison, bad)["What disturbs here"] == (
        "much: 30.0 % of all CPUs' time went to other machines (steal) in 1.0 s. somewhat: "
        "transparent huge pages: enabled = always, defrag = madvise "
        "(`dyno doctor` gives reasons and remedies)"
    )
    assert facts_of(comparison, HostFacts(kernel="6.1"))["What disturbs here"] == "not known"
