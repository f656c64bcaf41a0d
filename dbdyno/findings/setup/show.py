"""The introduction in the form of a post: builds, hardware, benchmark and steps."""

from collections.abc import Iterable, Sequence

from dbdyno.findings.measured_on.show import hardware
from dbdyno.model import Comparison, engine
from dbdyno.model.compiler import flags_of, for_size
from dbdyno.model.plan_record import ArmRecord, PlanRecord
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.work import WorkComparison
from dbdyno.parts import nodes, number
from dbdyno.parts.part import Finding, Section, Text

SETTINGS_NAMED_MAX = 8
"""Of so many settings that a plan sets for an arm each is named, of more the first ones."""


def paragraphs(comparison: Comparison) -> Iterable[str]:
    """The hardware; a sentence for each arm's build; what differs; how often each ran."""
    builds = (
        _build(arm, comparison.servers.get(arm), comparison.plan.arm(arm))
        for arm in comparison.arms
    )
    facts = ((name.lower(), text) for name, text in hardware(comparison.host) if text)
    parts = (
        [f"The server's {'CPU' if name == 'cpu' else name}: {text}." for name, text in facts],
        builds,
        _differences(comparison),
        (*_workloads(comparison.plan), *_load(comparison.plan), *_blocks(comparison)),
    )
    return (text for part in parts if (text := " ".join(part)))


# --- Builds ----------------------------------------------------------------------------------


def _build(name: str, server: ServerFacts | None, planned: ArmRecord | None) -> str:
    """An arm: what it is, who compiled it, its configuration and what the plan sets on top."""
    if server is None:
        return f"{name} never ran, so its build is unknown."
    traits = engine.recorded(str(server.engine))
    arm = planned or ArmRecord(name=name)
    words = [f"{name} is {traits.product} {server.version or ''}".rstrip()]
    if server.compiler:
        # MySQL and MariaDB name the machine and system that they were compiled for, no compiler.
        how = "by" if traits.names_compiler else "for"
        flags = flags_of(server)
        with_flags = f" with {flags}" if flags else ""
        with_flags += " (for size, not for speed)" if for_size(flags) else ""
        words.append(f"compiled {how} {server.compiler}{with_flags}")
    if server.config:
        memory = f" sized for {arm.memory} of memory" if arm.memory else ""
        words.append(f"with the configuration {server.config}{memory}")
    if arm.initdb:
        made = [f"{key} = {value}" for key, value in arm.initdb.items()]
        words.append(f"made by initdb with {_named(made)}")
    if arm.transport == "tcp":
        words.append("reached over TCP at 127.0.0.1")
    if arm.settings:
        words.append(f"with {_named([f'{key} = {value}' for key, value in arm.settings.items()])}")
    return f"{', '.join(words)}."


def _named(names: Sequence[str]) -> str:
    return number.few(names, SETTINGS_NAMED_MAX)


def _differences(comparison: Comparison) -> Iterable[str]:
    """The arms' differences by name; the table of differences has the values."""
    if len(comparison.arms) < 2:
        return
    named = [difference.what for difference in comparison.differences if difference.planned]
    others = [difference.what for difference in comparison.differences if not difference.planned]
    if named:
        yield f"The plan names these differences between the arms: {_named(named)}."
    if others:
        yield f"The arms also differ in what the plan does not name: {_named(others)}."


_CHOICES = ("set", "preset", "fill", "save", "warm")  # of a plan's workload (docs/plan.md)


def _workloads(plan: PlanRecord) -> Iterable[str]:
    """Each workload as the plan uses it: its steps, its preset, its scripts, the plan's values."""
    for use in plan.workloads:
        chosen = [f"{key} {getattr(use, key)}" for key in _CHOICES if getattr(use, key)]
        chosen += [f"groups {_named(use.groups)}"] if use.groups else []
        mixes = (use.scripts or {}).items()
        chosen += [f"step {step} of {_named(scripts)}" for step, scripts in mixes]
        values = {**use.parameters, **(use.variables or {})}
        given = [f"{name} = {_value(value)}" for name, value in values.items()]
        words = [*chosen, *([_named(given)] if given else [])]
        how = f" with {', '.join(words)}" if words else " with its own parameters"
        yield f"The workload is {use.name}{how}."
        if use.note:
            yield use.note


def _value(value: object) -> str:
    """A parameter's value; numbers with their thousands apart, lists in brackets."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if whole else str(value)


def _load(plan: PlanRecord) -> Iterable[str]:
    """Where the load was made, if not beside the server, and how, if not as usual."""
    if plan.generator.hosts:
        how = "encrypted by TLS" if plan.generator.tls else "not encrypted"
        yield f"The load came from {_named(plan.generator.hosts)} over the network, {how}."
    if plan.schedule.placement == "together":
        yield "Each client and the session that served it ran on one processor."
    if plan.schedule.placement == "apart":
        yield "Servers and the load generator ran on processors of their own."


def _blocks(comparison: Comparison) -> Iterable[str]:
    """How often each arm ran."""
    arms = "Every arm" if len(comparison.arms) > 1 else "The arm"
    order = ", in an order drawn from the seed" if len(comparison.arms) > 1 else ""
    count = comparison.blocks
    repeats = comparison.of(WorkComparison).repeats
    if repeats:
        fresh = ", by a fresh server each" if repeats > 1 else ""
        yield f"{arms}'s work was counted {number.times(repeats)}{fresh}."
    if comparison.plan.counts_only:
        return
    where = nodes.count(comparison)
    yield f"{arms} ran once in each of {number.blocks(count)}{where}{order}."
    if len(set(comparison.nodes.values())) > 1:
        yield "“Measured on” tells in what these nodes differ."
    if comparison.plan.schedule.rest_s:
        rest_s = f"{comparison.plan.schedule.rest_s:g} s"
        yield f"The host rested for {rest_s} after each server, before the next one was made."
    yield from _interleaved(comparison.plan)


def _interleaved(plan: PlanRecord) -> Iterable[str]:
    """How arms took turns, and what memory each had, where all were up at once."""
    turn_s = plan.schedule.slice_s or 0
    how = {
        "step": "one directly after the other, in an order drawn from the seed",
        "slice": f"in turns of {turn_s:g} s, in orders drawn from the seed",
    }.get(plan.schedule.interleave)
    if how is None:
        return
    yield (
        "All servers of a block ran at once. Each arm went alone through its steps up to the last "
        f"one that writes; the arms took the later steps, which only read, {how}."
    )
    sizes = [f"{arm.name} {arm.memory}" for arm in plan.arms if arm.memory]
    if sizes:
        yield f"The servers shared the memory: {_named(sizes)}."


SECTION = Section(
    "page",
    lambda subject: [
        Text(
            name="introduction",
            title="Builds, configuration and hardware",
            items=Finding.each(paragraphs(subject.comparison)),
            form="paragraphs",
            look="introduction",
        )
    ],
)
