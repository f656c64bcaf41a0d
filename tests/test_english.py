"""The rules of English (STYLE.md) that a machine can hold, on the pages that keep them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = (
    *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")),
    *("README.md", "ARCHITECTURE.md", "SECURITY.md", "STYLE.md", "contract/README.md"),
)
RECORDS = ("docs/published.md", "docs/studies/m5-metal.md")
"""Pages with lines that a tool copies from results; these stay as they are."""
COLUMNS_MAX = 100
BARE = re.compile(
    r"(It|They)\b|(This|That|These|Those) (is|are|was|were|has|have|does|do|can|may|will)\b"
)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in RECORDS])
def test_prose_is_at_most_100_columns_wide(page: str) -> None:
    wide = [line for line in prose(text_of(page)) if too_wide(line)]
    assert wide == []


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_begins_with_a_bare_pronoun(page: str) -> None:
    assert [one for one in sentences(text_of(page)) if BARE.match(one)] == []


def test_both_rules_find_what_breaks_them() -> None:
    code = "```\nThat is code. It stays.\n```"
    text = f"- A plan\n  runs. It ends.\n\n{code}\n\nThis is bad; this is not.\n"
    assert [one for one in sentences(text) if BARE.match(one)] == [
        "It ends.",
        "This is bad; this is not.",
    ]
    assert too_wide("word " * 21) and not too_wide("| word " * 21)


def text_of(page: str) -> str:
    """A page, by its path in the repository."""
    return (ROOT / page).read_text(encoding="utf-8")


def prose(text: str) -> Iterator[str]:
    """The lines outside of blocks of code."""
    for part in text.split("```")[::2]:
        yield from part.splitlines()


def too_wide(line: str) -> bool:
    """Whether a line has too many columns and is no table, picture, or mostly one piece of code."""
    longest = max(map(len, re.findall(r"`[^`]*`|\S+", line)), default=0)
    return len(line) > COLUMNS_MAX and longest < COLUMNS_MAX // 2 and line[0] not in "|!"


def sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and of items of lists, without the signs of Markdown."""
    whole = "\n".join("" if line.startswith(("|", "#")) else line for line in prose(text))
    for paragraph in re.split(r"\n\s*\n|\n\s*- |^- ", whole, flags=re.MULTILINE):
        plain = re.sub(r"[*_]", "", " ".join(paragraph.split())).removeprefix("- ")
        yield from re.split(r"(?<=[.!?]) ", plain)
