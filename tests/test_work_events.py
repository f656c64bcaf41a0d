"""One atomic instruction or system call more an operation: a finding beside instructions."""

import json
import shutil
from pathlib import Path
from typing import get_args

import msgspec
import pytest

import example_figures
from compare_command import Dyno
from dbdyno.analysis import compare
from dbdyno.evidence.subsystems import Subsystems
from dbdyno.findings.work import event_changes
from dbdyno.findings.work import plan as analysis
from dbdyno.findings.work import terminal as report
from dbdyno.model.count import Count, FunctionWork
from dbdyno.model.work import Event, EventChange, WorkComparison
from dbdyno.report import page
from dbdyno.report import race as verdict
from dbdyno.report.render import markdown
from dbdyno.stats import events as stats

MORE = "more atomics: 33.0 → 34.0 an operation (LockBufHdr +1.0)"


def count(
    instructions: float = 40_000.0, calls: float = 1.0, operations: int = 500, **atomics: float
) -> Count:
    """The counts of one repeat, by the atomic instructions of its functions."""
    functions = tuple(
        FunctionWork(
            function=name, binary="postgres", instructions=instructions / len(atomics),
            with_callees=0.0, calls=1.0, atomics=own,
        )
        for name, own in atomics.items()
    )  # fmt: skip
    return Count(
        tool="valgrind 3.19.0", role="query", warmup=200, operations=operations, left_out=(),
        instructions=instructions, atomics=sum(atomics.values()), system_calls=calls, mark=1.0,
        functions=functions,
    )  # fmt: skip


def events(base: list[Count], arm: list[Count]) -> list[EventChange]:
    """What the arm has more, or fewer."""
    functions = list(analysis.functions(base, arm, Subsystems([])))
    return list(event_changes.changes(base, arm, functions))


def test_one_more_is_told_with_its_function_where_instructions_are_the_same() -> None:
    """A lock whose function has another name in the other build is not the cause."""
    base = [count(LWLockRelease=13.0, LockBufHdr=2.0)] * 2
    arm = [count(LWLockReleaseInternal=13.0, LockBufHdr=3.0)] * 2
    (event,) = events(base, arm)
    assert (event.event, event.word) == ("atomics", "more")
    assert (event.base_events, event.arm_events) == (15.0, 16.0)
    assert (event.function, event.function_change) == ("LockBufHdr", 1.0)


@pytest.mark.parametrize(
    ("base", "arm", "words"),
    [
        ((32.0, 32.02), (33.0, 32.98), ["more atomics"]),
        ((32.0, 32.5), (33.0, 32.9), ["open atomics"]),
        ((32.0, 32.5), (32.1, 32.4), []),
        ((33.0, 33.0), (32.0, 32.0), ["fewer atomics"]),
        ((12_000.0, 12_000.0), (12_005.0, 12_005.0), []),
        ((12_000.0, 12_000.0), (12_013.0, 12_013.0), ["more atomics"]),
    ],
)
def test_every_repeat_has_to_show_it(
    base: tuple[float, ...], arm: tuple[float, ...], words: list[str]
) -> None:
    """Of an operation that has thousands a tenth of a percent is the least.

    Repeats of which only some show it leave it open.
    """
    told = events([count(f=own) for own in base], [count(f=own) for own in arm])
    assert [f"{event.word} {event.event}" for event in told] == words


@pytest.mark.parametrize(
    ("operations", "more", "word", "needed"),
    [
        (1, 0.0, "open", 40),
        (1, 3.0, "open", 40),  # a timer fired in one of the windows
        (1, 29.0, "open", 40),
        (1, 30.0, "more", 40),  # no chance makes so many
        (11, 0.0, "same", None),
        (11, 1.0, "open", 40),
        (40, 0.75, "more", None),
        (40, 0.25, "same", None),
        (500, 1.0, "more", None),
        (500, -1.0, "fewer", None),
    ],
)
def test_one_more_takes_as_many_operations_as_make_chance_a_fraction_of_it(
    operations: int, more: float, word: str, needed: int | None
) -> None:
    """One repeat of each; what the windows' scatter may make of no change is never a word."""
    base = [count(calls=40.0, operations=operations, f=32.0)]
    arm = [count(calls=40.0 + more, operations=operations, f=32.0)]
    told = {event.event: event for event in events(base, arm)}.get("system calls")
    assert ("same" if told is None else told.word) == word
    assert told is None or told.operations_needed == needed


@pytest.mark.parametrize("operations", [1, 2, 5, 10, 40, 50, 80, 240, 500])
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("event", get_args(Event))
def test_whatever_chance_does_no_window_of_one_build_is_told_and_one_more_is(
    event: Event, operations: int, writes: bool
) -> None:
    """By the largest difference that chance makes, either way; from enough operations on."""
    windows = stats.Windows(operations=operations, writes=writes)
    enough = windows.operations_needed(event) is None
    for by_chance in (-windows.of_windows(event), 0, windows.of_windows(event)):
        own = by_chance / operations
        same = windows.interval(event, [30.0], [30.0 + own])
        assert stats.word(same) in (("same",) if enough else ("same", "open"))
        more = windows.interval(event, [30.0], [31.0 + own])
        assert stats.word(more) == "more" if enough else stats.word(more) != "fewer"
        assert stats.word(more, tolerate=1) in (("same",) if enough else ("same", "open"))


def test_a_system_call_more_is_told_by_itself() -> None:
    """The atomic instructions are the same."""
    (event,) = events([count(calls=8.0, f=32.0)] * 2, [count(calls=9.004, f=32.0)] * 2)
    assert (event.event, event.word) == ("system calls", "more")


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A counted result whose arm has one atomic instruction more in a point query."""
    parent = tmp_path_factory.mktemp("results")
    with example_figures.unpacked(example_figures.KINDS / "count") as unpacked:
        folder = Path(shutil.copytree(unpacked, parent / "count"))
    for path in [*folder.rglob("*-update-index")]:
        shutil.rmtree(path)
    for path in folder.rglob("count.json"):
        counted = msgspec.json.decode(path.read_bytes(), type=Count)
        if "point-query" not in str(path) or "pg18" not in str(path):
            continue
        (name,) = {row.function for row in counted.functions if row.function == "LockBufHdr"}
        functions = tuple(
            msgspec.structs.replace(row, atomics=row.atomics + (row.function == name))
            for row in counted.functions
        )
        more = msgspec.structs.replace(counted, atomics=counted.atomics + 1, functions=functions)
        path.write_bytes(msgspec.json.encode(more))
    return folder


def of(folder: Path) -> WorkComparison:
    """The counts of a result."""
    return compare.load(folder).of(WorkComparison)


def test_terminal_report_and_answer_say_it(folder: Path) -> None:
    """With what it costs, here and elsewhere."""
    lines = list(report.lines(of(folder)))
    assert all(len(line) <= report.COLUMNS for line in lines)
    text = " ".join(line.strip() for line in lines)
    assert "1 more atomics; 2 repeats each" in text
    assert MORE in text
    assert "much on a host of 64 processors" in text
    made = " ".join(markdown.render(page.make(compare.load(folder))).split())
    assert f"point-query, pg18: {MORE}" in made
    assert "much on a host of 64 processors" in made
    assert ", more atomics" in verdict.of_work(of(folder))


def test_a_gate_names_it_apart_from_work(folder: Path, dyno: Dyno) -> None:
    """`more-work` is of instructions alone."""
    status, out, err = dyno(folder, "--json", "--fail-on", "more-atomics")
    assert status == 1
    assert err == "--fail-on more-atomics: pg18: more atomics in point-query\n"
    assert [event["word"] for event in json.loads(out)["tables"]["work_events"]] == ["more"]
    assert dyno(folder, "--fail-on", "more-system-calls, fewer-atomics")[0] == 0
