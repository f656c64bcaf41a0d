"""The machine, the servers, and the differences between the arms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dbdyno import doctor
from dbdyno.doctor import render
from dbdyno.model import Comparison, Json, engine
from dbdyno.model.compiler import flags_of
from dbdyno.report import cells, number
from dbdyno.report.parts import (
    Cell,
    Column,
    Finding,
    Group,
    Row,
    Section,
    Subject,
    Table,
    Text,
)

UNKNOWN = "not known"
OLDER_PROTOCOL = "postgres"  # of results that name none: there was no other
CEILING_BUSY_SHARE_MIN = 0.9  # a less busy thread waited: for the null server, or for a processor
SETTINGS_SHOWN_MAX = 400  # characters of an arm's settings in one cell


def machine(comparison: Comparison) -> list[tuple[str, str]]:
    """The machine and the extent of the runs, as pairs of a name and words."""
    host = comparison.host
    pairs = [
        ("Blocks", _blocks(comparison)),
        ("CPU", _cpu(part(host, "cpu"))),
        ("Memory", _memory(host)),
        ("Storage", _storage(part(host, "data"))),
        *_log(host),
        (
            "System",
            joined([host.get("os"), prefixed("kernel", host.get("kernel")), _virtual(host)]),
        ),
        ("Pages and clock", _pages(host)),
        ("Load generator", _ceiling(comparison.generator)),
        ("What disturbs here", _disturbs(host)),
    ]
    return [(name, text or UNKNOWN) for name, text in pairs]


def _ceiling(generator: Json | None) -> str:
    """The load generator's ceiling on this host, against a server that costs nothing."""
    if generator is None:
        return "not measured on this host"
    by_protocol: dict[str, list[Json]] = {}
    for load in generator["loads"]:
        by_protocol.setdefault(load.get("protocol", OLDER_PROTOCOL), []).append(load)
    said = {protocol: _loads(loads) for protocol, loads in by_protocol.items()}
    if set(said) == {OLDER_PROTOCOL}:
        return said[OLDER_PROTOCOL]
    return "; ".join(f"{_protocol(one)}: {words}" for one, words in said.items())


def _protocol(name: str) -> str:
    """A protocol in words; of one that this version does not know the name."""
    known = engine.TRAITS.get(name)
    return name if known is None else f"{known.product}'s protocol"


def _loads(loads: Sequence[Json]) -> str:
    """The loads of a protocol, that with the largest rate first."""
    best = max(loads, key=lambda load: load["per_s"])
    others = [_load(load) for load in loads if load is not best]
    return "; ".join([f"ceiling {_load(best)} of CPU each", *others])


def _load(load: Json) -> str:
    """A load in words; its rate is "at least" where the generator's threads still had time."""
    connections = load["connections"]
    busy = max(thread["busy_share"] for thread in load["threads"])
    rate = cells.signed(
        number.number(load["per_s"]), "exact" if busy >= CEILING_BUSY_SHARE_MIN else "at least"
    )
    plural = "" if connections == 1 else "s"
    cost = number.time_us(load["cpu_us_per_operation"])
    return f"{rate} statements/s with {connections} connection{plural}, {cost}"


def _disturbs(host: Json) -> str:
    """The doctor's findings in the host's facts, without reasons and remedies."""
    found = render.summary(doctor.findings(host))
    looked = host.get("look") is not None  # older versions of dyno did not, nor do runs of fakes
    if found:
        return f"{found} (`dyno doctor` gives reasons and remedies)"
    return "nothing known" if looked else ""


def part(facts: Json, key: str) -> Json:
    """Returns a part of some facts; an empty one where it is not known."""
    part = facts.get(key)
    return part if isinstance(part, dict) else {}


def joined(words: Iterable[object], separator: str = ", ") -> str:
    """Returns the words that are there, separated."""
    return separator.join(str(word) for word in words if word not in (None, ""))


def prefixed(name: str, value: object) -> str:
    """Returns a value behind its name; nothing for no value."""
    return "" if value in (None, "") else f"{name} {value}"


def _blocks(comparison: Comparison) -> str:
    words = [f"{comparison.blocks} judged", comparison.incomplete]
    words += [f"void: {reason}" for reason in comparison.void_blocks]
    return joined(words, "; ")


def _cpu(cpu: Json) -> str:
    cores = cpu.get("cores")
    smt = {True: "SMT on", False: "SMT off"}.get(cpu.get("smt"), "")  # type: ignore[arg-type]
    governor = prefixed("governor", cpu.get("governor"))
    mhz = number.number(cpu.get("mhz_max")) + " MHz" if cpu.get("mhz_max") else ""
    return joined(
        [
            cpu.get("model"),
            f"{cores} core{'' if cores == 1 else 's'}" if cores else "",
            f"{cpu['sockets']} sockets" if (cpu.get("sockets") or 1) > 1 else "",
            smt,
            mhz,
            governor,
        ]
    )


def _memory(host: Json) -> str:
    swap = host.get("swap_bytes")
    return joined(
        [
            number.size_bytes(host["memory_bytes"]) if host.get("memory_bytes") else "",
            "" if swap is None else f"swap {number.size_bytes(swap)}" if swap else "no swap",
        ]
    )


def rotates(data: Json) -> bool | None:
    """Whether the data's device has rotating disks; None where nobody knows.

    A device without a model is a virtual one, whose flag says nothing of what is below it.
    """
    return data.get("rotational") if data.get("model") else None


def _storage(data: Json) -> str:
    rotational = {True: "rotating", False: "not rotating"}.get(rotates(data))  # type: ignore[arg-type]
    unsure = data.get("unsure")
    return joined(
        [
            data.get("file_system"),
            prefixed("on", data.get("device")),
            data.get("model"),
            rotational,
            prefixed("scheduler", data.get("scheduler")),
            number.size_bytes(data["size_bytes"]) if data.get("size_bytes") else "",
            prefixed("mounted", data.get("mount_options")),
            f"unsure: {unsure}" if unsure else "",
        ]
    )


def shared(host: Json) -> bool:
    """Whether the log is known to lie on the data's device; results of old versions say nothing."""
    log = part(host, "wal")
    if log:
        return bool(log.get("device")) and log["device"] == part(host, "data").get("device")
    return "wal" in host  # null: in the data directory


def _log(host: Json) -> Iterable[tuple[str, str]]:
    """The storage of a log that has a folder of its own; of one on the data's device only that."""
    log = part(host, "wal")
    if log:
        here = f"on the data's device, in {log.get('path')}"
        yield "Storage of the log", here if shared(host) else _storage(log)


def _virtual(host: Json) -> str:
    words = prefixed("virtual machine:", host.get("virtual"))
    return joined([words, "in a container" if host.get("container") else ""])


def _pages(host: Json) -> str:
    huge = host.get("huge_pages")
    return joined(
        [
            prefixed("transparent huge pages", part(host, "thp").get("enabled")),
            "" if huge is None else f"{huge} huge pages" if huge else "no huge pages",
            prefixed("clock source", host.get("clock_source")),
        ]
    )


# --- Servers ---------------------------------------------------------------------------------


def _settings(server: Json) -> str:
    chosen = part(server, "nondefault") or part(server, "preset")
    text = ", ".join(f"{name} = {value}" for name, value in sorted(chosen.items()))
    return text if len(text) <= SETTINGS_SHOWN_MAX else text[:SETTINGS_SHOWN_MAX] + " …"


def _departures(server: Json) -> str:
    departures = server.get("departures")
    return "; ".join(map(str, departures)) if isinstance(departures, list) else ""


def _value(key: str) -> Callable[[Json], Any]:
    return lambda server: server.get(key)


def _of_build(key: str) -> Callable[[Json], Any]:
    """The facts of builds that dyno made; nothing for others."""
    return lambda server: (server.get("build") or {}).get(key, "")


def _of_initdb(key: str) -> Callable[[Json], Any]:
    """How a PostgreSQL of the lab was made; nothing for others, and in older results."""
    return lambda server: (server.get("initdb") or {}).get(key, "")


def _connections(server: Json) -> str | None:
    """How connections from host to host are encrypted; others do not leave theirs."""
    if server.get("external") is None and server.get("access") is None:
        return ""
    found: str | None = server.get("encryption")
    if found is None or found.startswith("not "):
        return found
    return f"encrypted: {found}"


_SERVER_FACTS: tuple[tuple[str, Callable[[Json], Any]], ...] = (
    ("engine", _value("engine")),
    ("version", lambda server: server.get("version_text") or server.get("version")),
    ("compiler", _value("compiler")),
    ("build", _of_build("name")),
    ("flags", lambda server: flags_of(server) or ""),
    ("configuration", _value("config")),
    ("departs from it in", _departures),
    ("settings not at their default", _settings),
    ("data checksums", _value("data_checksums")),
    ("locale", _of_initdb("locale")),
    ("WAL segments, MB", _of_initdb("wal_segment_mb")),
    ("transport", lambda server: server.get("transport", "")),
    ("connections", _connections),
)


def servers(comparison: Comparison) -> Table:
    """The facts of each arm as it ran, one per row."""
    arms = comparison.arms
    rows = []
    for name, read in _SERVER_FACTS:
        values = [read(comparison.servers.get(arm, {})) for arm in arms]
        if any(value not in (None, "") for value in values):
            texts = (UNKNOWN if value is None else str(value) for value in values)
            rows.append(Row(cells=(Cell(text=name), *(Cell(text=text) for text in texts))))
    columns = (Column(text="", left=True), *(Column(text=arm, left=True) for arm in arms))
    return Table(name="servers", title="The arms", columns=columns, rows=tuple(rows), look="words")


def _parts(subject: Subject) -> Iterable[Group]:
    facts = tuple(Finding(label=name, text=text) for name, text in machine(subject.comparison))
    yield Group(
        name="measured-on",
        title="Measured on",
        parts=(
            Text(name="facts", title="", items=facts, form="pairs"),
            servers(subject.comparison),
        ),
        level="detail",
        of="page",
        fold="The machine and the arms, fact by fact",
        explains=True,
    )


SECTION = Section("page", _parts)
