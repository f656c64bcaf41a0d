"""A plan's requirements of its host: which of them fail, with remedies. Pure.

The keys are those of `[require]` (docs/plan.md, "require").
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.doctor import memory
from dbdyno.doctor.finding import FindingRemedy, HostFinding, MemoryNeed, sysctl, tuned
from dbdyno.model.host_facts import HostFacts

Value = bool | int | str
"""A required value."""
BLOCK = "/sys/block/{device}/queue"
CPU_FREQUENCY = "/sys/devices/system/cpu/cpu*/cpufreq"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A fact of the host that a plan may require."""

    fact: Callable[[HostFacts], Value | None]
    words: str  # what it is called where it is mended
    mend: str  # the command; `{value}` and `{device}`, that of the data
    place: str = "/sys"  # what is read-only where it cannot be mended
    least: bool = False  # more is as good


def read_ahead_kib(facts: HostFacts) -> int | None:
    """The read-ahead of the data's device: the one that is mounted."""
    ahead_bytes = facts.data.layers[0].read_ahead_bytes if facts.data.layers else None
    return None if ahead_bytes is None else ahead_bytes // 1024


def _kernel(name: str, *, least: bool = False) -> Rule:
    return Rule(
        fact=lambda facts: sysctl(facts, name),
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
        fact=lambda facts: facts.thp.enabled,
        words="transparent huge pages",
        mend=f"echo {{value}} > {memory.THP}/enabled",
    ),
    "transparent_huge_pages_defrag": Rule(
        fact=lambda facts: facts.thp.defrag,
        words="their defrag",
        mend=f"echo {{value}} > {memory.THP}/defrag",
    ),
    "scheduler": Rule(
        fact=lambda facts: facts.data.scheduler,
        words="the scheduler of the data's device",
        mend=f"echo {{value}} > {BLOCK}/scheduler",
    ),
    "read_ahead_kb": Rule(
        fact=read_ahead_kib,
        words="the read-ahead of the data's device in kB",
        mend=f"echo {{value}} > {BLOCK}/read_ahead_kb",
    ),
    "file_system": Rule(
        fact=lambda facts: facts.data.file_system,
        words="the data's file system",
        mend="set server.data_dir to a folder on {value}",
    ),
    "governor": Rule(
        fact=lambda facts: facts.cpu.governor,
        words="the cores' governor",
        mend=f"echo {{value}} | tee {CPU_FREQUENCY}/scaling_governor",
    ),
    "clock_source": Rule(
        fact=lambda facts: facts.clock_source,
        words="the clock source",
        mend="echo {value} > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
}
"""The facts that are compared; `huge_pages` and `wal_device` are judged by themselves."""


def findings(
    facts: HostFacts, required: Mapping[str, Value], needs: Sequence[MemoryNeed]
) -> Iterable[HostFinding]:
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


def _compared(facts: HostFacts, key: str, value: Value) -> Iterable[HostFinding]:
    rule = RULES[key]
    fact = rule.fact(facts)
    if fact == value or (
        rule.least and isinstance(fact, int) and isinstance(value, int) and fact > value
    ):
        return
    device = facts.data.device or "DEVICE"
    shown = "not known here" if fact is None else str(fact)
    least = " or more" if rule.least else ""
    yield _finding(
        key,
        f"{value}{least}",
        f"{rule.words} is {shown}",
        tuned(facts, rule.place, rule.mend.format(value=value, device=device)),
    )


def _huge_pages(facts: HostFacts, needs: Sequence[MemoryNeed]) -> Iterable[HostFinding]:
    pool = facts.huge_page_pool
    page, total, free = pool.size_bytes, pool.total, pool.free
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


def _wal_device(facts: HostFacts) -> Iterable[HostFinding]:
    data, wal = facts.data.devices, facts.wal.devices if facts.wal else ()
    if data and wal and not set(data) & set(wal):
        return
    words = (
        "the log lies with the data: the plan has no `server.wal_dir`"
        if not facts.wal
        else f"the log is on {', '.join(wal) or 'no known device'}, the data on "
        f"{', '.join(data) or 'no known device'}"
    )
    yield _finding(
        "wal_device", "true", words, {"mend": ("set server.wal_dir to a folder on another disk",)}
    )


def _finding(key: str, value: str, what: str, mending: FindingRemedy) -> HostFinding:
    return HostFinding(
        name=f"required-{key.replace('_', '-')}",
        severity="much",
        what=f"the plan requires {key} = {value}: {what}",
        why="dyno starts no run on a host that lacks what the plan requires.",
        **mending,
    )
