"""Judges results on request, and keeps comparisons in memory until their files change.

Nothing is written: what `dyno` keeps beside a result is read here, and never made.
"""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from dbdyno.analysis import compare
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Comparison
from dbdyno.model.error import DynoError
from dbdyno.parts import colors
from dbdyno.parts.colors import Tone
from dbdyno.serve.folders import ListedResult
from dbdyno.store import Results
from dbdyno.store.glance import Stamp

COMPARISONS_MAX = 4
"""Whole comparisons that stay in memory: of large results each takes hundreds of megabytes."""


@dataclass(frozen=True, kw_only=True)
class WordCount:
    """A verdict's word, and in how many steps an arm has it."""

    word: str
    count: int
    tone: Tone


@dataclass(frozen=True, kw_only=True)
class VerdictHeadline:
    """The verdicts of each arm in a list of results, or the reason why there are none."""

    arms: tuple[tuple[str, tuple[WordCount, ...]], ...] = ()
    instead: str = ""


class JudgedResults:
    """Comparisons and headlines by result; one is made at a time, whoever asks."""

    def __init__(self) -> None:
        self._making = Lock()
        self._comparisons: OrderedDict[tuple[str, Stamp], Comparison] = OrderedDict()
        self._headlines: dict[str, tuple[Stamp, VerdictHeadline]] = {}

    def comparison(self, result: ListedResult) -> Comparison:
        """The comparison that a result's report shows. Raises ResultError where it is damaged."""
        return self._made(result, result.stamp)

    def so_far(self, result: ListedResult) -> Comparison:
        """The same of a plan that runs: judged anew when a further block is complete, or a look."""
        plan, _, looks, *_ = result.stamp
        return self._made(result, (plan, looks, result.complete))

    def _made(self, result: ListedResult, stamp: Stamp) -> Comparison:
        key = (result.key, stamp)
        with self._making:
            if key not in self._comparisons:
                self._comparisons[key] = compare.load(Results.open(result.path))
                while len(self._comparisons) > COMPARISONS_MAX:
                    self._comparisons.popitem(last=False)
            self._comparisons.move_to_end(key)
            return self._comparisons[key]

    def known(self, result: ListedResult) -> VerdictHeadline | None:
        """A headline that was made before and still holds."""
        stamp, words = self._headlines.get(result.key, ((), None))
        return words if stamp == result.stamp else None

    def headline(self, result: ListedResult) -> VerdictHeadline:
        """The result in a few words."""
        words = self.known(result)
        if words is None:
            try:
                words = headline(self.comparison(result))
            except DynoError as error:
                words = VerdictHeadline(instead=str(error))
            self._headlines[result.key] = (result.stamp, words)
        return words


def headline(comparison: Comparison) -> VerdictHeadline:
    """Each arm's verdicts, the words in the order in which reports tell them."""
    if not comparison.blocks:
        return VerdictHeadline(instead="no block is complete")
    if len(comparison.arms) == 1:
        return VerdictHeadline(instead="one arm, nothing to compare")
    if comparison.blocks == 1:
        return VerdictHeadline(instead="one block decides nothing")
    arms = tuple((arm, _told(comparison, arm)) for arm in comparison.arms[1:])
    return VerdictHeadline(arms=arms)


def _told(comparison: Comparison, arm: str) -> tuple[WordCount, ...]:
    sure = colors.trusted(comparison.calibration, comparison.aims)
    judged = (
        cell.verdict
        for step in comparison.steps
        for cell in step.cells
        if cell.arm == arm and cell.verdict is not None
    )
    return tuple(
        WordCount(word=word, count=len(alike), tone=colors.tone(alike[0], sure))
        for word, alike in verdicts.by_word(judged, sure).items()
    )
