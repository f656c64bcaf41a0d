"""Which subsystem of a server a function belongs to: by how its name begins, a table per engine.

A family's table is `subsystems.toml` in its folder of dbdyno/engine; a plan adds its own
(docs/profiles.md).
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources

from dbdyno.model.engine import recorded
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.profile import bare

FILE = "subsystems.toml"
BINARY = "@"
"""Stands before a binary's name, in frames as in tables."""
OTHER = "other"
"""The subsystem of samples of which no table knows anything."""

_DEMANGLED = re.compile(r"( \[clone [^]]*\])+$")

Part = tuple[str, str]
"""A function and its binary."""


@cache
def part_of(frame: str) -> Part:
    """The function and the binary of a frame, without what compilers add to a name.

    `heap_fetch.isra.0@postgres` is `heap_fetch` of `postgres`; of C++ the parameters go, so that a
    function is the same in two versions that differ in those.
    """
    name, _, binary = frame.rpartition(BINARY)
    name = bare(_DEMANGLED.sub("", name)) or name
    return _without_parameters(name), binary


def _without_parameters(name: str) -> str:
    """`row_search_mvcc(unsigned char*, long) const` is `row_search_mvcc`."""
    bare = name.removesuffix(" const")
    if not bare.endswith(")"):
        return name
    depth = 0
    for place in range(len(bare) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(bare[place], 0)
        if depth == 0:
            return bare[:place]
    return name


class Subsystems:
    """A table of beginnings; it keeps what it has looked up."""

    def __init__(self, tables: Iterable[Mapping[str, Sequence[str]]]) -> None:
        """Later tables go before earlier ones where they have the same beginning."""
        self._by_beginning: dict[str, str] = {}
        self.names: tuple[str, ...] = ()
        for table in tables:
            self.names = tuple(dict.fromkeys((*self.names, *table)))
            for name, beginnings in table.items():
                self._by_beginning |= dict.fromkeys(beginnings, name)
        self._longest = max(map(len, self._by_beginning), default=0)
        self._known: dict[Part, str | None] = {}

    def of(self, part: Part) -> str | None:
        """The subsystem of a function; None where the table has nothing that fits."""
        if part not in self._known:
            name, binary = part
            self._known[part] = self._longest_of(BINARY + binary) or self._longest_of(name)
        return self._known[part]

    def _longest_of(self, text: str) -> str | None:
        for length in range(min(len(text), self._longest), 0, -1):
            subsystem = self._by_beginning.get(text[:length])
            if subsystem is not None:
                return subsystem
        return None

    def of_stack(self, parts: Sequence[Part]) -> str:
        """The subsystem of a sample: of the innermost of its functions that the table knows."""
        return next(filter(None, map(self.of, reversed(parts))), OTHER)


def of_arm(plan: PlanRecord, name: str) -> Subsystems:
    """The table of an arm's engine, with what the plan adds."""
    arm = plan.arm(name)
    family = recorded("fake" if arm is None else arm.engine).family
    return Subsystems((_shipped(family), plan.observe.subsystems))


@cache
def _shipped(family: str) -> dict[str, list[str]]:
    """The table in a family's folder; an engine may have none."""
    file = resources.files("dbdyno").joinpath("engine", family, FILE)
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
