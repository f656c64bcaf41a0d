"""Where to look first: the commits that touched the functions whose cost changed."""

from collections.abc import Iterable, Sequence

from dbdyno.findings.profiles.form import CostForm
from dbdyno.findings.suspects.facts import Suspect, SuspectFacts, Suspects
from dbdyno.model.bisection import short
from dbdyno.model.suspects import CommitBetween
from dbdyno.parts import number
from dbdyno.parts.part import Finding, Section, Subject, Text

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


def findings(suspects: Iterable[Suspects]) -> Iterable[Finding]:
    """A finding for each arm whose commits are known, with the functions whose cost changed."""
    for suspect in suspects:
        form = CostForm.of(suspect.profile)
        listed = [_listed(function, form) for function in suspect.functions]
        more = len(listed) - FUNCTIONS_MAX
        items = [Finding(text=number.unbroken(text)) for text in listed[:FUNCTIONS_MAX]]
        items += [Finding(text=f"{more} more functions")] if more > 0 else []
        yield Finding(text=_between(suspect), items=tuple(items))


def _between(suspects: Suspects) -> str:
    """`pg18: 18 commits between 3f2a91c0de (pg17) and 77ab01c2d3; 2 of 5 functions …`."""
    between, count = suspects.between, len(suspects.between.commits)
    text = (
        f"{between.arm}: {count:,} commit{'s' * (count != 1)} with code between"
        f" {short(between.base_commit)} ({between.base}) and {short(between.arm_commit)}"
    )
    text += f" ({between.missing})" if between.missing else ""
    if not suspects.sure:
        leading = "; those that lead, which may be chance, are listed" if suspects.functions else ""
        return f"{text}; no function's cost surely changed{leading}."
    touched = sum(bool(function.touched) for function in suspects.functions)
    return (
        f"{text}; of {len(suspects.functions)} functions whose cost surely changed {touched}"
        f" {'was' if touched == 1 else 'were'} touched."
    )


def _listed(suspect: Suspect, form: CostForm) -> str:
    """`ExecScan, +0.90 µs per query [0.52, 1.28]: touched by 3f2a91c0de (Recheck quals)`."""
    said = []
    if suspect.touched:
        said.append(f"touched by {_commits(suspect.touched)}")
    if suspect.beside:
        said.append(f"its file by {_commits(suspect.beside)}")
    cost = suspect.function
    ends = [form.figure(end) for end in (cost.low_us, cost.high_us) if end is not None]
    interval = f" [{', '.join(ends)}]" if ends else ""
    change = f"{form.more(cost.more_us)} {form.unit} per {form.per}{interval}"
    return f"`{cost.name}`, {change}: {'; '.join(said) or 'no commit touched its file'}"


def _commits(commits: Sequence[CommitBetween]) -> str:
    """Commits with their subjects; of one that only the base has it is said."""
    named = []
    for commit in commits:
        only = ", in the base alone" if commit.of == "base" else ""
        subject = number.few_signs(commit.subject, SUBJECT_MAX)
        named.append(f"{short(commit.commit)} ({subject}{only})")
    return number.few(named, COMMITS_MAX)


def _parts(subject: Subject) -> Iterable[Text]:
    suspects = subject.comparison.of(SuspectFacts).suspects
    if items := tuple(findings(each for each in suspects if each.profile.is_of(subject.step))):
        yield Text(
            name=f"{subject.anchor}-suspects",
            title="Where to look first",
            items=(*items, Finding(text=CAUTION)),
            entry="suspects",
        )


SECTION = Section("step", _parts)
