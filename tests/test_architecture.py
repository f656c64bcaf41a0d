"""ARCHITECTURE.md keeps up with the tree: its code map and its reasons for dependencies."""

import re
import tomllib
from pathlib import Path

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


def test_the_map_has_the_rooms_in_the_order_of_their_imports() -> None:
    table = PAGE.partition("### `dbdyno/`")[2].partition("\n### ")[0]
    rooms = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", table, re.MULTILINE)
    names = [room for room, _ in rooms]
    package = ROOT / "dbdyno"
    assert set(names) == {path.parent.name for path in package.glob("*/__init__.py")}
    assert {path.name for path in package.glob("*.py")} == {"__init__.py", "__main__.py"}
    assert len(names) == 20
    for place, (_, imports) in enumerate(rooms):
        assert set(re.findall(r"`(\w+)`", imports)) <= set(names[:place])


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    named = {re.split(r"[\[<>=~ ]", requirement)[0] for requirement in project["dependencies"]}
    named |= {*cargo["dependencies"], *cargo.get("dev-dependencies", {})}
    assert not sorted(named - in_code())
