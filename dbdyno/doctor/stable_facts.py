"""Which facts of a host stay as they are unless somebody changes them, and when they have. Pure."""

from __future__ import annotations

from dbdyno.doctor.finding import of, size
from dbdyno.model import Json

FACTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("transparent huge pages", ("thp", "enabled")),
    ("their defrag", ("thp", "defrag")),
    ("huge pages", ("huge_page_pool", "total")),
    ("bytes of swap", ("swap_bytes",)),
    ("turbo", ("frequency", "turbo")),
    ("frequency driver", ("frequency", "driver")),
    ("SMT", ("processors", "smt_control")),
    ("CPUs that are on", ("processors", "online")),
    ("CPUs for dyno", ("processors", "allowed")),
    ("clock source", ("clock_source",)),
    ("file system of the data", ("data", "file_system")),
    ("mount options of the data", ("data", "mount_options")),
    ("device of the data", ("data", "device")),
    ("scheduler of its device", ("data", "scheduler")),
    ("limit of open files", ("limits", "open_files")),
    ("CPUs by the control group", ("control_group", "cpu_max")),
    ("memory by the control group", ("control_group", "memory_max")),
)
"""Their words, and where they stand in host.json; kernel settings and read-ahead come on top."""
MACHINE = ("kernel", "cpu", "memory_bytes")
"""Facts that make it the same machine: with another of them blocks are not pooled."""
SAID_TWICE = frozenset({"vm.nr_hugepages"})
"""Settings of the kernel that stand among the facts under a name of their own."""


def state(facts: Json) -> dict[str, str]:
    """The lasting facts that are known, by their words."""
    found = {
        words: _shown(value) for words, keys in FACTS if (value := of(facts, *keys)) is not None
    }
    layers = of(facts, "data", "layers") or ()
    if layers and layers[0].get("read_ahead_bytes") is not None:
        found["read-ahead of the data"] = size(layers[0]["read_ahead_bytes"])
    settings = of(facts, "sysctl") or {}
    return found | {
        name: _shown(value)
        for name, value in settings.items()
        if value is not None and name not in SAID_TWICE
    }


def of_kind(facts: Json) -> dict[str, str]:
    """The facts that are known and that hosts of one kind have alike, by their words."""
    memory, cores = facts.get("memory_bytes"), of(facts, "cpu", "cores")
    found = {
        "CPU": of(facts, "cpu", "model"),
        "cores": None if cores is None else str(cores),
        "memory": None if memory is None else size(memory),
        "kernel": facts.get("kernel"),
        "system": facts.get("os"),
    }
    return {words: value for words, value in found.items() if value} | state(facts)


def machine(facts: Json) -> Json:
    """The facts that identify the machine."""
    return {key: facts.get(key) for key in MACHINE}


def changed(before: Json, now: Json) -> bool:
    """Whether a lasting fact that both know is another one now."""
    was, is_now = state(before), state(now)
    return any(was[words] != is_now[words] for words in was.keys() & is_now.keys())


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return "/".join(map(str, value))
    return str(value)
