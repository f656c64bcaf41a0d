"""The functions whose cost changed, and the commits to look at for each."""

from dataclasses import dataclass

from dbdyno.findings.profiles.facts import FunctionCost, ProfileComparison
from dbdyno.model.facts import Facts
from dbdyno.model.suspects import CommitBetween, CommitsBetween


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A function whose cost changed, and the commits to look at for it."""

    function: FunctionCost
    touched: tuple[CommitBetween, ...]  # that touched it: the one that touched the least first
    beside: tuple[CommitBetween, ...]  # that touched its file and not it, likewise


@dataclass(frozen=True, kw_only=True)
class Suspects:
    """The functions of a step whose cost changed, by how surely it did."""

    profile: ProfileComparison
    between: CommitsBetween
    sure: bool  # whether their cost surely changed; else it is not told from chance
    functions: tuple[Suspect, ...]


@dataclass(frozen=True, kw_only=True)
class SuspectFacts(Facts):
    """Of each profiled arm whose commits since the base are known."""

    suspects: tuple[Suspects, ...] = ()
