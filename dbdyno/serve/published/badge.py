"""The badge: the words of the newest comparison as a small picture, complete in itself. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.serve.frame import Frame
from dbdyno.serve.published.feed import xml_text
from dbdyno.serve.record import PublishedResult, shortened

COLORS: dict[Tone, str] = {"failed": "#a3231f", "slower": "#a3231f", "faster": "#1d6f42"}
"""The first that a word has; white stands on each with a contrast of 6 and more."""
PLAIN = "#4d5a66"
LENGTH_MAX = 48
"""Characters of either side."""
SIGN_PX, EDGE_PX = 6.2, 7


@dataclass(frozen=True, kw_only=True)
class Badge:
    """What a badge says."""

    left: str
    right: str
    color: str

    @property
    def words(self) -> str:
        """Both sides, for who sees no picture."""
        return f"{self.left}: {self.right}"


def of(results: Sequence[PublishedResult]) -> Badge:
    """The badge of the newest comparison, the first that has words; `results`: newest first."""
    judged = next((result for result in results if result.headline.arms), None)
    if judged is None:
        return Badge(left="dyno", right="no comparison yet", color=PLAIN)
    arms = [arm for arm, _ in judged.headline.arms]
    counts: Counter[str] = Counter()
    for _, words in judged.headline.arms:
        for word in words:
            counts[shortened(word.word)] += word.count
    tones = {word.tone for _, words in judged.headline.arms for word in words}
    left = arms[0] if len(arms) == 1 else f"{len(arms)} arms"
    right = ", ".join(f"{count} {word}" for word, count in counts.items()) or "not judged"
    return Badge(
        left=cut(f"{left} against {judged.arms[0]}"),
        right=cut(right),
        color=next((color for tone, color in COLORS.items() if tone in tones), PLAIN),
    )


def cut(text: str) -> str:
    """A text that fits, of signs that XML may have."""
    return number.few_signs(xml_text(text), LENGTH_MAX)


def svg(frame: Frame, badge: Badge) -> str:
    """The badge as SVG; texts are fitted into their boxes, whatever font there is."""
    left, right = (round(len(text) * SIGN_PX) for text in (badge.left, badge.right))
    return frame.filled("badge.svg.j2", badge=badge, left=left, right=right, edge=EDGE_PX)
