"""`make test`: what its last lines say, and the budget of a test."""

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

import cpu_budget
import suite

REPORT = """
<testsuites><testsuite>
<testcase name="a"/><testcase name="b"/>
<testcase name="c"><failure message="1 != 2"/></testcase>
<testcase name="d"><skipped message="no sysbench: `apt-get install sysbench`"/></testcase>
<testcase name="e"><skipped message="no PostgreSQL 12: `dyno server fetch postgres 12`"/></testcase>
<testcase name="f"><skipped message="this host has no locale"/></testcase>
</testsuite></testsuites>
"""
CARGO = """
test result: ok. 321 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 6.32s
test result: FAILED. 9 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s
"""


def outcome(said: str, *, name: str = "rust", status: int = 0, folder: Path) -> suite.Outcome:
    """What comes of a part that says this and ends so."""
    code = f"import sys; print({said!r}); sys.exit({status})"
    return suite.run(suite.Part(name=name, words=[sys.executable, "-c", code]), folder)


def test_the_last_lines_count_all_parts_and_name_what_brings_the_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "with servers.xml").write_text(REPORT)
    parts = [
        outcome(CARGO, status=1, folder=tmp_path),
        outcome("", name="with servers", status=1, folder=tmp_path),
    ]
    monkeypatch.delenv("DYNO_TEST_NOTES", raising=False)
    first, second, skipped, total = suite.closing(parts)
    assert first.startswith("rust: 330 passed, 2 failed, 1 skipped in ")
    assert second.startswith("with servers: 2 passed, 1 failed, 3 skipped in ")
    assert "1 by `apt-get install sysbench`, 1 by `dyno server fetch postgres 12`" in skipped
    assert skipped.endswith("2 for the reasons above")
    assert total == "tests: 332 passed, 3 failed, 4 skipped"


def test_a_part_that_dies_before_any_test_has_failed(tmp_path: Path) -> None:
    died = outcome("Killed", name="without servers", status=137, folder=tmp_path)
    assert (died.status, died.failed) == (137, 1)


def test_what_tests_are_skipped_for_want_of_is_said_beforehand(tmp_path: Path) -> None:
    def lacks(*words: str) -> str:
        command = ["/bin/bash", suite.ROOT / "tools" / "missing", *words]
        return subprocess.check_output(command, env={"PATH": str(tmp_path)}, text=True)

    assert " valgrind" in lacks() and lacks().startswith("make test: tests that need these ")
    assert lacks().splitlines()[1:] == []
    (tmp_path / "valgrind").write_text("#!/bin/sh\n")
    (tmp_path / "valgrind").chmod(0o755)
    packages = lacks("--packages").split()
    assert "valgrind" not in packages
    assert {"sysbench", "linux-perf"} <= set(packages)


def test_words_that_leave_no_test_of_a_part_are_well(tmp_path: Path) -> None:
    none = outcome("", name="with servers", status=suite.NO_TESTS, folder=tmp_path)
    assert (none.status, none.failed) == (0, 0)


def test_a_line_says_which_server_stands_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_TEST_NOTES", "mysql 5.5.9 stands for the family\n")
    assert "mysql 5.5.9 stands for the family" in suite.closing([outcome("", folder=tmp_path)])


def test_every_test_belongs_to_one_of_both_sets() -> None:
    marks = ["soak", "long", "live", "capability"]
    for bits in range(2 ** len(marks)):
        known = {mark: bool(bits & 1 << place) for place, mark in enumerate(marks)}
        fast, rest = (
            eval(chosen, {"hypothesis": False}, known) for chosen in (suite.FAST, suite.REST)
        )
        assert [fast, rest, known["soak"]].count(True) == 1, known


@pytest.mark.parametrize("marks", [set(), {"long"}, {"live"}, {"soak"}])
def test_a_test_over_its_budget_fails_unless_a_mark_allows_it(marks: set[str]) -> None:
    item = Mock(spec=pytest.Item, get_closest_marker=lambda mark: mark in marks or None)
    with pytest.MonkeyPatch.context() as patch:  # undone before this test is judged itself
        patch.setattr(cpu_budget, "CPU_S_MAX", 0.0)
        patch.setattr(cpu_budget, "work_s", lambda: cpu_budget.WORK_S)
        running = cpu_budget.pytest_runtest_call(item)
        next(running)
        cpu_budget.work()
        with pytest.raises(StopIteration if marks else pytest.fail.Exception) as ended:
            running.send(None)
    assert marks or "mark it `long`" in str(ended.value)


def test_a_test_that_fails_says_so_and_not_that_it_is_slow() -> None:
    item = Mock(spec=pytest.Item, get_closest_marker=lambda _: None)
    running = cpu_budget.pytest_runtest_call(item)
    next(running)
    with pytest.raises(AssertionError, match="its own"):
        running.throw(AssertionError("its own"))


def test_a_machine_half_as_fast_has_twice_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, end = cpu_budget.Usage(0.0, 100), cpu_budget.Usage(15.0, 100)
    monkeypatch.setattr(cpu_budget, "work_s", lambda: cpu_budget.WORK_S)
    assert cpu_budget.excess_s(begin, end) == 15.0
    monkeypatch.setattr(cpu_budget, "work_s", lambda: 2 * cpu_budget.WORK_S)
    assert cpu_budget.excess_s(begin, end) is None


def test_who_imports_for_all_others_is_not_judged() -> None:
    begin, end = cpu_budget.Usage(0.0, 100), cpu_budget.Usage(90.0, 900)
    assert cpu_budget.excess_s(begin, end) is None
