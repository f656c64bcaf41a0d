"""Counts of two arms: words, intervals, and the functions that changed."""

import math
import shutil
from pathlib import Path

import pytest
from msgspec import structs

import dbdyno
import example_figures
from dbdyno.analysis import compare
from dbdyno.evidence.subsystems import Subsystems
from dbdyno.findings.work import plan as analysis
from dbdyno.findings.work import show as section
from dbdyno.findings.work import terminal as report
from dbdyno.judge import witness
from dbdyno.model.count import Count, FunctionWork, counter_of
from dbdyno.model.error import ResultError
from dbdyno.model.verdict import Verdict, Word
from dbdyno.model.work import Amounts, WorkChange, WorkComparison
from dbdyno.report import page
from dbdyno.report.render import markdown
from dbdyno.stats import work as stats

COUNTED = "instructions per operation, counted"
TABLE = Subsystems([{"locks": ["Lock"]}])


def function(name: str, instructions: float, calls: float = 1.0) -> FunctionWork:
    """A function of the server's program."""
    return FunctionWork(
        function=name, binary="postgres", instructions=instructions, with_callees=instructions,
        calls=calls, atomics=1.0 if name.startswith("Lock") else 0.0,
    )  # fmt: skip


def count(**instructions: float) -> Count:
    """The counts of one repeat, by function."""
    functions = tuple(function(name, value) for name, value in instructions.items())
    return Count(
        tool="valgrind 3.19.0", role="query", warmup=200, operations=500, left_out=(),
        instructions=math.fsum(instructions.values()), atomics=32.0, system_calls=1.0, mark=40_000,
        functions=functions,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "word"),
    [(0.003, "more"), (-0.003, "less"), (0.0002, "same"), (-0.0002, "same"), (0.001, "open")],
)
def test_the_word_follows_the_interval_and_the_margin(change: float, word: str) -> None:
    """Two repeats that scatter as little as is known decide a change of 0.15 %."""
    ratios = [math.log1p(change)] * 2
    assert stats.word(stats.ratio(ratios, stats.pooled([ratios])), 0.001) == word


def test_equal_counts_are_not_certain_beyond_what_is_known() -> None:
    """The scatter has a floor."""
    scatter = stats.pooled([[0.0, 0.0], [0.1, 0.1]])
    assert scatter.deviation == stats.SCATTER_LEAST
    interval = stats.ratio([0.0, 0.0], scatter)
    assert interval.low is not None
    assert 1 - interval.low > 1e-4


def test_the_scatter_is_that_of_all_steps_together() -> None:
    """By hand: two repeats 0.002 apart give a deviation of 0.002 / √2."""
    assert stats.pooled([[0.0, 0.002]]).deviation == pytest.approx(0.002 / math.sqrt(2))
    assert stats.pooled([[0.0]]).deviation == stats.SCATTER_LEAST


def test_repeats_that_differ_more_than_others_are_open() -> None:
    """A step whose repeats are half a percent apart says nothing sure."""
    scatter = stats.Scatter(deviation=stats.SCATTER_LEAST, freedom=40)
    assert stats.apart([0.0, 0.005], scatter)
    assert not stats.apart([0.0, 0.0002], scatter)


def test_functions_join_by_name_without_what_compilers_add() -> None:
    """The largest change comes first; what differs by less than five instructions is the same."""
    base = [count(LockAcquire=100, heap_fetch=1000, gone=50)] * 2
    arm = [
        count(**{"LockAcquire.isra.0": 447, "heap_fetch": 1001, "new": 60}),
        count(**{"LockAcquire.isra.0": 447, "heap_fetch": 1002, "new": 60}),
    ]
    changes = list(analysis.functions(base, arm, TABLE))
    assert [(one.function, round(one.change)) for one in changes if one.changed] == [
        ("LockAcquire", 347), ("new", 60), ("gone", -50),
    ]  # fmt: skip
    assert changes[0].subsystem == "locks"
    assert sum(one.change for one in changes) == pytest.approx(
        sum(c.instructions for c in arm) / 2 - base[0].instructions
    )


def test_functions_join_where_the_servers_program_has_another_name() -> None:
    """MariaDB's was `mysqld` up to 10.3; libraries keep their names."""
    base = [count(row_search=1000, memcpy=100)]
    first, second = base[0].functions
    functions = (structs.replace(first, binary="mariadbd"), structs.replace(second, binary="libc"))
    arm = [structs.replace(base[0], functions=functions)]
    changes = {
        (change.function, change.binary): change.change
        for change in analysis.functions(base, arm, TABLE)
    }
    assert changes == {
        ("row_search", "postgres"): 0.0, ("memcpy", "postgres"): -100.0, ("memcpy", "libc"): 100.0,
    }  # fmt: skip


def test_equal_changes_have_one_order() -> None:
    """Functions with the same change stand by name, in every reading."""
    base, arm = [count(b=100, a=100, c=100)], [count(b=110, a=110, c=90)]
    assert [change.function for change in analysis.functions(base, arm, TABLE)] == ["a", "b", "c"]


def test_a_function_that_differs_between_repeats_has_not_changed() -> None:
    """Every repeat has to show it."""
    base, arm = [count(f=100), count(f=200)], [count(f=190), count(f=150)]
    (change,) = analysis.functions(base, arm, TABLE)
    assert not change.changed


def comparison(change: WorkChange) -> WorkComparison:
    """A result of one step."""
    return WorkComparison(
        base="pg17", arms=("pg17", "pg18"), repeats=2, tool="valgrind 3.19.0", left_out=("f",),
        scatter=0.0001, scatter_of_writes=0.0001, changes=(change,),
    )  # fmt: skip


def test_the_terminal_says_more_work_and_never_slower() -> None:
    """Lines fit 80 columns."""
    base, arm = [count(LockAcquire=40_000, f=100)] * 2, [count(LockAcquire=41_300, f=100)] * 2
    ratios = [math.log(41_400 / 40_100)] * 2
    change = WorkChange(
        workload="sysbench", step="point-query", arm="pg18", word="more",
        of_base=Amounts(instructions=40_100, atomics=32.0, system_calls=1.0),
        of_arm=Amounts(instructions=41_400, atomics=33.0, system_calls=1.0),
        ratio=stats.ratio(ratios, stats.pooled([ratios])),
        functions=tuple(analysis.functions(base, arm, TABLE)),
    )  # fmt: skip
    lines = list(report.lines(comparison(change), Path("report.html")))
    text = "\n".join(lines)
    assert all(len(line) <= report.COLUMNS for line in lines)
    assert "pg18 against pg17: 1 more work; 2 repeats each" in text
    assert "40,100 → 41,400  more work +3.24 % [+3.23, +3.26]" in text
    assert "LockAcquire +1,300" in text
    assert "slower" not in text
    assert section.NOTICE.split()[0] in text


def test_a_failed_step_has_its_reason() -> None:
    """The reason stands in place of figures."""
    failed = WorkChange(workload="w", step="s", arm="pg18", word="failed", reason="pg18: no start")
    assert "failed: pg18: no start" in "\n".join(report.lines(comparison(failed)))


def test_the_functions_that_are_exported_add_up_to_the_operation() -> None:
    """Of a real result: by itself, each function counts once."""
    with example_figures.unpacked(example_figures.KINDS / "count") as folder:
        exported = dbdyno.read(folder)
        work, functions = exported.work, exported.work_functions
    assert set(work["step"]) == {"point-query", "update-index"}
    for row in work.itertuples():
        of_step = functions[functions["step"] == row.step]
        assert of_step["arm_instructions"].sum() == pytest.approx(row.arm_instructions, rel=1e-4)
        assert of_step["base_atomics"].sum() == pytest.approx(row.base_atomics, rel=1e-3)
    point = work.set_index("step").loc["point-query"]
    assert point["word"] == "more"
    assert point["ratio"] == pytest.approx(point["arm_instructions"] / point["base_instructions"])


@pytest.mark.parametrize(
    ("said", "factor", "words"),
    [
        ("slower", 1.0, f"the same {COUNTED}; what is left is the kernel"),
        ("faster", 1.03, f"3.00 % more {COUNTED} (g −2,000, h +2,000, f +1,500); what is left"),
        ("same", 0.97, f"3.00 % fewer {COUNTED} (g −2,000, h +2,000, f −1,500); the step waits"),
        ("slower", 1.03, f"3.00 % more {COUNTED} (g −2,000, h +2,000, f +1,500)"),
        ("open", 1.03, f"3.00 % more {COUNTED} (g −2,000, h +2,000, f +1,500)"),
    ],
)
def test_a_count_stands_beside_a_verdict_of_time(said: Word, factor: float, words: str) -> None:
    """Where both disagree, the causes are named that counts cannot see.

    Work that only moved, from g to h, is the same work, and no function is named for it.
    """
    base = [count(f=40_000, g=9_000, h=1_000)] * 2
    arm = [count(f=40_000 + 50_000 * (factor - 1), g=7_000, h=3_000)] * 2
    ratios = [math.log(factor)] * 2
    interval = stats.ratio(ratios, stats.pooled([ratios]))
    change = WorkChange(
        workload="sysbench", step="point-query", arm="pg18", word=stats.word(interval, 0.001),
        ratio=interval, functions=tuple(analysis.functions(base, arm, TABLE)),
    )  # fmt: skip
    verdict = Verdict(word=said, by=(), judgements=())
    sentence = witness.counted(verdict, change)
    assert sentence.startswith(words)
    assert ("left" in sentence or "waits" in sentence) == (words[-1] != ")")


def test_counts_of_two_architectures_are_not_compared() -> None:
    here, old = structs.replace(count(f=1.0), architecture="x86_64"), count(f=1.0)
    assert counter_of([here, old]) == "valgrind 3.19.0 on x86_64"
    with pytest.raises(ResultError, match=r"of aarch64 and of x86_64, .* on hosts of one"):
        counter_of([here, old, structs.replace(here, architecture="aarch64")])


def test_the_counts_of_a_result_are_the_witness_of_its_steps() -> None:
    """A step that was measured and counted; the others keep what they had."""
    unpacked, kinds = example_figures.unpacked, example_figures.KINDS
    with unpacked(kinds / "profile") as timed, unpacked(kinds / "count") as counts:
        shutil.copytree(counts / "count", timed / "count")
        comparison = compare.load(timed)
    (step,) = [step for step in comparison.steps if step.step == "point-query"]
    (cell,) = [cell for cell in step.cells if cell.arm == "pg18"]
    assert cell.verdict is not None
    assert "2.10 % more instructions per operation, counted (LWLock" in cell.verdict.witness
    assert "counted (LWLock" in markdown.render(page.make(comparison)).partition("## ")[0]
