"""The pages say what the program does: help, metrics, and links."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import command_reference

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("contract/*.md")]


def test_the_page_of_commands_is_their_own_help() -> None:
    assert command_reference.PAGE.read_text() == command_reference.page()


def test_every_command_and_each_of_its_options_has_help() -> None:
    for section in command_reference.page().split("\n## ")[1:]:
        heading, sentence, *tables = section.strip().split("\n\n")
        rows = [row for table in tables for row in table.splitlines()]
        assert sentence.endswith((".", "?")), heading
        for row in rows[2:]:
            assert row.count("|") == 3 and row.split("|")[2].strip(), f"{heading}: {row}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target, anchor in links(page):
        assert target.is_file(), f"{target}: no such file"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{target.name}#{anchor}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_table_has_a_row_twice(page: Path) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE):
        rows = [row for row in table.splitlines() if row.strip("|-: ")]
        assert sorted(rows) == sorted(set(rows))


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the anchor of each link that stays in the project."""
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if ":" not in path:
            yield (page.parent / path if path else page), anchor


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as repositories and the site (mkdocs.yml) make them."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return frozenset(
        re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in titles
    )


def test_an_anchor_is_made_of_its_heading(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# `[arms.NAME]`\n\n```sh\n# none\n```\n## Of a step, two\n")
    assert anchors(tmp_path / "page.md") == {"armsname", "of-a-step-two"}


def test_the_readme_is_short_and_says_how_to_test() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 150
    assert "$ make test" in text  # CI runs the README's command
