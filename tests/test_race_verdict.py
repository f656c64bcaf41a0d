"""A race's five lines, and the figures between looks, which have no word."""

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from msgspec import structs

from comparison_builder import comparison
from dbdyno.model import Comparison
from dbdyno.model.ratio import Ratio
from dbdyno.model.verdict import Word
from dbdyno.model.work import WorkChange, WorkComparison
from dbdyno.report import evidence, fail_on
from dbdyno.report import race as verdict

WORDS = ("faster", "slower", "same")
REPORT = Path("results/race-pg17-pg18/report.html")


def five(of: Comparison, report: Path = REPORT) -> list[str]:
    return verdict.lines(of, report)


@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_verdict_is_five_lines_of_eighty_columns(arms: int, blocks: int) -> None:
    names = [f"a-rather-long-name-of-a-build-{number}" for number in range(arms)]
    report = Path("/" + "long/" * 40 + "report.html")
    *lines, last = five(comparison(arms=names, blocks=blocks), report)
    assert len([line for line in lines if not line.startswith("  ")]) == 4
    assert all(0 < len(line) <= 80 for line in lines)
    assert last == f"report: {report}", "a path that is cut opens nothing"


@pytest.mark.long
def test_the_first_line_counts_words_and_the_next_have_figures() -> None:
    first, decided, still, *_ = five(comparison(troubles=False))
    assert first.startswith("pg18 against pg17: ") and "3 blocks" in first
    assert decided.startswith("decided: ") and "l.x faster: throughput +" in decided
    assert still.startswith("open: ")


def test_open_steps_have_what_is_excluded_and_what_a_check_takes() -> None:
    still = five(comparison(troubles=False, blocks=3))[2]
    assert re.match(r"open: l.\S+ no loss beyond [\d.]+ %.*; to check 3 % here: 40 min$", still)


def test_of_one_block_open_steps_have_figures_alone() -> None:
    still = five(comparison(troubles=False, blocks=1))[2]
    assert "%" in still and not {"loss", "check", "block"} & set(still.split())


def test_words_on_one_fill_say_so_in_the_line_and_in_what_a_status_rests_on() -> None:
    of = replace(comparison(troubles=False), one_fill=("l",))
    assert five(of)[1].startswith("decided on one fill: ")
    named = fail_on.found(of, WORDS)
    assert named is not None and named.endswith(" on one fill")
    several = replace(comparison(arms=("pg18", "mysql", "mariadb")), one_fill=("l",))
    assert five(several)[0].startswith("against pg18 on one fill, after ")
    assert "on one fill" not in " ".join(five(comparison(troubles=False)))


def test_a_step_whose_blocks_drift_says_so_in_place_of_a_bound() -> None:
    of = comparison(troubles=False, blocks=3)
    (step, cell), *_ = [
        (step, cell)
        for step in of.steps
        for cell in step.cells[1:]
        if cell.verdict is not None and cell.verdict.word == "open"
    ]
    verdict_of = replace(cell.verdict, reason="blocks drift")
    cells = (step.cells[0], replace(cell, verdict=verdict_of))
    found = replace(of, steps=(replace(step, cells=cells),))
    assert five(found)[2].startswith(f"open: {step.step} blocks drift")


def test_one_line_says_which_builds_are_for_size() -> None:
    of = comparison()
    assert five(of)[3] == "builds: none says that it is compiled for size (-Os)"
    small = replace(
        of, servers={**of.servers, "pg18": structs.replace(of.servers["pg18"], flags="-Os")}
    )
    assert "pg18: -Os, for size not speed" in five(small)[3]


def test_the_last_line_names_the_report() -> None:
    assert five(comparison())[4] == f"report: {REPORT}"


@pytest.mark.long
def test_several_challengers_have_a_line_each() -> None:
    lines = five(comparison(arms=("pg18", "mysql", "mariadb"), troubles=False))
    begun = [line for line in lines if not line.startswith("  ")]  # others go on with the one above
    assert begun[1].startswith("mysql: ") and begun[2].startswith("mariadb: ")


def test_nothing_is_said_of_no_block() -> None:
    empty = replace(comparison(), blocks=0)
    assert five(empty)[0].startswith("no block is complete")


# --- Between looks ---------------------------------------------------------------------------


def test_evidence_is_a_ratio_with_its_interval_and_never_a_word() -> None:
    lines = evidence.lines(comparison(troubles=False))
    assert lines[0] == "so far, 3 blocks, pg18 by pg17:"
    assert any(line.startswith("  l.x") and "throughput 1.2" in line for line in lines)
    for line in lines:
        assert len(line) <= 80
        assert not any(word in line for word in get_args(Word))


@pytest.mark.long
def test_evidence_of_several_arms_names_each() -> None:
    lines = evidence.lines(comparison(arms=("pg18", "mysql", "mariadb"), troubles=False))
    assert lines[0] == "so far, 3 blocks, by pg18:"
    assert "l.i0 mysql" in lines[1] and "l.i0 mariadb" in lines[2]
    assert lines[-1].endswith("more") and len(lines) == evidence.STEPS_MAX + 2


def test_long_names_leave_figures_whole() -> None:
    names = [f"a-rather-long-name-of-a-build-{number}" for number in range(3)]
    made = comparison(arms=names, blocks=3, troubles=False)
    _, *lines = evidence.lines(made)
    cells = [cell for step in made.steps for cell in step.cells[1:] if cell.verdict is not None]
    assert all(len(line) <= 80 for line in lines)
    for cell, name in zip(cells[: evidence.STEPS_MAX], lines[::2], strict=False):
        assert name.endswith(f" {cell.arm}")
        assert lines[lines.index(name) + 1].strip() == evidence.of_cell(cell)


def test_counts_of_work_have_a_line_of_their_own() -> None:
    """The largest change first; never faster or slower."""
    counted = WorkComparison(
        base="pg17", arms=("pg17", "pg18"), repeats=2, tool="valgrind 3.19.0", left_out=(),
        scatter=0.0001, scatter_of_writes=0.0001, changes=(
            WorkChange(workload="sysbench", step="scan", arm="pg18", word="same",
                ratio=ratio(1.0002)),
            WorkChange(workload="sysbench", step="point", arm="pg18", word="more",
                ratio=ratio(1.032)),
        ),
    )  # fmt: skip
    line = five(replace(comparison(troubles=False), findings={"WorkComparison": counted}))[3]
    assert line == "counted: point more work +3.20 %; scan same work +0.02 %"


def ratio(value: float) -> Ratio:
    """A ratio with a narrow interval."""
    return Ratio(value=value, low=value - 1e-4, high=value + 1e-4, blocks=2)


def test_a_part_that_does_not_fit_is_never_cut_within_a_figure() -> None:
    """The price stays whole, and the bound before it."""
    after = "; to check 3 %: not on this machine"
    line = verdict.joined(
        "open: ", ["hot-points no loss beyond 19.3 %", "range-covered-si"], after=after
    )
    assert line == f"open: hot-points no loss beyond 19.3 %{after}"
