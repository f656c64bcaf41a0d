"""Shows findings: lines for a terminal, a document for programs (docs/doctor.md). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from textwrap import wrap

from dbdyno.doctor.finding import SEVERITIES, Finding, Severity
from dbdyno.model import Json

FORMAT = 1
"""Of the document: keys are added, none goes away or changes its meaning."""
WIDTH = 80
TITLES: dict[Severity, str] = {
    "much": "Disturbs much",
    "some": "Disturbs somewhat",
    "know": "To know",
}
COUNTED: dict[Severity, str] = {"much": "disturb much", "some": "somewhat", "know": "only to know"}


def lines(found: Sequence[Finding], facts: Json) -> Iterable[str]:
    """The findings by how much they disturb, and how many there are, in lines of WIDTH characters.

    Commands stand as they are, so that they can be copied: such a line may be longer.
    """
    yield from wrap(f"{_host(facts)}. Commands are for root; dyno changes nothing.", WIDTH)
    for severity in SEVERITIES:
        its = [finding for finding in found if finding.severity == severity]
        if its:
            yield f"\n{TITLES[severity]}"
        for finding in its:
            yield from _finding(finding)
    yield ""
    yield from wrap(count(found, facts), WIDTH)


def count(found: Sequence[Finding], facts: Json) -> str:
    """How many findings there are of each kind, and how many facts are not known."""
    each = (sum(one.severity == severity for one in found) for severity in SEVERITIES)
    words = [f"{n} {COUNTED[severity]}" for n, severity in zip(each, SEVERITIES, strict=True)]
    unread = facts.get("unread") or {}
    facts_of = "fact" if len(unread) == 1 else "facts"
    ending = f"; {len(unread)} {facts_of} cannot be read here (--json says why)" if unread else ""
    return f"Findings: {', '.join(words)}{ending}."


def _host(facts: Json) -> str:
    cpu, data = facts.get("cpu") or {}, facts.get("data") or {}
    words = [
        f"{cpu.get('cpus')} CPUs" if cpu.get("cpus") else None,
        f"kernel {facts.get('kernel')}",
        f"data under {data.get('path')}" if data.get("path") else None,
    ]
    return f"This host: {', '.join(word for word in words if word)}"


def _finding(finding: Finding) -> Iterable[str]:
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


def document(found: Sequence[Finding], facts: Json) -> Json:
    """The findings with their counts, and the facts that they were made of."""
    counts = {severity: sum(one.severity == severity for one in found) for severity in SEVERITIES}
    listed = [asdict(finding) | {"mend": list(finding.mend)} for finding in found]
    return {"format": FORMAT, "findings": listed, "count": counts, "host": facts}


def summary(found: Sequence[Finding]) -> str:
    """The disturbances in one line, without reasons and remedies; empty if there are none."""
    by_severity = {
        word: [finding.what for finding in found if finding.severity == severity]
        for severity, word in (("much", "much"), ("some", "somewhat"))
    }
    return ". ".join(f"{word}: {'; '.join(its)}" for word, its in by_severity.items() if its)
