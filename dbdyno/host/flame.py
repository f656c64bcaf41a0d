"""Draws flame graphs by `dyno-flame`, a program that comes with the package."""

import subprocess

from dbdyno.host import program
from dbdyno.model.error import DynoError
from dbdyno.model.flame import FlameGraph

NAME = "dyno-flame"
DRAW_S_MAX = 60.0
"""A graph takes some hundredths of a second; a busy host is slower."""


def draw(graph: FlameGraph) -> str:
    """The graph as SVG. Raises DynoError if the program is missing or refuses the stacks."""
    path = program.find(NAME)
    command = [
        str(path),
        "--title",
        graph.title,
        "--subtitle",
        graph.subtitle,
        "--unit",
        graph.unit,
    ]
    rows = (f"{';'.join(stack)} {base} {arm}" for stack, (base, arm) in graph.costs.items())
    try:
        done = subprocess.run(
            command, input="\n".join(rows), capture_output=True, text=True, encoding="utf-8",
            timeout=DRAW_S_MAX, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise DynoError(f"`{path}` drew nothing within {DRAW_S_MAX:.0f} s") from error
    except OSError as error:
        raise DynoError(f"`{path}` cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        said = " ".join(done.stderr.split()).removeprefix(f"{NAME}: ")
        said = said or f"`{path}` ended with status {done.returncode}"
        raise DynoError(f"the flame graph of {graph.title} cannot be drawn: {said}")
    return done.stdout
