"""A configuration's name becomes settings: for an engine and version, sized to a host.

docs/servers.md tells the meaning of presets and how their sizes follow.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbdyno.engine.preset import files as content
from dbdyno.engine.preset.files import Preset, Size, Tag
from dbdyno.engine.preset.name import PresetChoice
from dbdyno.model import engine, version
from dbdyno.model.size import Capacity, bytes_of, cut, cut_coarsely, text_of
from dbdyno.model.version import Version, within

SAME_WITHIN = 0.05
"""A computed size that is nearer to the published one than this is no departure."""
LOG_BYTES_MIN = 64 << 20
"""A log is at least this: half of PostgreSQL's max_wal_size has to hold two files of 16 MB."""
OTHER_SETTING = re.compile(r"\{(\w+)\}")
"""The place of another setting's value in a tag's."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The result of a preset: settings by name, and how they depart from the published table."""

    values: Mapping[str, str]
    departures: tuple[str, ...]  # sentences
    study: Mapping[str, Any] = field(default_factory=dict)  # of the preset's studies, if asked for


def render(chosen: PresetChoice, *, capacity: Capacity, version_num: int) -> Settings:
    """The settings of a preset for a host and a server version, in the engine's own units.

    `version_num` as `Build` has it (170006, 80406).
    """
    name = chosen.preset.engine
    of = version.of_number(name, version_num)
    size = chosen.size or nearest(chosen.preset.sizes, capacity)
    values = published(chosen.preset.settings, of)
    departures = published_range(chosen.preset, of)
    values |= published(size.settings, of)
    if chosen.size is None:
        departures += cap(values, size, chosen.preset.memory_share_max, capacity.memory_bytes)
        leave_out(values, chosen.preset.computed, of)
        departures += compute(values, chosen.preset, size, capacity)
    for tag in chosen.tags:
        apply(values, tag, chosen, capacity, of)
    departures += fit_version(values, name, of)
    return Settings(values=values, departures=tuple(departures), study=chosen.study)


def nearest(sizes: tuple[Size, ...], host: Capacity) -> Size:
    """The published size nearest to a host: the least sum of doublings of cores and of memory."""

    def doublings(size: Size) -> float:
        ratios = (host.cores / size.cores, host.memory_bytes / size.memory_bytes)
        return sum(abs(math.log2(ratio)) for ratio in ratios)

    return min((size for size in sizes if not size.by_name), key=doublings)


def published(settings: Mapping[str, Any], of: Version) -> dict[str, str]:
    """The settings among these that the published files of a version have."""
    values = {}
    for name, written in settings.items():
        for choice in written if isinstance(written, list) else [written]:
            if isinstance(choice, str):
                values[name] = choice
            elif within(choice, of):
                values[name] = choice["value"]
    return values


def published_range(preset: Preset, of: Version) -> list[str]:
    """A sentence where the preset is used outside the versions that it is published for."""
    least, most = preset.versions_min, preset.versions_max
    if most is not None and of[: len(version.bound(most))] > version.bound(most):
        bound = f"up to {most}"
    elif least is not None and of < version.bound(least):
        bound = f"from {least}"
    else:
        return []
    return [f"{preset.name} is published for versions {bound}, this is {version.text(of)}"]


def cap(
    values: dict[str, str], size: Size, shares: Mapping[str, float], memory_bytes: int
) -> list[str]:
    """Cuts settings to their largest shares of the memory; returns the departures."""
    departures = []
    for name, share in shares.items():
        most = int(memory_bytes * share)
        if name in size.settings and name in values and bytes_of(values[name]) > most:
            was, values[name] = values[name], text_of(max(most, 1 << 20))
            departures.append(
                f"{name} is {values[name]}, not {was}: at most 1/{1 / share:.0f} of the memory"
            )
    return departures


def leave_out(values: dict[str, str], rules: Mapping[str, Mapping[str, Any]], of: Version) -> None:
    """Drops the settings that a version does not have though others are computed from them."""
    for name, rule in rules.items():
        if not within(rule, of):
            values.pop(name, None)


def compute(values: dict[str, str], preset: Preset, size: Size, host: Capacity) -> list[str]:
    """Puts the settings that follow from memory and disk into `values`; returns the departures."""
    departures = []
    short = engine.of(preset.engine).short_sizes
    known = {"memory": host.memory_bytes}
    for name, rule in preset.computed.items():
        amount, reason = amount_of(rule, known, values, host)
        known[name] = amount
        if name not in values:
            continue
        was, values[name] = values[name], text_of(amount, short=short)
        if abs(amount / bytes_of(was) - 1) > SAME_WITHIN:
            departures.append(f"{name} is {values[name]}, not the {was} of {size.name}: {reason}")
    return departures


def amount_of(
    rule: Mapping[str, Any], known: Mapping[str, int], values: Mapping[str, str], host: Capacity
) -> tuple[int, str]:
    """The bytes of a rule of sizes, and why."""
    share = rule.get("share", 1)
    amount, reason = cut(int(known[rule["of"]] * share)), f"{share:g} of {rule['of']}"
    amount = max(amount, bytes_of(rule.get("least", "0kB")))
    if "chunk" in rule:
        amount = cut_to_chunks(
            amount, bytes_of(rule["chunk"]), values.get(rule.get("instances", ""))
        )
    most = rule.get("free_disk_share_max")
    if most is not None:
        amount = max(amount, LOG_BYTES_MIN)
        if host.free_disk_bytes is not None and amount > host.free_disk_bytes * most:
            amount = max(cut_coarsely(int(host.free_disk_bytes * most)), LOG_BYTES_MIN)
            reason = f"at most {most:g} of the free disk"
    files = values.get(rule.get("files", ""))
    if files is not None:
        amount = cut(amount // int(files))
        reason = f"{rule['of']} in {files} files" if "share" not in rule else reason
    return amount, reason


def cut_to_chunks(amount: int, chunk: int, instances: str | None) -> int:
    """A buffer pool cut down to whole chunks in each instance, as InnoDB would round it up.

    Below 1 GB there is one instance, and below a chunk no whole one: InnoDB's manual, "Configuring
    InnoDB Buffer Pool Size".
    """
    step = chunk * (int(instances) if instances is not None and amount >= 1 << 30 else 1)
    return amount // step * step if amount >= step else amount


def apply(
    values: dict[str, str], tag: Tag, chosen: PresetChoice, host: Capacity, of: Version
) -> None:
    """Puts what a tag sets into `values`; `{name}` in it is the value of another setting.

    A value by size is that of the named size; else the nearest one's, by the share of the memory.
    """
    for name, written in tag.settings.items():
        if isinstance(written, str):
            values[name] = OTHER_SETTING.sub(lambda found: values[found[1]], written)
            continue
        by_size = published(written, of)
        if chosen.size is not None:
            values[name] = by_size[chosen.size.name]
        else:
            size = nearest(tuple(one for one in chosen.preset.sizes if one.name in by_size), host)
            share = bytes_of(by_size[size.name]) / size.memory_bytes
            short = engine.of(chosen.preset.engine).short_sizes
            values[name] = text_of(cut(int(host.memory_bytes * share)), short=short)


def amount(value: str) -> int:
    """A number, or a size in bytes."""
    return int(value) if value.isdigit() else bytes_of(value)


def fit_version(values: dict[str, str], name: str, of: Version) -> list[str]:
    """Leaves out or lowers what the version does not know or allow; returns the departures."""
    known = content.options(name)
    departures = []
    for setting, rule in known.get("earlier", {}).items():
        value, before = rule["value"], rule["before"]
        if of < version.bound(before) and amount(values.get(setting, "0")) > amount(value):
            departures.append(
                f"{setting} is {value}, not {values[setting]}: the most before {before}"
            )
            values[setting] = value
    for setting in list(values):
        since, until = known.get("since", {}).get(setting), known.get("until", {}).get(setting)
        why = None
        if since is not None and of < version.bound(since):
            why = f"new in version {since}"
        elif until is not None and of >= version.bound(until):
            why = f"gone in version {until}"
        elif of < version.bound(known.get("values", {}).get(setting, {}).get(values[setting], "0")):
            why = f"the value is new in {known['values'][setting][values[setting]]}"
        if why is not None:
            departures.append(f"{setting} = {values.pop(setting)} is left out: {why}")
    return departures
