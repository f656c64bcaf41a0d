"""A plan's requirements of its host: which of them fail, with remedies. Pure.

The keys are those of `[require]` (docs/plan.md, "require").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.doctor import memory
from dbdyno.doctor.finding import Finding, Need, of, tuned
from dbdyno.model import Json

Value = bool | int | str
"""A required value."""
BLOCK = "/sys/block/{device}/queue"
CPU_FREQUENCY = "/sys/devices/system/cpu/cpu*/cpufreq"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A fact of the host that a plan may require."""

    fact: tuple[str, ...]  # where it stands in host.json
    words: str  # what it is called where it is mended
    mend: str  # the command; `{value}` and `{device}`, that of the data
    place: str = "/sys"  # what is read-only where it cannot be mended
    least: bool = False  # more is as good


def _kernel(name: str, *, least: bool = False) -> Rule:
    return Rule(
        fact=("sysctl", name),
        words=name,
        mend=f"sysctl -w {name}={{value}}",
        place="/proc/sys",
        least=least,
    )


RULES: Mapping[str, Rule] = {
    "swappiness": _kernel("vm.swappiness"),
    "max_map_count": _kernel("vm.max_map_count", least=True),
    "somaxconn": _kernel("net.core.somaxconn", least=True),
    "transparent_huge_pages": Rule(
        fact=("thp", "enabled"),
        words="transparent huge pages",
        mend=f"echo {{value}} > {memory.THP}/enabled",
    ),
    "transparent_huge_pages_defrag": Rule(
        fact=("thp", "defrag"),
        words="their defrag",
        mend=f"echo {{value}} > {memory.THP}/defrag",
    ),
    "scheduler": Rule(
        fact=("data", "scheduler"),
        words="the scheduler of the data's device",
        mend=f"echo {{value}} > {BLOCK}/scheduler",
    ),
    "read_ahead_kb": Rule(
        fact=("data", "layers"),
        words="the read-ahead of the data's device in kB",
        mend=f"echo {{value}} > {BLOCK}/read_ahead_kb",
    ),
    "file_system": Rule(
        fact=("data", "file_system"),
        words="the data's file system",
        mend="set server.data_dir to a folder on {value}",
    ),
    "governor": Rule(
        fact=("cpu", "governor"),
        words="the cores' governor",
        mend=f"echo {{value}} | tee {CPU_FREQUENCY}/scaling_governor",
    ),
    "clock_source": Rule(
        fact=("clock_source",),
        words="the clock source",
        mend="echo {value} > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
}
"""The facts that are compared; `huge_pages` and `wal_device` are judged by themselves."""


def findings(
    facts: Json, required: Mapping[str, Value], needs: Sequence[Need]
) -> Iterable[Finding]:
    """The plan's requirements that the host fails; each disturbs much.

    `needs` are those of the plan's servers. A fact that cannot be read is not there.
    """
    for key, value in required.items():
        if key == "huge_pages":
            yield from _huge_pages(facts, needs)
        elif key == "wal_device":
            yield from _wal_device(facts)
        else:
            yield from _compared(facts, key, value)


def _compared(facts: Json, key: str, value: Value) -> Iterable[Finding]:
    rule = RULES[key]
    found = _found(facts, rule)
    if found == value or (
        rule.least and isinstance(found, int) and isinstance(value, int) and found > value
    ):
        return
    device = of(facts, "data", "device") or "DEVICE"
    shown = "not known here" if found is None else str(found)
    least = " or more" if rule.least else ""
    yield _finding(
        key,
        f"{value}{least}",
        f"{rule.words} is {shown}",
        tuned(facts, rule.place, rule.mend.format(value=value, device=device)),
    )


def _found(facts: Json, rule: Rule) -> Value | None:
    found = of(facts, *rule.fact)
    if isinstance(found, list):  # of the device that is mounted
        ahead_bytes = found[0].get("read_ahead_bytes") if found else None
        return None if ahead_bytes is None else int(ahead_bytes) // 1024
    return found if isinstance(found, (bool, int, str)) else None


def _huge_pages(facts: Json, needs: Sequence[Need]) -> Iterable[Finding]:
    page, total, free = (
        of(facts, "huge_page_pool", key) for key in ("size_bytes", "total", "free")
    )
    if not page or total is None or free is None:
        yield _finding("huge_pages", "true", "the kernel reports none", {})
        return
    most = max((memory.pages_needed(need, page) for need in needs), default=1)
    if free < most:
        command = f"sysctl -w vm.nr_hugepages={total - free + most}"
        yield _finding(
            "huge_pages",
            "true",
            f"{free:,} huge pages are free, and the largest server needs about {most:,}",
            tuned(facts, "/proc/sys", command),
        )


def _wal_device(facts: Json) -> Iterable[Finding]:
    data, wal = ((of(facts, key, "devices") or ()) for key in ("data", "wal"))
    if data and wal and not set(data) & set(wal):
        return
    words = (
        "the log lies with the data: the plan has no `server.wal_dir`"
        if of(facts, "wal") is None
        else f"the log is on {', '.join(wal) or 'no known device'}, the data on "
        f"{', '.join(data) or 'no known device'}"
    )
    yield _finding(
        "wal_device", "true", words, {"mend": ("set server.wal_dir to a folder on another disk",)}
    )


def _finding(key: str, value: str, what: str, mended: dict[str, object]) -> Finding:
    return Finding(
        name=f"required-{key.replace('_', '-')}",
        severity="much",
        what=f"the plan requires {key} = {value}: {what}",
        why="dyno starts no run on a host that lacks what the plan requires.",
        **mended,  # type: ignore[arg-type] # the keys of `tuned`
    )
