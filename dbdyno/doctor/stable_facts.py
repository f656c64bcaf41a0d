"""Which facts of a host stay as they are unless somebody changes them, and when they have. Pure."""

from dbdyno.doctor.finding import size
from dbdyno.model.host_facts import HostFacts

SAID_TWICE = frozenset({"vm.nr_hugepages"})
"""Settings of the kernel that stand among the facts under a name of their own."""


def state(facts: HostFacts) -> dict[str, str]:
    """The lasting facts that are known, by their words."""
    data, layers = facts.data, facts.data.layers
    lasting = {
        "transparent huge pages": facts.thp.enabled,
        "their defrag": facts.thp.defrag,
        "huge pages": facts.huge_page_pool.total,
        "bytes of swap": facts.swap_bytes,
        "turbo": facts.frequency.turbo,
        "frequency driver": facts.frequency.driver,
        "SMT": facts.processors.smt_control,
        "CPUs that are on": facts.processors.online,
        "CPUs for dyno": facts.processors.allowed,
        "clock source": facts.clock_source,
        "file system of the data": data.file_system,
        "mount options of the data": data.mount_options,
        "device of the data": data.device,
        "scheduler of its device": data.scheduler,
        "limit of open files": facts.limits.open_files,
        "CPUs by the control group": facts.control_group.cpu_max,
        "memory by the control group": facts.control_group.memory_max,
        "read-ahead of the data": _size(layers[0].read_ahead_bytes) if layers else None,
        **{name: value for name, value in facts.sysctl.items() if name not in SAID_TWICE},
    }
    return {words: _shown(value) for words, value in lasting.items() if value is not None}


def of_kind(facts: HostFacts) -> dict[str, str]:
    """The facts that are known and that hosts of one kind have alike, by their words."""
    cpu = facts.cpu
    alike = {
        "CPU": cpu.model,
        "cores": None if cpu.cores is None else str(cpu.cores),
        "memory": _size(facts.memory_bytes),
        "kernel": facts.kernel,
        "system": facts.os,
    }
    return {words: value for words, value in alike.items() if value} | state(facts)


def changed(before: HostFacts, now: HostFacts) -> bool:
    """Whether a lasting fact that both know is another one now."""
    was, is_now = state(before), state(now)
    return any(was[words] != is_now[words] for words in was.keys() & is_now.keys())


def _size(count: int | None) -> str | None:
    return None if count is None else size(count)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return str(value)
