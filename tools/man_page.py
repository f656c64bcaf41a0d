"""Writes the man page, which the wheel installs, from the commands' own help.

python tools/man_page.py
"""

from pathlib import Path
from typing import Any

from command_reference import commands

PAGE = Path(__file__).parent.parent / "dbdyno.data" / "data" / "share" / "man" / "man1" / "dyno.1"


def page() -> str:
    """The whole page in man's macros: a subsection for each command, then the exit statuses."""
    import typer

    from dbdyno.cli import app
    from dbdyno.cli.exit_status import MEANINGS

    (_, dyno), *rest = commands(typer.main.get_command(app))
    lines = [".TH DYNO 1", ".SH NAME", r"dyno \- a dynamometer for database engines"]
    lines += [".SH SYNOPSIS", r".B dyno", r"[\fIoptions\fR] \fIcommand\fR [\fIarguments\fR]"]
    lines += [".SH DESCRIPTION", plain(dyno.help), *listed(dyno), ".SH COMMANDS"]
    for words, command in rest:
        lines += [f".SS dyno {' '.join(words)}", plain(command.help), *listed(command)]
    lines += [".SH EXIT STATUS"]
    for status, meaning in MEANINGS.items():
        lines += [".TP", f".B {status}", plain(meaning)]
    lines += [".SH ENVIRONMENT", ".TP", ".B NO_COLOR", "Print no colours."]
    return "\n".join(lines) + "\n"


def listed(command: Any) -> list[str]:
    """A command's arguments and options, each with what it is for."""
    lines = []
    for param in command.params:
        option = param.param_type_name == "option"
        name = ", ".join(param.opts) if option else param.metavar or param.name.upper()
        taken = param.metavar if option and not param.is_flag else None
        lines += [".TP", rf"\fB{escaped(name)}\fR" + (rf" \fI{escaped(taken)}\fR" if taken else "")]
        lines += [plain(param.help or "")]
    return lines


def plain(text: str | None) -> str:
    """A paragraph of a help text in one line, as man reads it."""
    return escaped(" ".join((text or "").split()))


def escaped(text: str) -> str:
    """The text with what man would take for its own: backslashes, hyphens, a dot in front."""
    safe = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{safe}" if safe.startswith((".", "'")) else safe


if __name__ == "__main__":
    PAGE.write_text(page())
