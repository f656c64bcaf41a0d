"""An arm's settings as the server has them from which its queries were captured.

These are planner settings and sizes of memory, never a preset. What takes memory at once is cut to
this host's; what only guides the planner stays, as plans depend on it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from dbdyno.model.error import PlanError
from dbdyno.model.size import text_of


@dataclass(frozen=True, kw_only=True)
class InheritedSettings:
    """Settings of the source that an arm takes, and sentences on those that it takes otherwise."""

    values: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CacheMemory:
    """The cache of pages that a server takes whole, and how much of the memory it may have."""

    setting: str
    share: float  # of the memory that the server may have
    bytes_of: Callable[[str], int]
    short: bool = False  # its size is written `4G`


def of(
    written: Mapping[str, str],
    own: Collection[str],
    known: Collection[str] | None,
    memory_bytes: int,
    memory: CacheMemory,
) -> InheritedSettings:
    """The settings of the source for an arm whose server may take so much memory.

    `own`: names that the plan sets itself; `known`: those that the build knows, None: not told.
    """
    values: dict[str, str] = {}
    said = []
    for name, value in written.items():
        if name in own:
            continue
        if known is not None and name not in known:
            said.append(f"{name} of the source is left out: this version has no such setting")
            continue
        values[name] = value
    most = int(memory.share * memory_bytes)
    wanted = values.get(memory.setting)
    if wanted is not None and (size := bytes_or_none(memory, wanted)) is not None and size > most:
        values[memory.setting] = text_of(most >> 20 << 20, short=memory.short)
        said.append(
            f"{memory.setting} is {values[memory.setting]}, not the source's {wanted}: "
            "this host has less memory"
        )
    return InheritedSettings(values=values, said=tuple(said))


def bytes_or_none(memory: CacheMemory, written: str) -> int | None:
    """A size in bytes; None where it is none, which the server says itself."""
    try:
        return memory.bytes_of(written)
    except PlanError:
        return None
