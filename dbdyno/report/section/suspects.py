"""Where to look first: the commits that touched the functions whose cost changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.model import StepComparison
from dbdyno.model.bisection import short
from dbdyno.model.profile import FunctionCost
from dbdyno.model.suspects import CommitBetween, Suspect, Suspects
from dbdyno.parts import number
from dbdyno.parts.part import Finding, Section, Subject, Text
from dbdyno.report.section.functions import Form

FUNCTIONS_MAX = 15
"""So many functions are listed, the surest; the others are counted."""
COMMITS_MAX = 4
"""So many commits of a function are named, those that touched the fewest functions."""
SUBJECT_MAX = 60
"""Characters of a commit's subject."""
CAUTION = (
    "A commit is listed since it touched the function, or another one of its file that a compiler "
    "may have put into it. dyno does not claim that it changed the cost."
)


def findings(step: StepComparison) -> Iterable[Finding]:
    """A finding for each arm whose commits are known, with the functions whose cost changed."""
    forms = {profile.arm: Form.of(step, profile) for profile in step.profiles}
    for suspect in step.suspects:
        listed = [_listed(function, forms[suspect.between.arm]) for function in suspect.functions]
        more = len(listed) - FUNCTIONS_MAX
        items = [Finding(text=number.unbroken(text)) for text in listed[:FUNCTIONS_MAX]]
        items += [Finding(text=f"{more} more functions")] if more > 0 else []
        yield Finding(text=_between(suspect), items=tuple(items))


def _between(found: Suspects) -> str:
    """`pg18: 18 commits between 3f2a91c0de (pg17) and 77ab01c2d3; 2 of 5 functions …`."""
    its, count = found.between, len(found.between.commits)
    text = (
        f"{its.arm}: {count:,} commit{'s' * (count != 1)} with code between"
        f" {short(its.base_commit)} ({its.base}) and {short(its.arm_commit)}"
    )
    text += f" ({its.missing})" if its.missing else ""
    if not found.sure:
        leading = "; those that lead, which may be chance, are listed" if found.functions else ""
        return f"{text}; no function's cost surely changed{leading}."
    touched = sum(bool(function.touched) for function in found.functions)
    return (
        f"{text}; of {len(found.functions)} functions whose cost surely changed {touched}"
        f" {'was' if touched == 1 else 'were'} touched."
    )


def _listed(suspect: Suspect, form: Form) -> str:
    """`ExecScan, +0.90 µs per query [0.52, 1.28]: touched by 3f2a91c0de (Recheck quals)`."""
    said = []
    if suspect.touched:
        said.append(f"touched by {_commits(suspect.touched)}")
    if suspect.beside:
        said.append(f"its file by {_commits(suspect.beside)}")
    return f"{_cost(suspect.function, form)}: {'; '.join(said) or 'no commit touched its file'}"


def _cost(function: FunctionCost, form: Form) -> str:
    change = function.change
    ends = [form.figure(end) for end in (change.low, change.high) if end is not None]
    interval = f" [{', '.join(ends)}]" if ends else ""
    size = f"{form.more(change.value)} {form.unit}"
    return f"`{function.name}`, {size} per {form.one}{interval}"


def _commits(commits: Sequence[CommitBetween]) -> str:
    return number.few([_commit(commit) for commit in commits], COMMITS_MAX)


def _commit(one: CommitBetween) -> str:
    """A commit with its subject; one that only the base has is said so."""
    subject = one.subject
    if len(subject) > SUBJECT_MAX:
        subject = f"{subject[: SUBJECT_MAX - 1]}…"
    only = ", in the base alone" if one.of == "base" else ""
    return f"{short(one.commit)} ({subject}{only})"


def _parts(subject: Subject) -> Iterable[Text]:
    items = tuple(findings(subject.step))
    if items:
        yield Text(
            name=f"{subject.anchor}-suspects",
            title="Where to look first",
            items=(*items, Finding(text=CAUTION)),
            entry="suspects",
        )


SECTION = Section("step", _parts)
