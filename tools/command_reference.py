"""Writes docs/commands.md from the commands' own help: `python tools/command_reference.py`."""

from pathlib import Path
from textwrap import fill
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
HEAD = """# Commands

`tools/command_reference.py` generates this page from the commands; a test compares.

- Commands write results to standard output and everything else to standard error. `--json` prints
  results for programs; `--quiet` hides progress.
- In a terminal, progress is a few lines redrawn every second: block, arm and step, rate and p99 in
  the last second and so far, whether the target is held, errors, and the remaining time of step and
  plan. Elsewhere, progress is a line at the end of each step, and about every minute in long steps.
  Both say within a step's first seconds where its operations are too few to tell the plan's margin,
  and the `seconds` that would do.
- `NO_COLOR` turns colours off. Output that goes to a file or a pipe has none, unless `FORCE_COLOR`
  is set.
- Plans, scripts and results are UTF-8 in every locale. If the encoding of your terminal lacks a
  character, dyno prints another: `>=` for `≥`, `?` for what it cannot spell.
- `dyno --install-completion` installs completion for bash, zsh or fish.
- `man dyno` shows the same: a wheel installs the page `share/man/man1/dyno.1`.

## Exit statuses

Every command ends with one of these statuses.

| exit status | when |
|---|---|
"""


def page() -> str:
    """The whole page: a section for each command, in the order of `dyno --help`."""
    import typer

    from dbdyno.cli import app
    from dbdyno.cli.exit_status import MEANINGS

    table = "".join(f"| {status} | {meaning} |\n" for status, meaning in MEANINGS.items())
    sections = [section(words, command) for words, command in commands(typer.main.get_command(app))]
    return "\n".join([HEAD + table, *sections])


def section(words: tuple[str, ...], command: Any) -> str:
    """A command's heading, its help, and a row for each of its arguments and options."""
    shown = " ".join(["dyno", *words])
    rows = [
        row(param) for param in command.params if param.name != "help" and param.opts != ["--help"]
    ]
    table = "\n".join(["| | |", "|---|---|", *rows]) + "\n" if rows else ""
    help_text = fill(" ".join((command.help or "").split()), 100, break_on_hyphens=False)
    return f"## `{shown}`\n\n{help_text}\n" + (f"\n{table}" if table else "")


def row(parameter: Any) -> str:
    """An argument by its placeholder, an option by its name; what it is for, and its default."""
    option = parameter.param_type_name == "option"
    name = ", ".join(parameter.opts) if option else parameter.metavar or parameter.name.upper()
    default = parameter.default
    shown = f" Default: `{default}`." if option and default not in (None, False, ()) else ""
    return f"| `{name}` | {parameter.help or ''}{shown} |"


def commands(group: Any, above: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """The words of every command below `group`, itself first, with the command."""
    found = [(above, group)]
    for name, command in getattr(group, "commands", {}).items():
        found += commands(command, (*above, name))
    return found


if __name__ == "__main__":
    PAGE.write_text(page())
