"""The commits to look at first: those that touched the functions whose cost changed.

Nothing is claimed. A function may cost more because of a commit that touched what it calls, its
data or its callers; compilers put functions into others of their file, whose commits are told too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.profiles.facts import FunctionCost, ProfileComparison, ProfileFacts
from dbdyno.findings.suspects.facts import Suspect, SuspectFacts, Suspects
from dbdyno.model.profile import NO_SYMBOL
from dbdyno.model.suspects import CommitBetween, CommitsBetween

KERNEL = "[kernel]"
LEADING_MAX = 5
"""So many functions are taken where no change is sure: the list says where to look, not more."""


def of_plan(compared: JudgedResult) -> SuspectFacts:
    """The suspects of each profiled arm whose commits are known."""
    known = compared.lost.usable(compared.results.commits) or ()
    return derived(compared.of(ProfileFacts).functions, known)


FINDING = PlanFinding(facts=SuspectFacts, of_plan=of_plan)


def derived(profiles: Iterable[ProfileComparison], known: Sequence[CommitsBetween]) -> SuspectFacts:
    """Of these profiles, by these commits."""
    return SuspectFacts(
        suspects=tuple(
            suspects(profile, between)
            for profile in profiles
            if (between := _of(known, profile.arm, profile.base)) is not None
        )
    )


def _of(known: Sequence[CommitsBetween], arm: str, base: str) -> CommitsBetween | None:
    """The commits between two arms, the last that were kept; seen from the other side if need be.

    An arm may have been built anew while the plan went on.
    """
    for between in reversed(known):
        if (between.arm, between.base) == (arm, base):
            return between
        if (between.arm, between.base) == (base, arm):
            return replace(
                between,
                arm=arm,
                base=base,
                arm_commit=between.base_commit,
                base_commit=between.arm_commit,
                commits=tuple(
                    replace(commit, of="base" if commit.of == "arm" else "arm")
                    for commit in between.commits
                ),
            )
    return None


def suspects(profile: ProfileComparison, between: CommitsBetween) -> Suspects:
    """The functions whose cost surely changed, with the commits for each.

    Where none did, the first ones by their q; of one block, which has none, the largest changes.
    """
    own = [
        function
        for function in profile.functions
        if function.binary != KERNEL and function.name != NO_SYMBOL
    ]
    changed = [function for function in own if function.changed]
    leading = sorted(own, key=lambda function: -abs(function.more_us))
    if any(function.q is not None for function in own):
        leading = [function for function in own if function.q is not None]
    smallest = sorted(
        between.commits, key=lambda commit: (sum(map(len, commit.touched.values())), -commit.unix_s)
    )
    return Suspects(
        profile=profile,
        between=between,
        sure=bool(changed),
        functions=tuple(
            _suspect(function, between, smallest) for function in changed or leading[:LEADING_MAX]
        ),
    )


def _suspect(
    function: FunctionCost, between: CommitsBetween, commits: Sequence[CommitBetween]
) -> Suspect:
    """A function with its commits; those that touch few functions say more and come first."""
    name = function.name
    touched = [
        commit for commit in commits if any(name in names for names in commit.touched.values())
    ]
    files = {file for file, names in between.defined.items() if name in names}
    files |= {file for commit in touched for file, names in commit.touched.items() if name in names}
    beside = [
        commit for commit in commits if commit not in touched and files & commit.touched.keys()
    ]
    return Suspect(function=function, touched=tuple(touched), beside=tuple(beside))
