"""The pages say what the program does: help, metrics, and links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import command_reference

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("contract/*.md")]


def test_the_page_of_commands_is_their_own_help() -> None:
    assert command_reference.PAGE.read_text() == command_reference.page()


def test_every_command_and_each_of_its_options_has_help() -> None:
    for section in command_reference.page().split("\n## ")[1:]:
        heading, sentence, *rows = [line for line in section.splitlines() if line]
        assert sentence.endswith((".", "?")), heading
        for row in rows[2:]:
            assert row.count("|") == 3 and row.split("|")[2].strip(), f"{heading}: {row}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
