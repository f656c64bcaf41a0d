"""Why arms are faster or slower in a step: each one's explanation, and what it had no room for."""

from collections.abc import Iterable

from dbdyno.model import Cell, StepComparison
from dbdyno.parts import number
from dbdyno.parts.part import Finding, Section, Subject, Text


def findings(step: StepComparison) -> Iterable[Finding]:
    """A finding for each arm whose change was looked into, in the order of the arms.

    Where nothing was decided, instructions per operation may still say something.
    """
    for result in step.cells:
        told, witness = result.explanation, _witness(result)
        if told is not None:
            # The sentence leaves out what causes are counted by.
            words = [cause.words for cause in told.causes]
            others = [
                f"also {each}" for each in words if each.partition(" per ")[0] not in told.text
            ]
            text = number.unbroken(f"{result.arm}: {told.text}.")
            yield Finding(text=text, items=Finding.each(filter(None, (*others, witness))))
        elif witness:
            yield Finding(text=number.unbroken(f"{result.arm}: {witness}."))


def _witness(result: Cell) -> str:
    """What instructions per operation say of an arm; nothing where they are not counted."""
    said = result.verdict.witness if result.verdict is not None else ""
    return f"witness, which decides nothing: {said}" if said else ""


def _parts(subject: Subject) -> Iterable[Text]:
    if items := tuple(findings(subject.step)):
        yield Text(name=f"{subject.anchor}-why", title="Why", items=items, look="why", entry="why")


SECTION = Section("step", _parts)
