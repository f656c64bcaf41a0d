"""A published result in a few words, as its folder keeps it: what lists and feeds are made from."""

from msgspec import Struct

from dbdyno.serve.judged import VerdictHeadline, WordCount


class PublishedResult(Struct, frozen=True, kw_only=True):
    """result.json of a published folder; the names are those of ListedResult."""

    format: int = 1
    key: str
    plan: str
    label: str
    arms: tuple[str, ...]
    versions: tuple[str, ...]
    configurations: tuple[str, ...]
    workloads: tuple[str, ...]
    steps: tuple[str, ...]  # those with a verdict's figures, in the plan's order
    host: str
    blocks: str
    changed_s: float
    headline: VerdictHeadline
    farm: str = ""  # the key of the farm that it was measured for
    raw_bytes: int = 0  # of the packed result; 0: there is none
    without_raw: str = ""  # why there is none; empty: nobody asked for it
    stamp: tuple[int, ...]  # of the result, and
    code: str  # of what made the page: with both the same, it is as it would be made now

    def told(self) -> str:
        """The words of its arms in a sentence without its end."""
        arms = (
            f"{arm}: {', '.join(map(counted, words)) or 'not judged'}"
            for arm, words in self.headline.arms
        )
        return self.headline.instead or "; ".join(arms)


def counted(word: WordCount) -> str:
    """`2 faster`, `1 slower within ±3 %`."""
    return f"{word.count} {shortened(word.word)}"


def shortened(word: str) -> str:
    """A verdict's word without a comma, so that it can stand in a list of words."""
    return word.replace(", ", " ")
