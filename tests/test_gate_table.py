"""The table of a gate's answers in docs/howto/ci.md, cell by cell."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno import store
from dbdyno.analysis import gate as analysis
from dbdyno.analysis.gate import GateMeasurements
from dbdyno.model import Comparison, Ratio
from dbdyno.model.gate import Tolerances
from dbdyno.model.work import Event, EventChange, WorkChange
from dbdyno.report import gate as report
from dbdyno.stats import events
from dbdyno.stats.work import APART_REASON
from gate_builder import BASE, HEAD, USUAL, WORK_ALONE, counted, race, step_of, work
from result_builder import build

PAGE = Path(__file__).parent.parent / "docs" / "howto" / "ci.md"
Case = tuple[GateMeasurements, Tolerances]
CRASH = "it crashed"


# --- What steps show -------------------------------------------------------------------------


def crashed(arm: str) -> WorkChange:
    """An arm that left no counts."""
    reason = f"{arm}: {CRASH}"
    return work(0.0, word="failed", ratio=None, reason=reason, failed_arm=arm)


def withheld(reason: str, low: float, high: float) -> WorkChange:
    """Counts of which no word is given, between these changes."""
    ratio = Ratio(value=1 + (low + high) / 2, low=1 + low, high=1 + high, blocks=2)
    return work(0.0, word="open", ratio=ratio, reason=reason)


def with_events(*after: float, operations: int = 500, event: Event = "system calls") -> WorkChange:
    """Repeats of the head that have so many events an operation, where the base's have 4."""
    before, windows = [4.0] * len(after), events.Windows(operations=operations)
    interval = windows.interval(event, before, after)
    word = events.word(interval)
    changed = EventChange(
        event=event, word=word, base_events=4.0, arm_events=sum(after) / len(after),
        change=interval,
        operations_needed=windows.operations_needed(event, 4.0),
        function="nanosleep", binary="postgres", function_change=1.0,
    )  # fmt: skip
    return work(0.0, events=() if word == "same" else (changed,))


@pytest.fixture(name="races", scope="module")
def _races(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Comparison]:
    """Races by what they show."""

    def made(faster: float, **more: object) -> Comparison:
        return race(tmp_path_factory.mktemp("race"), faster, **more)

    alike = made(1.0)
    return {
        "alike": alike,
        "slower": made(0.85),
        "slower again": made(0.88),
        "unknown": made(0.949),
        "head crashed": made(1.0, failed={(2, HEAD, "qr100"): CRASH}),
        "base crashed": made(1.0, failed={(2, BASE, "qr100"): CRASH}),
        "head failed operations": failing(alike, HEAD),
        "base failed operations": failing(alike, BASE),
    }


def failing(raced: Comparison, arm: str) -> Comparison:
    """The race, in which two operations of an arm failed in each of its six blocks."""
    (step,) = raced.steps
    cells = tuple(
        replace(
            cell,
            runs=tuple(replace(run, metrics={**run.metrics, "errors": 2.0}) for run in cell.runs),
        )
        if cell.arm == arm
        else cell
        for cell in step.cells
    )
    return replace(raced, steps=(replace(step, cells=cells),))


Races = Mapping[str, Comparison]


def by_counts(
    change: WorkChange | None, tolerated: Tolerances = WORK_ALONE
) -> Callable[[Races], Case]:
    """A gate of work alone."""

    def case(races: Races) -> Case:
        changes = () if change is None else (change,)
        raced = races["alike"] if change is None else None
        asked = USUAL if change is None else tolerated
        return GateMeasurements(
            head=HEAD, counted=counted(races["alike"], *changes), raced=raced
        ), asked

    return case


def by_fill(arm: str) -> Callable[[Races], Case]:
    """A gate whose data could not be filled."""
    unfilled = analysis.FillFailure(step=("sysbench", "fill"), arm=arm, reason=CRASH)
    return lambda _: (GateMeasurements(head=HEAD, counted=None, unfilled=unfilled), USUAL)


def by_race(raced: str, relaid: str | None = None) -> Callable[[Races], Case]:
    """A gate whose arms do the same work."""
    return lambda races: (
        GateMeasurements(
            head=HEAD, counted=counted(races["alike"], work(0.0)), raced=races[raced],
            relaid=None if relaid is None else races[relaid], unrelaid="the minutes are over",
        ),
        USUAL,
    )  # fmt: skip


def unraced(races: Races) -> Case:
    """A gate that ends as its counts say no."""
    reason = "not raced, as work says no"
    return GateMeasurements(
        head=HEAD, counted=counted(races["alike"], work(0.0)), unraced=reason
    ), USUAL


ONE = structs.replace(WORK_ALONE, system_calls=1, atomics=1)
OFF = structs.replace(WORK_ALONE, system_calls=None, atomics=None)
DISAGREE = APART_REASON
CASES: Mapping[str, list[Callable[[Races], Case]]] = {
    "the head fails while its data are filled": [by_fill(HEAD)],
    "the base fails while its data, or those of both, are filled": [by_fill(BASE)],
    "the head fails while it is counted: crashes, hangs, refuses connections, fails an operation": [
        by_counts(crashed(HEAD))
    ],
    "the base fails while it is counted": [by_counts(crashed(BASE))],
    "the step is not counted": [by_counts(None)],
    "more instructions: the whole interval is beyond `work`": [by_counts(work(0.0056))],
    "an interval of instructions that reaches beyond `work`": [
        by_counts(work(0.003, 0.0002)),
        by_counts(work(0.0, 0.004)),
    ],
    "repeats that disagree, as those of two modes, whatever their mean": [
        by_counts(withheld(DISAGREE, -0.006, 0.0029)),
        by_counts(withheld(DISAGREE, 0.004, 0.006)),
        by_counts(withheld(DISAGREE, -0.006, -0.004)),
    ],
    "instructions within `work`, or fewer": [
        by_counts(work(0.0029, 0.00005)),
        by_counts(work(0.0)),
        by_counts(work(-0.003, 0.001)),
        by_counts(work(-0.02)),
    ],
    "one more system call, or atomic instruction, than tolerated": [
        by_counts(with_events(5.0, 5.0)),
        by_counts(with_events(5.0, 5.0, event="atomics")),
    ],
    "as many more as tolerated": [
        by_counts(with_events(5.0, 5.0), ONE),
        by_counts(with_events(5.0, 5.0, event="atomics"), ONE),
    ],
    "as many, or fewer": [by_counts(with_events(3.0, 3.0)), by_counts(with_events(3.0, 3.0), ONE)],
    "fewer operations than tell one more": [by_counts(with_events(4.0, operations=8))],
    "repeats of which some have one more": [by_counts(with_events(4.0, 5.0))],
    'fewer operations than tell one more, and `"off"`': [
        by_counts(with_events(4.0, operations=8), OFF)
    ],
    "the head fails in a race": [by_race("head crashed")],
    "the base fails in a race": [by_race("base crashed")],
    "operations of the head fail in a race": [by_race("head failed operations")],
    "operations of the base fail in a race": [by_race("base failed operations")],
    "a larger loss of time with two layouts": [by_race("slower", "slower again")],
    "a larger loss of time with one layout, and none with another": [by_race("slower", "alike")],
    "a larger loss of time with one layout, and another is not known": [by_race("slower")],
    "no larger loss of time shown, and not all excluded": [by_race("unknown")],
    "no race, as counts say no": [unraced],
    "each larger loss of time excluded": [by_race("alike")],
}
"""What the page's rows are of, one or several gates each."""


def rows() -> list[tuple[str, str, str]]:
    """The rows of the page's table."""
    text = PAGE.read_text()
    table = text[text.index("| what a step shows |") :].partition("\n\n")[0]
    cells = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [(shown.strip(), answer.strip(), said.strip()) for shown, answer, said in cells]


def test_each_row_of_the_page_has_a_gate_and_each_gate_a_row() -> None:
    assert [shown for shown, _, _ in rows()] == list(CASES)


@pytest.mark.parametrize(("shown", "answer", "said"), rows(), ids=[row[0] for row in rows()])
def test_a_gate_answers_as_the_page_says(races: Races, shown: str, answer: str, said: str) -> None:
    named = re.sub(r"\bhead:", f"{HEAD}:", re.sub(r"\bbase:", f"{BASE}:", said))
    for case in CASES[shown]:
        step = step_of(*case(races))
        lines = "\n".join(report.reasons(step)).replace("atomics", "system calls")
        assert (step.answer, named in lines) == (answer, True), lines
        assert said != "" or answer == "yes"


def test_two_more_are_no_where_one_is_tolerated(races: Races) -> None:
    measured, tolerated = by_counts(with_events(6.0, 6.0), ONE)(races)
    assert step_of(measured, tolerated).answer == "no"


def test_which_arm_failed_while_data_were_filled_is_read_from_the_result(tmp_path: Path) -> None:
    """The base's failure comes first, as it says nothing of the head."""
    for name, failed, arm in (
        ("head", {(1, HEAD, "l.i0"): CRASH}, HEAD),
        ("both", {(1, HEAD, "l.i0"): CRASH, (1, BASE, "l.i0"): "no memory"}, BASE),
    ):
        place = store.count_folder(tmp_path / name)
        build(place, blocks=1, steps=("l.i0",), failed=failed, name=analysis.FILL)
        unfilled = analysis.unfilled(tmp_path / name)
        assert unfilled is not None
        assert (unfilled.arm, unfilled.step[1]) == (arm, "l.i0")
    assert analysis.unfilled(tmp_path / "none") is None
