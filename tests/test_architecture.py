"""ARCHITECTURE.md keeps up with the tree: its code map and its reasons for dependencies."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import tidy

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def in_code() -> set[str]:
    """Whatever the page names in backticks."""
    return set(re.findall(r"`([^`\n]+)`", PAGE))


def test_the_map_has_every_file_of_the_load_generator_and_none_that_is_gone() -> None:
    there = {path.name for path in (ROOT / "loadgen/src").glob("*.rs")} - {"lib.rs", "main.rs"}
    there |= {f"{path.name}/" for path in (ROOT / "loadgen/src").iterdir() if path.is_dir()}
    generator = PAGE.partition("### `loadgen/`")[2].partition("\n### ")[0]
    rows = [line.split("|")[1] for line in generator.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([^`\n]+)`", "".join(rows))) == there


def test_the_map_has_every_part_of_the_lab() -> None:
    parts = {tidy.part_of(module) for module in tidy.read(ROOT).modules} - {"", "__main__"}
    assert not [part for part in sorted(parts) if not {part, f"{part}/"} & in_code()]


def test_every_part_in_the_layers_is_there() -> None:
    parts = {tidy.part_of(module) for module in tidy.read(ROOT).modules}
    assert tidy.LAYERS.keys() == parts


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    named = {re.split(r"[\[<>=~ ]", requirement)[0] for requirement in project["dependencies"]}
    named |= {*cargo["dependencies"], *cargo.get("dev-dependencies", {})}
    assert not sorted(named - in_code())
