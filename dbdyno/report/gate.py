"""The answer of a gate as lines for the terminal, Markdown for a comment, JUnit XML and JSON."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from xml.etree import ElementTree

import msgspec

from dbdyno.findings.work import show as counts
from dbdyno.model.bisection import short
from dbdyno.model.gate import (
    UNRACED,
    ChangedEvents,
    Gate,
    GateRatio,
    GateSide,
    GateStep,
    TimeCheck,
    WorkCheck,
)
from dbdyno.model.metric.primary import called
from dbdyno.model.tolerance import Answer
from dbdyno.parts import known, number

COLUMNS = 80
SAVING = 0.003
"""Of work, from which on a comment tells it."""
STEPS_MAX = 10
"""Of a table or a list in a comment."""
ORDER: Sequence[Answer] = ("no", "not yet", "yes")


def lines(gate: Gate) -> Iterator[str]:
    """The answer, a line for each step, and the reasons of those that are not yes."""
    yield f"gate: {gate.answer} ({sides(gate)})"
    rows = ordered(gate)
    width = max((len(step.step) for step in rows), default=0)
    for step in rows:
        figures = work_words(step)
        if gate.time is not None:
            figures += f"; time {time_words(step)}"
        indent = " " * (width + 2)
        yield from textwrap.wrap(
            f"{step.step:{width}}  {step.answer}: {figures}", COLUMNS, subsequent_indent=indent
        )
        for reason in reasons(step):
            yield from textwrap.wrap(
                reason, COLUMNS, initial_indent=indent, subsequent_indent=indent
            )


def sides(gate: Gate) -> str:
    """Head against base: more-work e9dc451 against good 6ad5f1d."""
    return f"{side(gate.head)} against {side(gate.base)}"


def side(of: GateSide) -> str:
    """A side as it was asked for, with its commit and what was changed beside it."""
    commit = "" if of.commit is None else short(of.commit)
    known_as = "" if of.commit is None or of.commit.startswith(of.written) else f" {commit}"
    if not of.changed:
        return f"{of.written}{known_as}"
    files = f"{of.changed} changed file{'s' * (of.changed != 1)}"
    return f"{of.written} as it stands, {files}"


def ordered(gate: Gate) -> list[GateStep]:
    """The steps, those with the worst answer first."""
    return sorted(gate.steps, key=lambda step: ORDER.index(step.answer))


def work_words(step: GateStep) -> str:
    """work +0.56 % [+0.55, +0.57]."""
    change = None if step.work is None else step.work.change
    if change is None:
        return "work not counted"
    ends = () if change.low is None or change.high is None else (change.low, change.high)
    return f"work {number.counted(change.ratio, *ends)}"


def time_words(step: GateStep) -> str:
    """Throughput −7.3 % [−8.1, −6.5], and again of the second layout."""
    if step.time is not None and step.time.reason == UNRACED:
        return "not raced"
    if step.time is None or step.time.change is None or step.time.metric is None:
        return "not known"
    words = f"{called(step.time.metric)} {of_time(step.time.change)}"
    again = step.time.relaid
    return words if again is None else f"{words}, with another layout {of_time(again)}"


def of_time(change: GateRatio) -> str:
    """A change of time with its interval."""
    return number.changes(change.ratio, change.low, change.high)


def reasons(step: GateStep) -> Iterator[str]:
    """Why the answer of a step is what it is, where its figures do not say it."""
    if step.work is not None:
        yield from of_work(step.work)
    if step.time is not None:
        yield from of_race(step.time)


def of_work(check: WorkCheck) -> Iterator[str]:
    """The functions behind more work, what failed, and what else an operation has more."""
    if check.reason:
        yield f"work: {check.reason}"
    elif (word := "less" if saves(check) else "more") == "less" or check.instructions == "no":
        functions = [
            f"{function.function} {number.signed(function.instructions)}"
            for function in check.functions[: counts.FUNCTIONS_NAMED]
        ]
        if functions and check.base is not None and check.head is not None:
            amounts = f"{check.base:,.0f} → {check.head:,.0f} instructions"
            yield f"{word} work, {amounts}: {', '.join(functions)}"
        else:
            yield f"{word} work, in no function alone"
    for event in check.events:
        yield of_events(event)


def saves(check: WorkCheck) -> bool:
    """Whether an operation of the head does so much less work that a comment tells it."""
    high = None if check.change is None else check.change.high
    return high is not None and high < 1 - SAVING


def of_events(event: ChangedEvents) -> str:
    """more system calls: 4.0 → 5.0 an operation; what it takes to tell, where that is open."""
    figures = counts.of_operation(event.base, event.head)
    if event.answer == "not yet":
        return f"{event.event} open: {figures}; {counts.why_open([event.operations_needed])}"
    word = "more" if event.head > event.base else "fewer"
    allowed = ", tolerated" if event.answer == "yes" and word == "more" else ""
    return f"{word} {event.event}: {figures}{allowed}"


def of_race(check: TimeCheck) -> Iterator[str]:
    """Why time says no or not yet, and what a missing answer would take."""
    if check.reason:
        yield f"time: {check.reason}"
    elif check.answer == "no":
        yield "time: slower, with two layouts of its code"
    elif check.answer == "not yet" and check.blocks_needed is None:
        yield f"time: {known.NOT_HERE}"
    if check.answer == "not yet" and check.blocks_needed is not None:
        minutes = check.minutes_needed
        takes = "" if minutes is None else f", {number.minutes(minutes)}"
        yield f"time: to exclude the loss takes {number.blocks(check.blocks_needed)} more{takes}"


# --- Markdown ---------------------------------------------------------------------------------


def markdown(gate: Gate) -> str:
    """A comment: the answer, the steps that changed, and a line each for what else there is."""
    changed = [step for step in ordered(gate) if not is_same(step)]
    text = [f"### dyno gate: {gate.answer}", "", f"{sides(gate)}: {STATED[gate.answer]}."]
    if changed:
        heads = ["step", "answer", f"work, up to {percent(gate.work)}"]
        heads += [] if gate.time is None else [f"time, up to {percent(gate.time)}"]
        text += ["", f"| {' | '.join([*heads, 'why'])} |", f"|{'---|' * (len(heads) + 1)}"]
        text += [row(step, timed=gate.time is not None) for step in changed[:STEPS_MAX]]
    if (more := len(changed) - STEPS_MAX) > 0:
        text.append(f"\nand {more} more, {changed[STEPS_MAX].answer}")
    text += [f"\n{line}" for line in (*rest(gate), *unasked(gate), *repeating(gate))]
    return "\n".join(text) + "\n"


STATED: dict[Answer, str] = {
    "yes": "in every step each larger loss is excluded",
    "no": "a step lost more than tolerated",
    "not yet": "no larger loss was shown, and not all are excluded",
}


def is_same(step: GateStep) -> bool:
    """Whether a step is not told: it is yes, or does no more work and was not raced."""
    if step.work is None or saves(step.work):
        return False
    unraced = step.time is not None and step.time.reason == UNRACED
    return step.answer == "yes" or (unraced and step.work.answer == "yes")


def row(step: GateStep, *, timed: bool) -> str:
    """A step that changed as a row of the table."""
    answer = step.answer if step.answer == "yes" else f"**{step.answer}**"
    cells = [step.step, answer, work_words(step).removeprefix("work ")]
    cells += [time_words(step)] if timed else []
    why = [reason for reason in reasons(step) if not reason.endswith(UNRACED)]
    return f"| {' | '.join(map(escaped, [*cells, '; '.join(why)]))} |"


def rest(gate: Gate) -> Iterator[str]:
    """The steps of which nothing is to be told."""
    same = [step for step in gate.steps if is_same(step)]
    fine = [step.step for step in same if step.answer == "yes"]
    unraced = [step.step for step in same if step.answer != "yes"]
    if fine:
        yield f"Within what is tolerated: {number.few(fine, STEPS_MAX)}."
    if unraced:
        yield f"No more work, and {UNRACED}: {number.few(unraced, STEPS_MAX)}."


def unasked(gate: Gate) -> Iterator[str]:
    """What the gate was not asked for."""
    tolerated = {
        "time": gate.time,
        "system calls": gate.system_calls,
        "atomic instructions": gate.atomics,
    }
    names = [name for name, tolerance in tolerated.items() if tolerance is None]
    if names:
        unseen = "; counts see neither the kernel nor waits nor caches" * (gate.time is None)
        yield f"Not asked: {', '.join(names)}{unseen}."


def repeating(gate: Gate) -> Iterator[str]:
    """The commands that repeat the gate, and show all of it."""
    reports = ", ".join(f"`dyno report {folder}`" for folder in gate.results)
    took = f"{number.minutes(gate.seconds / 60)}, dyno {gate.dyno}"
    yield f"Repeat: `{gate.command}` ({took})" + (f"; all of it: {reports}" if reports else "")


def percent(share: float) -> str:
    """A tolerance: 0.3 %, 0.25 %."""
    return f"{100 * share:.4g} %"


def escaped(text: str) -> str:
    """A text in a cell of a table."""
    return text.replace("|", "\\|")


# --- JUnit and JSON ---------------------------------------------------------------------------


def junit(gate: Gate) -> bytes:
    """JUnit's XML: a suite of work and one of time, a case for each step.

    `no` is a failure. `not yet` is skipped, as nothing was shown: the exit status tells it.
    """
    root = ElementTree.Element("testsuites", name="dyno gate")
    suites: tuple[tuple[str, Callable[[GateStep], WorkCheck | TimeCheck | None]], ...] = (
        ("work", lambda step: step.work),
        ("time", lambda step: step.time),
    )
    every: list[Answer] = []
    for name, check_of in suites:
        cases = [(step, check) for step in gate.steps if (check := check_of(step)) is not None]
        answers = [check.answer for _, check in cases]
        every += answers
        if not cases:
            continue
        skipped = str(answers.count("not yet"))
        attributes = {"name": name, **numbers(answers), "skipped": skipped}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for step, check in cases:
            add_case(suite, name, step, check)
    root.attrib.update(numbers(every))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def numbers(answers: Sequence[Answer]) -> dict[str, str]:
    """Numbers of tests and failures as attributes."""
    failures = str(answers.count("no"))
    return {"tests": str(len(answers)), "failures": failures, "errors": "0"}


def add_case(
    suite: ElementTree.Element, name: str, step: GateStep, check: WorkCheck | TimeCheck
) -> None:
    """Adds what one instrument says of a step."""
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"dyno.{name}.{step.workload}", name=step.step, time="0"
    )
    words, why = (
        (work_words(step), of_work(check))
        if isinstance(check, WorkCheck)
        else (f"time {time_words(step)}", of_race(check))
    )
    told = "\n".join([words, *why])
    if check.answer == "yes":
        ElementTree.SubElement(case, "system-out").text = told
    elif check.answer == "no":
        ElementTree.SubElement(case, "failure", message=words, type=name).text = told
    else:
        message = f"not yet: {told.replace(chr(10), '; ')}"
        ElementTree.SubElement(case, "skipped", message=message)


def document(gate: Gate) -> str:
    """gate.json; what has no number is null."""
    return msgspec.json.format(msgspec.json.encode(gate), indent=1).decode()
