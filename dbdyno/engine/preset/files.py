"""Reads the files of presets, tags and options in the package: engine/*/presets.

mysql/z11a.toml and postgres/tags.toml tell their forms.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from dbdyno.model.engine import having
from dbdyno.model.size import bytes_of

BESIDE_PRESETS = ("tags", "options")
"""Files of an engine's folder that are no presets."""
STUDY = "study"
"""The tag that takes the constants of a preset's studies beside its settings."""
TAGS_OF = {"mariadb": "mysql"}
"""Engines that have the tags of another one."""
NUMBER = "<n>"
"""The sign for a whole number in the names of variants and tags."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """One column of the published table: a host, and the settings used on it."""

    name: str
    cores: int
    memory_bytes: int
    by_name: bool  # never the nearest
    settings: Mapping[str, Any]  # text, {value, since, until}, or a list of those


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A preset, by its file or as a variant of one."""

    name: str
    engine: str
    title: str
    settings: Mapping[str, Any]  # as those of a size
    sizes: tuple[Size, ...]
    versions_min: str | None = None
    versions_max: str | None = None
    computed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    memory_share_max: Mapping[str, float] = field(default_factory=dict)
    study: Mapping[str, Any] = field(default_factory=dict)  # constants that `_study` takes


@dataclass(frozen=True, kw_only=True)
class Tag:
    """The words that may follow a preset's name."""

    name: str  # as it is listed: `wm<n>`
    settings: Mapping[str, str | Mapping[str, Any]]  # text, or by the name of a size and version


PRESETS = {
    "postgres": ("postgres", "presets"),
    "mysql": ("mysql", "presets", "mysql"),
    "mariadb": ("mysql", "presets", "mariadb"),
}
"""The folder of each engine's presets."""


def engines() -> tuple[str, ...]:
    """The engines that there are presets of."""
    return having("presets")


def folder(engine: str) -> dict[str, str]:
    """The files of an engine's folder: their texts by name without ending."""
    files = resources.files("dbdyno.engine").joinpath(*PRESETS[engine]).iterdir()
    return {
        file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
        for file in files
        if file.name.endswith(".toml")
    }


def raw_presets(engine: str) -> dict[str, dict[str, Any]]:
    """All presets of an engine as tables, merged with what they are based on, by name."""
    texts = {name: text for name, text in folder(engine).items() if name not in BESIDE_PRESETS}
    files = {name: tomllib.loads(text) for name, text in texts.items()}
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(files):
        whole = based(files, name)
        variants = whole.pop("variants", {})
        found[name] = whole
        for other, variant in variants.items():
            like = found[variant["like"]] if "like" in variant else whole
            own = any(key.startswith("versions_") for key in variant)
            found[other] = merged(without_versions(like) if own else like, variant)
    return found


def based(files: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """A preset's file; one that is based on another is merged into that one, table by table."""
    raw = dict(files[name])
    basis = raw.pop("based_on", None)
    if basis is None:
        return raw
    whole = without_versions(based(files, basis))
    whole.pop("variants", None)
    return merged(whole, raw)


def without_versions(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A table without the versions that it is published for: each preset says them itself."""
    return {key: value for key, value in raw.items() if not key.startswith("versions_")}


def merged(whole: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """A table with what another one changes in it; `without` leaves settings out."""
    new = {key: value for key, value in raw.items() if key not in ("like", "without")}
    result: dict[str, Any] = joined(dict(whole), new)
    gone = raw.get("without", ())
    settings = {key: value for key, value in result["settings"].items() if key not in gone}
    return result | {"settings": settings}


def joined(old: Any, new: Any) -> Any:
    """A table with the entries of another, table by table; what has a `value` is no table."""
    if not isinstance(old, dict) or not isinstance(new, dict) or "value" in new:
        return new
    return old | {key: joined(old.get(key), value) for key, value in new.items()}


@cache
def presets(engine: str) -> dict[str, Preset]:
    """The presets of an engine by name; a name may contain `<n>`."""
    return {name: preset_of(name, engine, raw) for name, raw in raw_presets(engine).items()}


def preset_of(name: str, engine: str, raw: Mapping[str, Any]) -> Preset:
    """A preset from its table."""
    sizes = tuple(size_of(key, value) for key, value in raw["sizes"].items())
    rest = {key: value for key, value in raw.items() if key != "sizes"}
    return Preset(name=name, engine=engine, sizes=sizes, **rest)


def size_of(name: str, raw: Mapping[str, Any]) -> Size:
    """A column of the table, from its TOML."""
    settings = {
        key: value for key, value in raw.items() if key not in ("cores", "memory", "by_name")
    }
    return Size(
        name=name,
        cores=raw["cores"],
        memory_bytes=bytes_of(raw["memory"]),
        by_name=raw.get("by_name", False),
        settings=settings,
    )


@cache
def tags(engine: str) -> list[Tag]:
    """The tags of an engine in the order of their file."""
    file = tag_file(engine)
    only = file.get("only", {})
    return [
        Tag(name=name, settings=raw)
        for name, raw in file["tags"].items()
        if only.get(name, engine) == engine
    ]


def same_values(engine: str) -> Mapping[str, Mapping[str, str]]:
    """Values that a server takes for the same, by setting: as written -> as in tags."""
    same: Mapping[str, Mapping[str, str]] = tag_file(engine).get("same", {})
    return same


@cache
def tag_file(engine: str) -> dict[str, Any]:
    """The file of an engine's tags; engine "fake" has none."""
    if engine not in engines():
        return {"tags": {}}
    return tomllib.loads(folder(TAGS_OF.get(engine, engine))["tags"])


@cache
def options(engine: str) -> dict[str, Any]:
    """The settings that an engine's versions know: tables `since`, `until`, `earlier`."""
    return tomllib.loads(folder(engine)["options"])


def pattern(name: str) -> re.Pattern[str]:
    """The text that a listed name with `<n>` accepts."""
    return re.compile(re.escape(name).replace(re.escape(NUMBER), r"([1-9]\d*)"))
