"""Writes docs/doubts.md from the list of subjects: `python tools/doubt_table.py`."""

from collections.abc import Iterator
from pathlib import Path

from dbdyno.model.doubt import GRADES, DoubtSubject, Grade

PATH = Path(__file__).parent.parent / "docs" / "doubts.md"
INTRODUCTION = """# Doubts

A *doubt* is a reason to doubt a figure: what it is about, its words with figures, and of what it
is true (an arm, a step, a block, or the whole result). dyno groups doubts by subject and arm and
counts their blocks, each once. Every view shows these groups: the first screen the three heaviest
subjects, a step all that is true of it, [`compare --json`](compare.md) and
[exports](export.md#doubts) all. `dyno report DIR` prints them in full.

The tables have every subject, the heaviest first. The program's own list makes them."""
WORDS: dict[Grade, tuple[str, str]] = {
    "void": ("Void", "These blocks are not judged."),
    "withheld": ("Withheld", "A figure or a word is missing."),
    "doubt": ("Doubt", "The figure counts, and may tell of something else than the arms."),
    "notice": ("Notice", "The arms did not share a condition, or the figure has a history."),
}


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield INTRODUCTION
    for grade in GRADES:
        title, meaning = WORDS[grade]
        yield f"\n## {title}\n\n{meaning}\n\n| subject | meaning |\n| --- | --- |"
        for subject in DoubtSubject:
            if subject.grade == grade:
                yield f"| {subject} | {subject.meaning} |"


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
