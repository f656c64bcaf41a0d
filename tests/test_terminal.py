"""What dyno prints commands no terminal."""

import io
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Literal
from unittest import mock

import pytest
from rich.live import Live
from rich.table import Table
from rich.text import Text

from command import dyno
from dbdyno.cli import main
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


def test_a_live_display_moves_in_its_terminal_and_what_is_said_beside_it_does_not() -> None:
    out = io.StringIO()
    with mock.patch.object(sys, "stderr", VisibleStream(out)):
        console = VisibleConsole(stderr=True, force_terminal=True, color_system="standard")
        with Live(Text("73 %", style="red"), console=console, auto_refresh=False):
            console.print("said \x1b[2J", markup=False, highlight=False)
            shown = out.getvalue()
    assert "\x1b[31m73 %" in shown and "\x1b[2K" in shown
    assert "said ␛[2J" in shown and shown.count("␛") == 1


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


OF_FAKES = """
arms.base = { engine = "fake", fake = { default_us = 100 } }
arms.other = { engine = "fake", fake = { default_us = 100 } }
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 2000 }
steps = ["l.i0"]
[schedule]
blocks = 3
"""


@pytest.mark.parametrize("encoding", ["ascii", "iso-8859-1"])
def test_every_command_prints_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    plan = tmp_path / "plän.toml"
    plan.write_text(f'name = "plan"\nlabel = "≥ ½ Größe 漢"\n{OF_FAKES}')
    for words in (
        ("check", plan),
        ("run", plan, "--out", tmp_path),
        ("compare", tmp_path / "plan"),
        ("report", tmp_path / "plan"),
        ("report", EXAMPLE),
        ("ls", tmp_path),
        ("verify", tmp_path / "plan"),
        ("workload", "show", "sysbench"),
        ("config", "list"),
        ("config", "show", "z12a"),
        ("run", "nowhere/漢.toml"),
        ("compare", "\udce9"),
    ):
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
        status = in_streams(words, *streams)
        said = "".join(stream.buffer.getvalue().decode(encoding) for stream in streams)  # type: ignore[attr-defined]
        assert status == (2 if words[1:2] in [("nowhere/漢.toml",), ("\udce9",)] else 0), said
        assert said.strip()
        if words == ("compare", tmp_path / "plan"):
            assert (">= 1/2 Gro?e ?" if encoding == "ascii" else ">= ½ Größe ?") in said


def in_streams(words: tuple[str | Path, ...], out: io.TextIOWrapper, err: io.TextIOWrapper) -> int:
    """The status of a command that prints into these streams."""
    with (
        mock.patch("sys.argv", ["dyno", *map(str, words)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            return main()
        except SystemExit as ended:
            return int(ended.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()


@pytest.mark.skipif(
    shutil.which("localedef") is None, reason="no localedef here: `apt-get install locales`"
)
def test_a_process_of_another_locale_reads_utf_8_and_prints_in_its_own(tmp_path: Path) -> None:
    locale = tmp_path / "xx_XX.ISO-8859-1"
    made = subprocess.run(["localedef", "--quiet", "-i", "POSIX", "-f", "ISO-8859-1", locale])
    assert locale.is_dir(), made
    (tmp_path / "漢.toml").write_text("# Größe ≥ 漢")
    environment = {**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": locale.name}
    environment.pop("PYTHONIOENCODING", None)
    words = [sys.executable, "-m", "dbdyno", "workload", "show", tmp_path / "漢.toml"]
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode("iso-8859-1")) == (0, "# Größe >= ?"), done.stderr
