"""The answer of a gate as lines for the terminal, Markdown for a comment, JUnit XML and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from xml.etree import ElementTree

import msgspec

from dbdyno.findings.work import show as counts
from dbdyno.model.bisection import short
from dbdyno.model.gate import (
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
STEPS_MAX = 20
REASONS_MAX = 12
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
    if check.instructions == "no" and not check.reason:
        functions = [
            f"{function.function} {number.signed(function.instructions)}"
            for function in check.functions[: counts.FUNCTIONS_NAMED]
        ]
        if functions and check.base is not None and check.head is not None:
            amounts = f"{check.base:,.0f} → {check.head:,.0f} instructions"
            yield f"more work, {amounts}: {', '.join(functions)}"
        else:
            yield "more work, in no function alone"
    elif check.reason:
        yield f"work: {check.reason}"
    for event in check.events:
        yield of_events(event)


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
    """A comment of less than 60 lines."""
    rows = ordered(gate)
    heads = ["step", "answer", f"work, up to {percent(gate.work)}"]
    heads += [] if gate.time is None else [f"time, up to {percent(gate.time)}"]
    text = [
        f"### dyno gate: {gate.answer}",
        "",
        f"{sides(gate)}; {STATED[gate.answer]}.",
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
    ]
    for step in rows[:STEPS_MAX]:
        answer = step.answer if step.answer == "yes" else f"**{step.answer}**"
        cells = [step.step, answer, work_words(step).removeprefix("work ")]
        cells += [] if gate.time is None else [time_words(step)]
        text.append(f"| {' | '.join(map(escaped, cells))} |")
    if len(rows) > STEPS_MAX:
        text += ["", f"and {len(rows) - STEPS_MAX} more steps, {rows[STEPS_MAX].answer}"]
    told = [f"- {step.step}: {escaped(reason)}" for step in rows for reason in reasons(step)]
    if told:
        text += ["", *told[:REASONS_MAX]]
        if len(told) > REASONS_MAX:
            text.append(f"- and {len(told) - REASONS_MAX} more, in the JSON")
    text += ["", f"{counts.NOTICE} `{gate.command}`: {gate.seconds / 60:.1f} min, dyno {gate.dyno}"]
    return "\n".join(text) + "\n"


STATED: dict[Answer, str] = {
    "yes": "in every step each larger loss is excluded",
    "no": "a step lost more than tolerated",
    "not yet": "no larger loss was shown, and not all are excluded",
}


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
