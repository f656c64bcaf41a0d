"""What dyno prints commands no terminal."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Literal

import pytest
from rich.table import Table

from command import dyno
from dbdyno.host.terminal import VisibleConsole, VisibleStream, visible

EXAMPLE = Path(__file__).parent / "example_results" / "example"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202etxt.exe\u2066\r\x7f"
COMMANDS = set("\x1b\x07\x9b\u202e\u2066\r\x7f")


def test_characters_that_command_are_shown() -> None:
    assert visible("a\tb\n") == "a\tb\n"
    assert not COMMANDS & set(visible(HOSTILE))
    assert visible("\x1b[2J") == "␛[2J"
    assert visible("ä €漢 ✓") == "ä €漢 ✓"


@pytest.mark.parametrize("colours", ["standard", None])
def test_a_console_keeps_its_own_colours_alone(colours: Literal["standard"] | None) -> None:
    out = io.StringIO()
    console = VisibleConsole(file=out, force_terminal=True, color_system=colours, width=60)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(f"[bold]{HOSTILE}[/bold]")
    console.print(table, HOSTILE, style="red")
    assert ("\x1b[" in out.getvalue()) is (colours is not None)
    assert "\x1b]" not in out.getvalue() and "\x1b[2J" not in out.getvalue()
    assert not (COMMANDS - {"\x1b"}) & set(out.getvalue())


def test_a_stream_shows_what_is_written_and_lets_consoles_by() -> None:
    out = io.StringIO()
    stream = VisibleStream(out)
    assert stream.write("\x1b[2J") == 4
    VisibleConsole(file=stream, force_terminal=True, color_system="standard").print(
        "x", style="red"
    )  # type: ignore[arg-type]
    assert out.getvalue().startswith("␛[2J\x1b[31mx")


def test_a_result_that_was_sent_commands_no_terminal(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "sent"))
    path = folder / "plan.json"
    name = path.read_text().split('"base": "')[1].split('"')[0]
    hostile = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")
    for file in [path, *folder.rglob("order.json")]:
        file.chmod(0o644)
        file.write_text(file.read_text().replace(f'"{name}"', f'"{name}{hostile}"'))
    for command in (("ls", tmp_path), ("compare", folder), ("verify", folder)):
        said = dyno(*command)
        printed = said.stdout + said.stderr
        assert name in printed or command[0] == "verify"
        assert not COMMANDS & set(printed), command[0]
