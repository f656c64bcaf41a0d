"""Puts measured steps beside published ones: which arms belong together, and what follows.

Pure arithmetic on a comparison and on studies; tools/published.py writes the tables.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dbdyno.judge import pairing
from dbdyno.model import Bound, Cell, Comparison, Ratio, StepComparison
from dbdyno.model.error import ResultError
from published_data import MARGIN, Direction, Key, Said, Study, Table, major_of

Finding = Literal["down beyond 3 %", "down", "within ±3 %", "up", "up beyond 3 %", "open"]
"""What our interval says; `open`: nothing."""
Verdict = Literal["agrees", "disagrees", "open"]

VERDICTS: Mapping[Finding, Mapping[Direction, Verdict]] = {
    "up beyond 3 %": {"up": "agrees", "flat": "disagrees", "down": "disagrees"},
    # more than 1, but by how much is open: a small rise would be flat among the published
    "up": {"up": "agrees", "flat": "open", "down": "disagrees"},
    "within ±3 %": {"up": "disagrees", "flat": "agrees", "down": "disagrees"},
    "down": {"up": "disagrees", "flat": "open", "down": "agrees"},
    "down beyond 3 %": {"up": "disagrees", "flat": "disagrees", "down": "agrees"},
    "open": {"up": "open", "flat": "open", "down": "open"},
}


# --- The rule --------------------------------------------------------------------------------


def finding(ratio: Ratio | None, limit: Bound = "exact") -> Finding:
    """What our interval says. Without an interval, nothing; nor against a generator's limit."""
    found = _finding(ratio)
    holds: Mapping[Bound, tuple[str, ...]] = {
        "exact": get_args(Finding),
        "at least": ("up", "up beyond 3 %"),
        "at most": ("down", "down beyond 3 %"),
        "unknown": (),
    }
    return found if found in holds[limit] else "open"


def _finding(ratio: Ratio | None) -> Finding:
    if ratio is None or ratio.low is None or ratio.high is None:
        return "open"
    low, high = ratio.low, ratio.high
    if low >= 1 + MARGIN:
        return "up beyond 3 %"
    if high <= 1 - MARGIN:
        return "down beyond 3 %"
    if low >= 1 - MARGIN and high <= 1 + MARGIN:
        return "within ±3 %"
    return "up" if low > 1 else "down" if high < 1 else "open"


def verdict(found: Finding, said: Said) -> Verdict:
    """Against a published ratio that has one of several directions: one that agrees suffices."""
    each = [VERDICTS[found][direction] for direction in said.directions]
    order: tuple[Verdict, ...] = ("agrees", "open", "disagrees")
    return min(each, key=order.index)


def together(verdicts: Sequence[Verdict]) -> str:
    """One step against all studies, in words."""
    counts = Counter(verdicts)
    if len(counts) == 1:
        return verdicts[0]
    told = [f"{one} with {counts[one]}" for one in ("agrees", "disagrees") if counts[one]]
    return f"{', '.join(told)} of {len(verdicts)}" if told else "open"


# --- Arms ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two arms of a comparison, and the studies that have what both stand for."""

    comparison: Comparison  # its base is the pair's
    arm: str
    studies: tuple[tuple[Study, str, str], ...]  # study, its base, its arm


def version_of(comparison: Comparison, arm: str) -> str | None:
    """The version that an arm ran, as its server told it; None where nothing is known."""
    server = comparison.servers.get(arm)
    return server.version if server else None


def engine_of(comparison: Comparison, arm: str) -> str:
    """What the plan says."""
    planned = comparison.plan.arm(arm)
    assert planned is not None, "the arms are the plan's"
    return planned.engine


def by_version(comparison: Comparison, arm: str | None, studies: Iterable[Study]) -> Pair:
    """The base and another arm, and who published of their major versions. Raises ResultError."""
    others = comparison.arms[1:]
    if arm is None and len(others) != 1:
        raise ResultError(f"name one arm with --arm; beside the base there is {names(others)}")
    arm = arm or others[0]
    if arm not in others:
        raise ResultError(f"there is no arm `{arm}` beside the base; there is {names(others)}")
    steps = {step.step for step in comparison.steps}
    found = []
    for study in studies:
        base, version = (published_arm(comparison, one, study) for one in (comparison.base, arm))
        shared = any(key.step in steps for group in study.groups for key in group.figures)
        if base is not None and version is not None and base != version and shared:
            found.append((study, base, version))
    if not found:
        versions = [
            f"{engine_of(comparison, one)} {version_of(comparison, one)}"
            for one in (comparison.base, arm)
        ]
        raise ResultError(f"no study of docs/published has both {' and '.join(versions)}")
    return Pair(comparison=comparison, arm=arm, studies=tuple(found))


def published_arm(
    comparison: Comparison, arm: str, study: Study, given: Mapping[str, str] | None = None
) -> str | None:
    """What an arm stands for in a study: as given, as the study maps it, or by major version."""
    named = (given or {}).get(arm) or (study.here.get(arm) if given is not None else None)
    if named is not None:
        return named
    version = version_of(comparison, arm)
    if version is None or engine_of(comparison, arm) != "postgres":
        return None
    major = major_of(version)
    return study.newest(major) if major is not None else None


def wanted(
    comparison: Comparison, studies: Iterable[Study], given: Mapping[str, str]
) -> Mapping[tuple[str, str], tuple[tuple[Study, str, str], ...]]:
    """Our base and arm -> the studies that compare what they stand for, in published order."""
    found: dict[tuple[str, str], list[tuple[Study, str, str]]] = {}
    for study in studies:
        ours = {arm: published_arm(comparison, arm, study, given) for arm in comparison.arms}
        for base, arm in dict.fromkeys(pair for group in study.groups for pair in group.compared):
            for below in (one for one, its in ours.items() if its == base):
                for above in (one for one, its in ours.items() if its == arm):
                    found.setdefault((below, above), []).append((study, base, arm))
    return {pair: tuple(its) for pair, its in found.items()}


def names(arms: Sequence[str]) -> str:
    """Arms in a message."""
    return ", ".join(f"`{arm}`" for arm in arms) or "none"


# --- Steps -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Row:
    """One step: what each study says, what we say, and what follows."""

    key: Key
    published: tuple[Said | None, ...]  # by study
    cell: Cell | None  # ours; None: the run has no such step
    ratio: Ratio | None  # ours
    bound: Bound  # of it
    finding: Finding
    verdicts: tuple[Verdict | None, ...]  # by study; None: one of both has no figure

    @property
    def verdict(self) -> str:
        """Against all studies."""
        known = [one for one in self.verdicts if one is not None]
        return together(known) if known else "no figure"


def rows(of: Pair) -> Mapping[str, tuple[Row, ...]]:
    """All published steps by table, in the published order."""
    keys: dict[str, list[Key]] = {}
    for study, base, arm in of.studies:
        for group in study.groups:
            for key in group.figures:
                there = group.said(key, base, arm) is not None
                if there and key not in keys.setdefault(group.title, []):
                    keys[group.title].append(key)
    return {title: tuple(_row(of, title, key) for key in its) for title, its in keys.items() if its}


def _row(of: Pair, title: str, key: Key) -> Row:
    published = tuple(
        next((group.said(key, base, arm) for group in study.groups if group.title == title), None)
        for study, base, arm in of.studies
    )
    cell = ours(of.comparison, key, of.arm)
    return beside(key, published, cell, _measured(cell, key))


def beside(
    key: Key,
    published: tuple[Said | None, ...],
    cell: Cell | None,
    measured: tuple[Ratio | None, Bound],
) -> Row:
    """A row from both sides."""
    ratio, bound = measured
    found = finding(ratio, bound)
    verdicts = tuple(
        verdict(found, one) if one is not None and ratio is not None else None for one in published
    )
    return Row(
        key=key,
        published=published,
        cell=cell,
        ratio=ratio,
        bound=bound,
        finding=found,
        verdicts=verdicts,
    )


def _measured(cell: Cell | None, key: Key) -> tuple[Ratio | None, Bound]:
    """The ratio to the base, of the headline or of another metric."""
    if cell is None:
        return None, "unknown"
    if key.metric is None:
        return cell.ratio, cell.ratio_bound
    return cell.estimates.get(key.metric), "exact"


def step_of(comparison: Comparison, key: Key) -> StepComparison | None:
    """Our step. Raises ResultError where several workloads have such a one."""
    found = [
        step
        for step in comparison.steps
        if step.step == key.step and key.workload in (None, step.workload)
    ]
    if len(found) > 1:
        where = ", ".join(one.workload for one in found)
        raise ResultError(f"step `{key.step}` is in several workloads of this result: {where}")
    return found[0] if found else None


def ours(comparison: Comparison, key: Key, arm: str) -> Cell | None:
    """Our cell of an arm."""
    step = step_of(comparison, key)
    return next((cell for cell in step.cells if cell.arm == arm), None) if step else None


def by_step(comparison: Comparison, group: Table) -> Iterator[tuple[str, Row]]:
    """Our arm, and a step of it by another step of it, for each published step and each arm."""
    for key in (figure for figure in group.figures if figure.step != group.by):
        published = tuple(group.said_by_step(key, arm) for arm in group.arms)
        for arm in comparison.arms:
            cell = ours(comparison, key, arm)
            yield arm, beside(key, published, cell, _by_step(comparison, group, key, arm))


def _by_step(
    comparison: Comparison, group: Table, key: Key, arm: str
) -> tuple[Ratio | None, Bound]:
    below = key._replace(step=str(group.by))
    first, second = ours(comparison, below, arm), ours(comparison, key, arm)
    step = step_of(comparison, key)
    if first is None or second is None or step is None:
        return None, "unknown"
    metric = key.metric or step.headline
    if metric is None:
        return None, "unknown"
    exact = key.metric is not None or first.value_bound == second.value_bound == "exact"
    return pairing.ratio(first.runs, second.runs, metric), "exact" if exact else "unknown"
