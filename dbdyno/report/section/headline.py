"""The head of a report: each arm against the base, confidence, failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.model import Cell, Comparison, StepComparison
from dbdyno.model.metric.primary import called, is_cpu
from dbdyno.model.verdict import CHANGED, Judgement, Overall, Verdict, Word
from dbdyno.report import cells, dependence, known, looks, nodes, number
from dbdyno.report.parts import Finding, Section, Subject, Text
from dbdyno.report.section import calibration, groups, verdicts
from dbdyno.report.section.summary import target

EXPLAINED_MAX = 3
"""So many steps of an arm have their explanation in the headline; all have it in their sections."""
NAMES_MAX = 6
"""So many steps that lean one way are named; the table of verdicts has them all."""


def findings(comparison: Comparison) -> list[Finding]:
    """The sentences of the headline, each with a list of what it counts."""
    found = [*_sureness(comparison)]
    calibrated = list(calibration.findings(comparison))
    if not verdicts.trusted(comparison.calibration, comparison.aims):
        found += calibrated  # before what it casts doubt on
        calibrated = []
    if comparison.blocks > 0:
        found += [_against_base(comparison, arm) for arm in comparison.arms[1:]]
        about = looks.sentence(comparison)
        told = (about, dependence.sentence(comparison) if about else "")
        found += [Finding(text=text) for text in told if text]
    found += calibrated
    found += _missed_targets(comparison)
    found += _unfound(comparison)
    found += _failures(comparison)
    return found


def step_name(comparison: Comparison, step: StepComparison) -> str:
    """A step's name, with its workload's where there are several."""
    several = len({one.workload for one in comparison.steps}) > 1
    return f"{step.workload} {step.step}" if several else step.step


def _sureness(comparison: Comparison) -> list[Finding]:
    if comparison.blocks == 0:
        return [Finding(text="No block is complete: there is nothing to compare yet.")]
    if comparison.blocks == 1:
        return [
            Finding(
                text="One block decides nothing: differences below may be chance. "
                "More blocks show how much the numbers vary by themselves."
            )
        ]
    return []


# --- An arm against the base -----------------------------------------------------------------


@dataclass(frozen=True)
class _Told:
    """The verdict on an arm in a step."""

    name: str  # with its mark
    cell: Cell

    @property
    def word(self) -> Word | None:
        """Its verdict; None where none was taken."""
        return self.cell.verdict.word if self.cell.verdict is not None else None

    @property
    def size(self) -> float:
        """How large the change is by which it is said, as a ratio above 1."""
        ratios = [one.told[0] for one in _deciding(self.cell.verdict)]
        if not ratios and self.cell.ratio is not None:
            ratios = [self.cell.ratio.value]
        return max((max(ratio, 1 / ratio) for ratio in ratios if ratio > 0), default=1.0)

    @property
    def throughput(self) -> float:
        """The change of throughput as a ratio; 1 where there is none."""
        return self.cell.ratio.value if self.cell.ratio is not None else 1.0

    @property
    def words(self) -> str:
        """The step, and its changes by the metrics that say what is said of it."""
        changes = [
            f"{called(one.metric)} {verdicts.change(one, self.cell.ratio_bound)}"
            for one in _deciding(self.cell.verdict)
        ]
        if not changes and self.cell.verdict is None and self.cell.ratio is not None:
            of = self.cell.ratio
            changes = [f"throughput {number.changes(of.value, of.low, of.high)}"]
        return f"{self.name} {' and '.join(changes)}".rstrip() + self.beside

    @property
    def beside(self) -> str:
        """Who stood still in how many blocks, and that nodes disagree, in brackets; or nothing."""
        stood = self.cell.verdict.stood_still if self.cell.verdict is not None else ""
        words = "; ".join(filter(None, (stood, nodes.caution(self.cell))))
        return f" ({words})" if words else ""


def _deciding(verdict: Verdict | None) -> Sequence[Judgement]:
    """The judgements by which a verdict is said; all where no metric decides."""
    if verdict is None:
        return ()
    return [
        judgement for judgement in verdict.judgements if judgement.metric in verdict.by
    ] or verdict.judgements


def _against_base(comparison: Comparison, arm: str) -> Finding:
    """An arm against the base: overall, then each verdict with its steps."""
    items: list[Finding] = []
    every: list[_Told] = []
    names = list(dict.fromkeys(step.workload for step in comparison.steps))
    for workload in names:
        own = [step for step in comparison.steps if step.workload == workload]
        for title, steps in verdicts.grouped(own).items():
            told = _told(comparison, steps, arm)
            every += told
            items += _group(comparison, title, told) if title else _by_word(comparison, told)
    items += _cannot_tell(comparison, every)
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
        + (f": {'; '.join(whole)}." if whole else "."),
        items=tuple(_explained(items, every)),
    )


def _told(comparison: Comparison, steps: Iterable[StepComparison], arm: str) -> list[_Told]:
    """The verdicts on an arm in these steps; none for steps without a headline."""
    return [
        _Told(f"{step_name(comparison, step)}{verdicts.mark(step, cell)}", cell)
        for step in steps
        for cell in step.cells
        if cell.arm == arm and (cell.verdict is not None or cell.ratio is not None)
        if step.headline is not None
    ]


def _by_word(comparison: Comparison, told: Sequence[_Told]) -> Iterable[Finding]:
    """Each verdict with its steps, the largest change first."""
    sure = verdicts.trusted(comparison.calibration, comparison.aims)
    for word in (*verdicts.ORDER, None):
        its = [one for one in told if one.word == word]
        if not its or word == "cannot tell":
            continue
        if word in CHANGED:
            its.sort(key=lambda one: one.size, reverse=True)
        names = word in ("same", "target missed", "failed", "not compared")
        yield Finding(
            label=_label(comparison, word),
            tone="" if word is None else verdicts.tone(word, sure),
            text="; ".join(one.name + one.beside if names else one.words for one in its),
        )


def _label(comparison: Comparison, word: Word | None) -> str:
    """A verdict as it stands before its steps."""
    if word is None:
        return verdicts.NOT_JUDGED.capitalize()
    sure = verdicts.trusted(comparison.calibration, comparison.aims)
    within = f" within ±{verdicts.percent(comparison.aims.margin)}" if word == "same" else ""
    return f"{verdicts.said(word, sure).capitalize()}{within}"


def _group(comparison: Comparison, title: str, told: Sequence[_Told]) -> Iterable[Finding]:
    """A group in a line: how many steps of each verdict; below it those that stand out."""
    if not told:
        return
    sure = verdicts.trusted(comparison.calibration, comparison.aims)
    counts = []
    for word in (*verdicts.ORDER, None):
        its = [one for one in told if one.word == word]
        if its and word in (None, "one block"):
            counts.append(_reach(its, verdicts.NOT_JUDGED if word is None else ""))
        elif its and word is not None:
            counts.append(f"{len(its)} {verdicts.said(word, sure)}")
    named = [one for one in told if one.word not in _COUNTED]
    yield Finding(
        label=title.capitalize(),
        text="; ".join(counts),
        items=tuple(_by_word(comparison, named)),
    )


_COUNTED = frozenset({"same", "cannot tell", "one block", None})
"""Of these a group's steps are counted and not named."""


def _reach(told: Sequence[_Told], what: str) -> str:
    """So many steps, from the least change of throughput to the largest, which are named."""
    before = f"{what}: " if what else ""
    if len(told) == 1:
        return f"{before}{told[0].words}"
    low, high = (of(told, key=lambda one: one.throughput) for of in (min, max))
    ends = (f"{number.change(one.throughput)} ({one.name})" for one in (low, high))
    return f"{before}{len(told)} steps, throughput from {' to '.join(ends)}"


def _cannot_tell(comparison: Comparison, told: Sequence[_Told]) -> Iterable[Finding]:
    """The steps that are not told apart: what is known of them, and what more would take."""
    open_ones = [one for one in told if one.word == "cannot tell"]
    its = [one for one in open_ones if not _withheld(one)]
    for one in filter(_withheld, open_ones):
        assert one.cell.verdict is not None
        yield Finding(label="No word", text=f"{one.words}: {one.cell.verdict.outcome}")
    by_way: dict[str, list[_Told]] = {}
    for one in its:
        verdict = one.cell.verdict
        way = known.NOWHERE if verdict is None else known.of_step(verdict)
        by_way.setdefault(way, []).append(one)
    for way in sorted(by_way, key=_WAYS.index):
        some = sorted(by_way[way], key=lambda one: -one.size)
        more = len(some) - NAMES_MAX
        yield Finding(
            label=f"{way.capitalize()}, cannot tell",
            text=f"{len(some)} steps, of which" if more > 0 else "",
            items=tuple(
                Finding(label=one.name, text=f"{_known(one)}{one.beside}")
                for one in some[:NAMES_MAX]
            ),
        )
    if its:
        yield Finding(label="To settle", text=_price(comparison, its))


_WAYS = ("leans slower", "leans faster", "leans both ways", known.NOWHERE)
"""Which way steps lean, in the order in which they are told."""


def _known(one: _Told) -> str:
    """The change of the first metric that leans; of none, that of the first that cannot tell."""
    its = [each for each in _deciding(one.cell.verdict) if each.word == "cannot tell"]
    leaning = [each for each in its if known.lean(each) is not None]
    ways = {known.lean(each) for each in leaning}
    shown = leaning if len(ways) > 1 else (leaning or its)[:1]
    return " and ".join(f"{called(each.metric)} {_unsettled(each, one.cell)}" for each in shown)


def _unsettled(judgement: Judgement, cell: Cell) -> str:
    """A change that is not decided, with what is still possible."""
    if not judgement.blocks or (cell.ratio_bound != "exact" and not is_cpu(judgement.metric)):
        return verdicts.change(judgement, cell.ratio_bound)
    return known.change(judgement)


def _price(comparison: Comparison, told: Sequence[_Told]) -> str:
    """The price to decide the open steps: 5 more blocks, about 40 min."""
    prices = [verdicts.price(one.cell.verdict, comparison) for one in told if one.cell.verdict]
    settled = [price for price in prices if price.blocks is not None]
    if not settled:
        return looks.beyond(comparison)
    never = len(prices) - len(settled)
    rest = f"; {never} of {len(prices)}: {looks.beyond(comparison)}" if never else ""
    return f"{verdicts.dearest(settled).sentence}{rest}"


def _withheld(told: _Told) -> bool:
    return told.cell.verdict is not None and told.cell.verdict.withheld


# --- Overall, and why ------------------------------------------------------------------------


def _overall(comparison: Comparison, arm: str, workload: str) -> str:
    """The geometric mean over the steps of a workload, by each primary metric."""
    its = [one for one in comparison.overall if one.arm == arm and one.workload == workload]
    if not its:
        return ""
    sure = verdicts.trusted(comparison.calibration, comparison.aims)
    several = len({step.workload for step in comparison.steps}) > 1
    words = "; ".join(
        _mean(one, comparison, sure)
        for one in sorted(its, key=lambda one: is_cpu(one.judgement.metric))
    )
    return f"{workload} {words}" if several else words


def _mean(one: Overall, comparison: Comparison, sure: bool) -> str:
    """2.1 % faster by throughput over 10 steps [1.2, 3.0]; CPU per operation 3.0 % less [2, 4]."""
    judgement, margin = one.judgement, comparison.aims.margin
    cpu = is_cpu(judgement.metric)
    over = f" over {one.steps} steps" if one.steps != 1 else " in 1 step"
    what = "CPU per operation" if cpu else f"{called(judgement.metric)}{over}"
    still = verdicts.still(judgement, comparison.base)
    if still:
        word = verdicts.said(judgement.word, sure)
        ran = f", {verdicts.change(judgement)} where both ran" if judgement.blocks else ""
        return f"{what}: {word}, {still}{ran}"
    if judgement.word == "failed":
        return f"{what} {verdicts.change(judgement)} where nothing failed (no word)"
    if judgement.word not in CHANGED:
        same = f" (same within ±{verdicts.percent(margin)})" if judgement.word == "same" else ""
        way = known.direction([judgement])
        unknown = f", {way} (cannot tell)" if judgement.word == "cannot tell" else ""
        return f"{what} {verdicts.change(judgement)}{same}{unknown}"
    perhaps = "" if sure else "perhaps "
    size, ends = number.size_of_change(judgement.told[0]), _ends(judgement)
    if cpu:
        return f"{what} {perhaps}{size} {'more' if judgement.told[0] > 1 else 'less'}{ends}"
    word, comma, rest = judgement.word.partition(",")
    return f"{perhaps}{size} {word} by {what}{ends}{comma}{rest}"


def _ends(judgement: Judgement) -> str:
    """The interval of a change whose direction is said in words, the smaller end first."""
    ratio, low, high = judgement.told
    if low is None or high is None:
        return ""
    if low < 1 < high:
        return f" [{number.change_interval(low, high)}]"
    sizes = [number.size_of_change(end).removesuffix(" %") for end in (low, high)]
    return f" [{', '.join(sizes if ratio > 1 else reversed(sizes))}]"


def _explained(items: Sequence[Finding], told: Sequence[_Told]) -> Iterable[Finding]:
    """The items with the reasons of the largest changes after them, the slower ones first."""
    yield from items
    reasons = [one for one in told if one.cell.explanation is not None]
    reasons.sort(
        key=lambda one: (
            (verdicts.ORDER.index(one.word) if one.word is not None else len(verdicts.ORDER)),
            -one.size,
        )
    )
    if reasons:
        rest = len(reasons) - EXPLAINED_MAX
        more = f"and {rest} more, in the steps' sections" if rest > 0 else ""
        yield Finding(
            label="Why",
            text=more,
            items=tuple(
                Finding(text=reason.cell.explanation.text, label=reason.name)
                for reason in reasons[:EXPLAINED_MAX]
                if reason.cell.explanation is not None
            ),
        )


# --- What went wrong -------------------------------------------------------------------------


def _missed_targets(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm} held {number.number(target(step))} rows/s in {result.sla_met or 0} of "
        f"{cells.judged(result)} blocks in {step_name(comparison, step)}{cells.MISSED}"
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
        f"of {step_name(comparison, step)}"
        for step in comparison.steps
        if groups.measured(step)
        for result in step.cells
        if groups.unfound(result)
    ]
    text = f"{groups.UNFOUND} Few statements found a row; the throughput counts the others, too."
    return _listed(text, items)


def _failures(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm}, {step_name(comparison, step)}, {cells.failure(result)}"
        for step in comparison.steps
        for result in step.cells
        if any(run.ending.status == "failed" for run in result.runs)
    ]
    return _listed("Steps that failed:", items)


def _listed(text: str, items: Sequence[str]) -> list[Finding]:
    """A sentence with its list; nothing where the list is empty."""
    return [Finding(text=text, items=tuple(Finding(text=item) for item in items))] if items else []


def _parts(subject: Subject) -> Iterable[Text]:
    yield Text(
        name="headline",
        title="",
        items=tuple(findings(subject.comparison)),
        depth="brief",
        form="sayings",
        look="headline",
        entry="Headline",
    )


SECTION = Section("page", _parts)
