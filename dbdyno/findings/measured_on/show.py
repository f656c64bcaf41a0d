"""The machine, the servers, and the differences between the arms."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from dbdyno import doctor
from dbdyno.doctor import render
from dbdyno.model import Comparison, engine
from dbdyno.model.ceiling import Ceiling, CeilingLoad
from dbdyno.model.compiler import flags_of
from dbdyno.model.doubt import DoubtSubject
from dbdyno.model.grouping import grouped
from dbdyno.model.host_facts import Cpu, HostFacts, Storage
from dbdyno.model.server_facts import ServerFacts
from dbdyno.parts import cells, number
from dbdyno.parts.number import of_blocks
from dbdyno.parts.part import Finding, Group, Section, Subject, Text
from dbdyno.parts.table import Column, Row, Table

UNKNOWN = "not known"
GENERATOR = "Load generator"
OLDER_PROTOCOL = "postgres"  # of results that name none: there was no other
CEILING_BUSY_SHARE_MIN = 0.9  # a less busy thread waited: for the null server, or for a processor
WAYS = ("epoll", "io_uring")
HOSTS_ACROSS_MAX = 4  # of more hosts each is a row
SETTINGS_SHOWN_MAX = 400  # characters of an arm's settings in one cell


def machine(comparison: Comparison) -> list[tuple[str, str]]:
    """The machine and the extent of the runs, as pairs of a name and words.

    Of several hosts only what all have alike; `hosts` has the rest.
    """
    names = _measuring(comparison)
    facts = _facts(comparison, comparison.host, comparison.generator)
    if names:
        unlike = _unlike(comparison, names)
        facts = [one for one in _facts_of(comparison, names[0]) if one[0] not in unlike]
        facts = [("Hosts", _alike(names, list(unlike))), *facts]
    pairs = [("Blocks", _blocks(comparison)), *facts]
    return [(name, text or UNKNOWN) for name, text in pairs]


def _alike(names: Sequence[str], unlike: Sequence[str]) -> str:
    """The hosts, and in what they differ beside what is measured anew on each."""
    if len(names) == 1:
        return names[0]
    told = [fact for fact in unlike if fact != GENERATOR]
    how = f"unlike in {', '.join(told)} (below)" if told else "alike in all that is told here"
    return f"{', '.join(names)}; {how}"


def _facts_of(comparison: Comparison, name: str) -> list[tuple[str, str]]:
    """The facts of a host that has a name."""
    return _facts(comparison, comparison.hosts[name], comparison.generators.get(name))


def _facts(
    comparison: Comparison, host: HostFacts, generator: Ceiling | None
) -> list[tuple[str, str]]:
    """The facts of a host, as pairs of a name and words; no words of what is not known.

    `generator`: what the load generator can do there.
    """
    disturbances = render.summary(doctor.findings(host))
    looked = host.look is not None  # older versions of dyno did not, nor do runs of fakes
    disturbs = "nothing known" if looked else ""
    if disturbances:
        disturbs = f"{disturbances} (`dyno doctor` gives reasons and remedies)"
    return [
        *hardware(host),
        ("Pages and clock", _pages(host)),
        (GENERATOR, _elsewhere(comparison) or _ceiling(generator)),
        ("What disturbs here", disturbs),
    ]


def hardware(host: HostFacts) -> list[tuple[str, str]]:
    """What the machine is and runs, likewise."""
    return [
        ("CPU", _cpu(host.cpu)),
        ("Memory", _memory(host)),
        ("Storage", _storage(host.data)),
        *([("Storage of the log", _log(host, host.wal))] if host.wal else []),
        ("System", _system(host)),
    ]


def _measuring(comparison: Comparison) -> list[str]:
    """The named hosts that measured blocks or arms, in their order, as far as they are known."""
    arms = (arm.host for arm in comparison.plan.arms)
    names = dict.fromkeys((*comparison.nodes.values(), *arms))
    return [name for name in names if name is not None and name in comparison.hosts]


def _unlike(comparison: Comparison, names: Sequence[str]) -> dict[str, list[str]]:
    """The facts that these hosts do not have alike, with each one's words."""
    its = [dict(_facts_of(comparison, name)) for name in names]
    facts = dict.fromkeys(fact for one in its for fact in one)
    told = {fact: [one.get(fact, "") for one in its] for fact in facts}
    return {fact: texts for fact, texts in told.items() if len(set(texts)) > 1}


def hosts(comparison: Comparison) -> Table | None:
    """What the hosts do not have alike; None where they have all so.

    A column for each host, or a row for each of many.
    """
    names = _measuring(comparison)
    unlike = _unlike(comparison, names)
    if not unlike:
        return None
    headings, lines = [*names], unlike
    if len(names) > HOSTS_ACROSS_MAX:
        headings = [*unlike]
        lines = {name: [its[at] for its in unlike.values()] for at, name in enumerate(names)}
    return Table(
        name="hosts",
        title="What the hosts do not have alike",
        columns=Column.words("", *headings),
        rows=tuple(
            Row.of(name, *(text or UNKNOWN for text in texts)) for name, texts in lines.items()
        ),
        look="words",
    )


def _elsewhere(comparison: Comparison) -> str:
    """The ceilings of the hosts that made the load; empty where it was made beside the servers."""
    by_host = {
        name: [
            _cpu(comparison.hosts.get(name, HostFacts()).cpu),
            _ceiling(comparison.generators.get(name)),
        ]
        for name in comparison.plan.generator.hosts
    }
    return "; ".join(f"on {name}: {joined(words)}" for name, words in by_host.items())


def _ceiling(generator: Ceiling | None) -> str:
    """The load generator's ceiling on this host, against a server that costs nothing."""
    if generator is None:
        return "not measured on this host"
    by_protocol = grouped((load.protocol, load) for load in generator.loads)
    said = {}
    for protocol, loads in by_protocol.items():
        best = max(loads, key=lambda load: load.per_s)
        others = (_load(load) for load in loads if load is not best)
        said[protocol] = "; ".join([f"ceiling {_load(best)} of CPU each", *others])
    if set(said) == {OLDER_PROTOCOL}:
        return said[OLDER_PROTOCOL]
    # Of a protocol that this version does not know the name.
    names = {name: f"{traits.product}'s protocol" for name, traits in engine.TRAITS.items()}
    return "; ".join(
        f"{names.get(protocol, protocol)}: {words}" for protocol, words in said.items()
    )


def _load(load: CeilingLoad) -> str:
    """A load in words; its rate is "at least" where the generator's threads still had time."""
    connections = load.connections
    busy = max(thread.busy_share for thread in load.threads)
    rate = cells.signed(
        number.number(load.per_s), "exact" if busy >= CEILING_BUSY_SHARE_MIN else "at least"
    )
    plural = "" if connections == 1 else "s"
    cost = number.time_us(load.cpu_us_per_operation)
    return f"{rate} statements/s with {connections} connection{plural}{_waits(load)}, {cost}"


def _waits(load: CeilingLoad) -> str:
    """How the generator's threads waited, where several connections let them choose.

    Empty of results of older versions.
    """
    thread = load.threads[0]
    if thread.wait not in WAYS:
        return ""
    refused = thread.io_uring_refused
    return f" by {thread.wait}" + ("" if refused is None else f" (io_uring: {refused})")


def joined(words: Iterable[object], separator: str = ", ") -> str:
    """Returns the words that are there, separated."""
    return separator.join(str(word) for word in words if word not in (None, ""))


def prefixed(name: str, value: object) -> str:
    """Returns a value behind its name; nothing for no value."""
    return "" if value in (None, "") else f"{name} {value}"


def _blocks(comparison: Comparison) -> str:
    nodes = Counter(comparison.nodes.values())
    told = ", ".join(f"{count} on {node}" for node, count in nodes.items())
    words = [f"{comparison.blocks} judged{f' ({told})' if told else ''}", comparison.incomplete]
    if comparison.unverified:
        words.append(f"{len(comparison.unverified)} unverified: an older dyno wrote no checksums")
    words += [
        f"void: {of_blocks(item.blocks)}, {item.words}"
        for group in comparison.doubts
        if group.subject is DoubtSubject.VOID
        for item in group.items
    ]
    return joined(words, "; ")


def _cpu(cpu: Cpu) -> str:
    smt = {True: "SMT on", False: "SMT off"}.get(cpu.smt, "")  # type: ignore[arg-type]
    return joined(
        [
            cpu.model,
            f"{cpu.cores} core{'' if cpu.cores == 1 else 's'}" if cpu.cores else "",
            f"{cpu.sockets} sockets" if (cpu.sockets or 1) > 1 else "",
            smt,
            number.number(cpu.mhz_max) + " MHz" if cpu.mhz_max else "",
            prefixed("governor", cpu.governor),
        ]
    )


def _memory(host: HostFacts) -> str:
    swap = host.swap_bytes
    return joined(
        [
            number.size_bytes(host.memory_bytes) if host.memory_bytes else "",
            "" if swap is None else f"swap {number.size_bytes(swap)}" if swap else "no swap",
        ]
    )


def _storage(data: Storage) -> str:
    # A device without a model is a virtual one, whose flag says nothing of what is below it.
    turns = data.rotational if data.model else None
    rotational = "" if turns is None else "rotating" if turns else "not rotating"
    return joined(
        [
            data.file_system,
            prefixed("on", data.device),
            data.model,
            rotational,
            prefixed("scheduler", data.scheduler),
            number.size_bytes(data.size_bytes) if data.size_bytes else "",
            prefixed("mounted", data.mount_options),
            f"unsure: {data.unsure}" if data.unsure else "",
        ]
    )


def _log(host: HostFacts, wal: Storage) -> str:
    return f"on the data's device, in {wal.path}" if host.one_device else _storage(wal)


def _system(host: HostFacts) -> str:
    virtual = prefixed("virtual machine:", host.virtual)
    inside = "in a container" if host.container else ""
    return joined([host.os, prefixed("kernel", host.kernel), virtual, inside])


def _pages(host: HostFacts) -> str:
    huge = host.huge_pages
    return joined(
        [
            prefixed("transparent huge pages", host.thp.enabled),
            "" if huge is None else f"{huge} huge pages" if huge else "no huge pages",
            prefixed("clock source", host.clock_source),
        ]
    )


# --- Servers ---------------------------------------------------------------------------------


def _settings(server: ServerFacts) -> str:
    chosen = server.nondefault or server.preset or {}
    text = ", ".join(f"{name} = {value}" for name, value in sorted(chosen.items()))
    return number.few_signs(text, SETTINGS_SHOWN_MAX)


def _connections(server: ServerFacts) -> str | None:
    """How connections from host to host are encrypted; others do not leave theirs."""
    if not server.external and not server.access:
        return ""
    if not server.encryption:
        return None
    plain = server.encryption.startswith("not ")
    return server.encryption if plain else f"encrypted: {server.encryption}"


_SERVER_FACTS: tuple[tuple[str, Callable[[ServerFacts], object]], ...] = (
    ("engine", lambda server: server.engine),
    ("version", lambda server: server.version_text or server.version),
    ("compiler", lambda server: server.compiler),
    ("build", lambda server: server.build.name if server.build else ""),
    ("flags", lambda server: flags_of(server) or ""),
    ("configuration", lambda server: server.config),
    ("departs from it in", lambda server: "; ".join(server.departures)),
    ("settings not at their default", _settings),
    ("data checksums", lambda server: server.data_checksums),
    ("locale", lambda server: server.initdb.locale if server.initdb else ""),
    ("WAL segments, MB", lambda server: server.initdb.wal_segment_mb if server.initdb else ""),
    ("transport", lambda server: server.transport or ""),
    ("connections", _connections),
)


def servers(comparison: Comparison) -> Table:
    """The facts of each arm as it ran, one per row."""
    arms = comparison.arms
    rows = []
    for name, read in _SERVER_FACTS:
        values = [read(comparison.servers.get(arm, ServerFacts())) for arm in arms]
        if any(value not in (None, "") for value in values):
            texts = (UNKNOWN if value is None else str(value) for value in values)
            rows.append(Row.of(name, *texts))
    columns = Column.words("", *arms)
    return Table(name="servers", title="The arms", columns=columns, rows=tuple(rows), look="words")


def _parts(subject: Subject) -> Iterable[Group]:
    facts = tuple(Finding(label=name, text=text) for name, text in machine(subject.comparison))
    its = hosts(subject.comparison)
    yield Group(
        name="measured-on",
        title="Measured on",
        parts=(
            Text(name="facts", items=facts, form="pairs"),
            *((its,) if its is not None else ()),
            servers(subject.comparison),
        ),
        depth="detail",
        of="page",
        fold="The machine and the arms, fact by fact",
        explains=True,
    )


SECTION = Section("page", _parts)
