"""Shows findings: lines for a terminal, a document for programs (docs/doctor.md). Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from textwrap import wrap

import msgspec

from dbdyno.doctor.finding import SEVERITIES, HostFinding, Severity
from dbdyno.model import Json
from dbdyno.model.host_facts import HostFacts

FORMAT = 1
"""Of the document: keys are added, none goes away or changes its meaning."""
WIDTH = 80
TITLES: dict[Severity, str] = {
    "much": "Disturbs much",
    "some": "Disturbs somewhat",
    "know": "To know",
}
COUNTED: dict[Severity, str] = {"much": "disturb much", "some": "somewhat", "know": "only to know"}


def lines(findings: Sequence[HostFinding], facts: HostFacts) -> Iterable[str]:
    """The findings by how much they disturb, and how many there are, in lines of WIDTH characters.

    Commands stand as they are, so that they can be copied: such a line may be longer.
    """
    yield from wrap(f"{_host(facts)}. Commands are for root; dyno changes nothing.", WIDTH)
    for severity in SEVERITIES:
        disturbing = [finding for finding in findings if finding.severity == severity]
        if disturbing:
            yield f"\n{TITLES[severity]}"
        for finding in disturbing:
            yield from _finding(finding)
    yield ""
    yield from wrap(count(findings, facts), WIDTH)


def count(findings: Sequence[HostFinding], facts: HostFacts) -> str:
    """How many findings there are of each kind, and how many facts are not known."""
    words = [f"{number} {COUNTED[severity]}" for severity, number in _counts(findings).items()]
    unread = len(facts.unread)
    facts_of = "fact" if unread == 1 else "facts"
    ending = f"; {unread} {facts_of} cannot be read here (--json says why)" if unread else ""
    return f"Findings: {', '.join(words)}{ending}."


def _counts(findings: Sequence[HostFinding]) -> dict[Severity, int]:
    return {
        severity: sum(finding.severity == severity for finding in findings)
        for severity in SEVERITIES
    }


def _host(facts: HostFacts) -> str:
    words = [
        f"{facts.cpu.cpus} CPUs" if facts.cpu.cpus else None,
        f"kernel {facts.kernel}",
        f"data under {facts.data.path}" if facts.data.path else None,
    ]
    return f"This host: {', '.join(word for word in words if word)}"


def _finding(finding: HostFinding) -> Iterable[str]:
    yield from wrap(
        f"{finding.name}: {finding.what}",
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    yield from _indented(finding.why)
    if finding.barred is not None:
        yield from _indented(f"Cannot be fixed here: {finding.barred}.")
    yield from (f"    $ {command}" for command in finding.mend)


def _indented(text: str) -> list[str]:
    indent = " " * 4
    return wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def document(findings: Sequence[HostFinding], facts: HostFacts) -> Json:
    """The findings with their counts, and the facts that they were made of."""
    return {
        "format": FORMAT,
        "findings": [asdict(finding) | {"mend": list(finding.mend)} for finding in findings],
        "count": _counts(findings),
        "host": msgspec.to_builtins(facts),
    }


def summary(findings: Sequence[HostFinding]) -> str:
    """The disturbances in one line, without reasons and remedies; empty if there are none."""
    by_severity = {
        word: [finding.what for finding in findings if finding.severity == severity]
        for severity, word in (("much", "much"), ("some", "somewhat"))
    }
    return ". ".join(f"{word}: {'; '.join(facts)}" for word, facts in by_severity.items() if facts)
