"""Configuration presets: published settings as data, sized to a host, for a server version.

`render` computes; it reads nothing but the preset's file in the package. What a preset means and
how its sizes follow is told in docs/servers.md.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from dbdyno.error import PlanError

UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?B)")
WHOLE_GIGABYTES_FROM = 8 << 30
"""Sizes from here on are cut to whole GB, as in the published files; smaller ones to whole MB."""
SAME_WITHIN = 0.05
"""A computed size that is nearer to the published one than this is no departure."""
WAL_BYTES_MIN = 64 << 20
"""max_wal_size is at least this: half of it, min_wal_size, has to hold two files of 16 MB."""
NEWEST = 18
"""The major version that `show` renders for."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a preset comes to: settings by name, and how they depart from the published table."""

    values: Mapping[str, str]
    departures: tuple[str, ...]  # sentences


@dataclass(frozen=True, kw_only=True)
class Size:
    """One column of the published table: a host, and the settings used on it."""

    name: str
    cores: int
    memory_bytes: int
    settings: Mapping[str, Any]  # text, or {value, versions}


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A preset's file; dbdyno/configs/x10a.toml tells its form."""

    name: str
    title: str
    settings: Mapping[str, str]
    sizes: tuple[Size, ...]
    versions_min: int = 0
    versions_max: int = 1000
    computed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)
    earlier: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    memory_share_max: Mapping[str, float] = field(default_factory=dict)


def names() -> list[str]:
    """The names of all presets."""
    files = resources.files("dbdyno").joinpath("configs").iterdir()
    return sorted(file.name[: -len(".toml")] for file in files if file.name.endswith(".toml"))


def load(name: str) -> Preset:
    """The preset of that name. Raises PlanError where there is none."""
    if name not in names():
        raise PlanError(f"config: there is no preset `{name}`: take one of {', '.join(names())}")
    raw = read(name)
    raw.pop("engine", None)
    sizes = tuple(size_of(key, value) for key, value in raw.pop("sizes").items())
    return Preset(name=name, sizes=sizes, **raw)


def read(name: str) -> dict[str, Any]:
    """A preset's file; one that is based on another is merged into that one, table by table."""
    path = resources.files("dbdyno").joinpath("configs", f"{name}.toml")
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    basis = raw.pop("based_on", None)
    if basis is None:
        return raw
    whole = read(basis)
    # A preset says itself for which versions it is published.
    whole.pop("versions_min", None)
    whole.pop("versions_max", None)
    for key, value in raw.items():
        whole[key] = {**whole.get(key, {}), **value} if isinstance(value, dict) else value
    return whole


def size_of(name: str, raw: Mapping[str, Any]) -> Size:
    """A column of the table, from its TOML."""
    settings = {key: value for key, value in raw.items() if key not in ("cores", "memory")}
    memory = bytes_of(raw["memory"])
    return Size(name=name, cores=raw["cores"], memory_bytes=memory, settings=settings)


def render(
    preset: str, cores: int, memory_bytes: int, free_disk_bytes: int | None, version_num: int
) -> Settings:
    """The settings of a preset for a host and a server version, in PostgreSQL's own units.

    `free_disk_bytes`: of the write-ahead log's file system; None: no limit. `version_num` as the
    server says it (170006). Raises PlanError where there is no such preset.
    """
    chosen = load(preset)
    major = version_num // 10000
    release = str(major) if major >= 10 else f"{major}.{version_num // 100 % 100}"
    size = nearest(chosen.sizes, cores, memory_bytes)
    values = dict(chosen.settings)
    departures = published_range(chosen, release)
    for name, published in size.settings.items():
        if name in chosen.computed or not published_for(published, major):
            continue
        values[name] = published["value"] if isinstance(published, Mapping) else published
        departures += cap(values, name, memory_bytes, chosen.memory_share_max)
    departures += compute(values, chosen, size, memory_bytes, free_disk_bytes)
    departures += fit_version(values, chosen, major)
    return Settings(values=values, departures=tuple(departures))


def nearest(sizes: tuple[Size, ...], cores: int, memory_bytes: int) -> Size:
    """The published size nearest to a host: the least sum of doublings of cores and of memory."""

    def doublings(size: Size) -> float:
        return abs(math.log2(cores / size.cores)) + abs(math.log2(memory_bytes / size.memory_bytes))

    return min(sizes, key=doublings)


def published_for(published: str | Mapping[str, Any], major: int) -> bool:
    """Whether the published files of this version have the setting."""
    return isinstance(published, str) or major in published["versions"]


def published_range(preset: Preset, release: str) -> list[str]:
    """A sentence where the preset is used outside the versions that it is published for."""
    if float(release) > preset.versions_max:
        bound = f"up to {preset.versions_max}"
    elif float(release) < preset.versions_min:
        bound = f"from {preset.versions_min}"
    else:
        return []
    return [f"{preset.name} is published for versions {bound}, this is {release}"]


def cap(
    values: dict[str, str], name: str, memory_bytes: int, shares: Mapping[str, float]
) -> list[str]:
    """Cuts a setting to its largest share of the memory; returns the departure."""
    most = int(memory_bytes * shares.get(name, 1.0))
    if name not in shares or bytes_of(values[name]) <= most:
        return []
    published, values[name] = values[name], text_of(max(most, 1 << 20))
    return [
        f"{name} is {values[name]}, not {published}: at most 1/{1 / shares[name]:.0f} of the memory"
    ]


def compute(
    values: dict[str, str],
    preset: Preset,
    size: Size,
    memory_bytes: int,
    free_disk_bytes: int | None,
) -> list[str]:
    """Puts the settings that follow from memory and disk into `values`; returns the departures."""
    departures = []
    known = {"memory": memory_bytes}
    for name, rule in preset.computed.items():
        amount, reason = (
            cut(int(known[rule["of"]] * rule["share"])),
            f"{rule['share']:g} of {rule['of']}",
        )
        share_max = rule.get("free_disk_share_max")
        if share_max is not None:
            amount = max(amount, WAL_BYTES_MIN)
            if free_disk_bytes is not None and amount > free_disk_bytes * share_max:
                amount = max(cut_coarsely(int(free_disk_bytes * share_max)), WAL_BYTES_MIN)
                reason = f"at most {share_max:g} of the free disk"
        known[name], values[name] = amount, text_of(amount)
        published = size.settings[name]
        if abs(amount / bytes_of(published) - 1) > SAME_WITHIN:
            whose = f"the {published} of {size.name}"
            departures.append(f"{name} is {values[name]}, not {whose}: {reason}")
    return departures


def fit_version(values: dict[str, str], preset: Preset, major: int) -> list[str]:
    """Leaves out or lowers what the version does not know or allow; returns the departures."""
    departures = []
    for name, rule in preset.earlier.items():
        if major < rule["before"] and name in values:
            departures.append(
                f"{name} is {rule['value']}, not {values[name]}: the most before {rule['before']}"
            )
            values[name] = rule["value"]
    for name, first in preset.since.items():
        if major < first and name in values:
            departures.append(f"{name} = {values.pop(name)} is left out: new in version {first}")
    return departures


def cut(amount: int) -> int:
    """A size cut to whole GB where it is large, else to whole MB."""
    unit = UNITS["GB"] if amount >= WHOLE_GIGABYTES_FROM else UNITS["MB"]
    return max(amount // unit, 1) * unit


def cut_coarsely(amount: int) -> int:
    """A size cut to a quarter of the power of two below it.

    The free disk changes a little from run to run; two arms of a plan must get the same all the
    same.
    """
    quarter = 1 << max(amount.bit_length() - 3, 0)
    return amount // quarter * quarter


def bytes_of(text: str) -> int:
    """A size such as `4GB`, in bytes (units B, kB, MB, GB, TB, of 1024).

    Raises PlanError where it is none.
    """
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise PlanError(f"`{text}` is no size: write a number and a unit, such as `512MB` or `4GB`")
    return int(float(found[1]) * UNITS[found[2]])


def text_of(amount: int) -> str:
    """A size in bytes as PostgreSQL writes it: in the largest unit that is whole."""
    for unit in ("TB", "GB", "MB", "kB"):
        if amount >= UNITS[unit] and amount % UNITS[unit] == 0:
            return f"{amount // UNITS[unit]}{unit}"
    return f"{amount // UNITS['kB']}kB"


def buffer_bytes(text: str) -> int:
    """A value of shared_buffers in bytes; a bare number counts pages of 8 kB.

    Raises PlanError where it is no size.
    """
    return int(text) * 8192 if text.strip().isdigit() else bytes_of(text)


def show(name: str, cores: int | None = None, memory: str | None = None) -> str:
    """A preset as a configuration file, sized to a host: this one where nothing is said.

    Raises PlanError where there is no such preset or `memory` is no size.
    """
    from dbdyno.server import capacity

    preset = load(name)
    cores = cores or capacity.cores()
    memory_bytes = bytes_of(memory) if memory else capacity.memory_bytes()
    major = min(max(NEWEST, preset.versions_min), preset.versions_max)
    settings = render(name, cores, memory_bytes, None, major * 10000)
    lines = [f"# {name}: {preset.title}"]
    lines += [
        f"# for version {major}, {cores} cores, {memory_bytes / UNITS['GB']:.1f} GB of memory"
    ]
    lines += [f"# {sentence}" for sentence in settings.departures]
    lines += [f"{key} = '{value}'" for key, value in settings.values.items()]
    return "\n".join(lines) + "\n"
