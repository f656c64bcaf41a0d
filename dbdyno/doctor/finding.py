"""The form of a finding, and how a setting of the host is mended. Pure."""

from dataclasses import dataclass
from typing import Literal, TypedDict

from dbdyno.model.host_facts import HostFacts

Severity = Literal["much", "some", "know"]
SEVERITIES: tuple[Severity, ...] = ("much", "some", "know")
"""From what disturbs most: it decides results; it adds noise or a bias; it is only to be known."""

GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10


@dataclass(frozen=True, kw_only=True)
class HostFinding:
    """Something of a host that disturbs measurements, or that a reader of them should know."""

    name: str  # stable, for programs: "swap-used"
    severity: Severity
    what: str  # the fact with its value
    why: str  # for which kind of measurement it matters, in a sentence
    mend: tuple[str, ...] = ()  # commands for root of this host, in their order
    barred: str | None = None  # why it cannot be mended here; `mend` is for the host below then


@dataclass(frozen=True, kw_only=True)
class MemoryNeed:
    """Shared memory that a server is going to ask for."""

    who: str  # "arm pg18", or how it was asked for
    bytes: int  # of its buffers
    locks: bool = False  # whether its huge pages count against the limit of locked memory (MySQL)


class FindingRemedy(TypedDict, total=False):
    """The fields of a finding that say how it is mended."""

    mend: tuple[str, ...]
    barred: str | None


def sysctl(facts: HostFacts, name: str) -> int | str | None:
    """A setting of the kernel by its name with dots."""
    return facts.sysctl.get(name)


def tuned(facts: HostFacts, place: str, *commands: str) -> FindingRemedy:
    """How a setting under `/sys` or `/proc/sys` is mended, and what may forbid it here."""
    read_only = f"{place} is read-only here, as in a container; on the host below"
    return {"mend": commands, "barred": read_only if place in facts.read_only else None}


def set_sysctl(facts: HostFacts, **values: int) -> FindingRemedy:
    """The command that sets settings of the kernel; `__` in a keyword is the dot of its name."""
    words = [f"{name.replace('__', '.')}={value}" for name, value in values.items()]
    return tuned(facts, "/proc/sys", f"sysctl -w {' '.join(words)}")


def size(count: float) -> str:
    """Bytes in words: `8.0 MiB`."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count:,.0f} bytes"


def percent(share: float) -> str:
    """A share in words: `9.7 %`."""
    return f"{share * 100:.1f} %"
