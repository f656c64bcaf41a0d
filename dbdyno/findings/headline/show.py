"""The head of a report: each arm against the base, confidence, failures."""

from collections.abc import Sequence

from dbdyno.findings.calibration import show as calibration
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Comparison
from dbdyno.model.metric.primary import called, is_cpu, is_second
from dbdyno.model.verdict import CHANGED, Judgement, OverallRatio, is_wide, shaded
from dbdyno.model.work import WorkComparison
from dbdyno.parts import cells, colors, dependence, known, looks, nodes, number, step_groups
from dbdyno.parts.part import Finding, Section, Text


def findings(comparison: Comparison) -> list[Finding]:
    """The sentences of the headline, each with a list of what it counts."""
    found = [*_sureness(comparison)]
    calibrated = list(calibration.findings(comparison))
    if not colors.trusted(comparison.calibration, comparison.aims):
        found += calibrated  # before what it casts doubt on
        calibrated = []
    if comparison.blocks > 0:
        found += [_against_base(comparison, arm) for arm in comparison.arms[1:]]
        about = looks.sentence(comparison) if _judged(comparison) else ""
        told = (about, dependence.sentence(comparison) if about else "")
        found += [Finding(text=text) for text in told if text]
    found += calibrated
    found += _missed_targets(comparison)
    found += _unfound(comparison)
    found += _failures(comparison)
    return found


def _judged(comparison: Comparison) -> bool:
    """Whether any step is judged, or nothing but times was asked for."""
    cells_of = (cell for step in comparison.steps for cell in step.cells)
    return not comparison.queries.answers or any(cell.verdict for cell in cells_of)


def _sureness(comparison: Comparison) -> list[Finding]:
    if comparison.blocks == 0:
        if comparison.of(WorkComparison).repeats and comparison.plan.counts_only:
            return [Finding(text="No time is measured; what is counted stands below.")]
        return [Finding(text="No block is complete: there is nothing to compare yet.")]
    if not _judged(comparison):
        return [Finding(text="No time is judged; what was asked of both stands above.")]
    if comparison.blocks == 1:
        return [
            Finding(
                text="One block decides nothing: differences below may be chance. "
                "More blocks show how much the numbers vary by themselves."
            )
        ]
    return []


# --- An arm against the base -----------------------------------------------------------------


def _against_base(comparison: Comparison, arm: str) -> Finding:
    """An arm against the base over all steps of each workload; the answer has the steps."""
    names = dict.fromkeys(step.workload for step in comparison.steps)
    calibrated = comparison.calibration
    again = (
        f" ({comparison.base} once more)"
        if calibrated is not None and calibrated.arm == arm
        else ""
    )
    whole = [words for name in names if (words := _overall(comparison, arm, name))]
    return Finding(
        text=f"{arm}{again} against {comparison.base}, "
        + number.blocks(comparison.blocks)
        + nodes.count(comparison)
        + (f": {'; '.join(whole)}." if whole else ".")
    )


def _overall(comparison: Comparison, arm: str, workload: str) -> str:
    """The geometric mean over the steps of a workload, by each primary metric."""
    its = [one for one in comparison.overall if one.arm == arm and one.workload == workload]
    if not its:
        return ""
    sure = colors.trusted(comparison.calibration, comparison.aims)
    several = len({step.workload for step in comparison.steps}) > 1
    words = "; ".join(
        _mean(one, comparison, sure)
        for one in sorted(its, key=lambda one: is_second(one.judgement.metric))
    )
    return f"{workload} {words}" if several else words


def _mean(one: OverallRatio, comparison: Comparison, sure: bool) -> str:
    """2.1 % faster by throughput over 10 steps [1.2, 3.0]; CPU per operation 3.0 % less [2, 4]."""
    judgement, margin = one.judgement, comparison.aims.margin
    second = is_second(judgement.metric)
    over = f" over {one.steps} steps" if one.steps != 1 else " in 1 step"
    what = "CPU per operation" if is_cpu(judgement.metric) else called(judgement.metric)
    what += "" if second else over
    still = verdicts.still(judgement, comparison.base)
    if still:
        word = verdicts.said(judgement, sure)
        ran = f", {verdicts.change(judgement)} where both ran" if judgement.blocks else ""
        return f"{what}: {word}, {still}{ran}"
    if judgement.word == "failed":
        return f"{what} {verdicts.change(judgement)} where nothing failed (no word)"
    if judgement.word not in CHANGED:
        same = f" (same within ±{number.percent(margin)})" if judgement.word == "same" else ""
        bound = known.excluded([judgement]) if judgement.word == "open" else ""
        unknown = f" (open{', ' if bound else ''}{bound})" if judgement.word == "open" else ""
        return f"{what} {verdicts.change(judgement)}{same}{unknown}"
    perhaps = "" if sure else "perhaps "
    size, ends = number.size_of_change(judgement.told[0]), _ends(judgement)
    if second:
        return f"{what} {perhaps}{size} {'more' if judgement.told[0] > 1 else 'less'}{ends}"
    word, comma, rest = shaded(judgement).partition(",")
    return f"{perhaps}{size} {word} by {what}{ends}{comma}{rest}"


def _ends(judgement: Judgement) -> str:
    """The interval of a change whose direction is said in words, the smaller end first."""
    ratio, low, high = judgement.told
    if low is None or high is None:
        return ""
    if low < 1 < high or is_wide(low, high):
        return f" [{number.change_interval(low, high)}]"
    sizes = [number.size_of_change(end).removesuffix(" %") for end in (low, high)]
    return f" [{', '.join(sizes if ratio > 1 else reversed(sizes))}]"


# --- What went wrong -------------------------------------------------------------------------


def _missed_targets(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm} held {number.number(cells.target(step))} rows/s in {result.sla_met or 0} of "
        f"{cells.judged(result)} blocks in {comparison.name_of(step)}{cells.MISSED}"
        for step in comparison.steps
        for result in step.cells
        if cells.missed_target(result)
    ]
    text = (
        f"{cells.MISSED} An arm missed the background insert rate; its throughput does not compare."
    )
    return _listed(text, items)


def _unfound(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm}: {number.number(result.metrics.get('found_share'), 1)} % of the statements "
        f"of {comparison.name_of(step)}"
        for step in comparison.steps
        if step_groups.measured(step)
        for result in step.cells
        if cells.unfound(result)
    ]
    text = f"{cells.UNFOUND} Few statements found a row; the throughput counts the others, too."
    return _listed(text, items)


def _failures(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm}, {comparison.name_of(step)}, {cells.failure(result)}"
        for step in comparison.steps
        for result in step.cells
        if any(run.ending.status == "failed" for run in result.runs)
    ]
    return _listed("Steps that failed:", items)


def _listed(text: str, items: Sequence[str]) -> list[Finding]:
    """A sentence with its list; nothing where the list is empty."""
    return [Finding(text=text, items=Finding.each(items))] if items else []


SECTION = Section(
    "page",
    lambda subject: [
        Text(
            name="headline",
            items=tuple(findings(subject.comparison)),
            depth="brief",
            form="sayings",
            look="headline",
            entry="Headline",
        )
    ],
)
