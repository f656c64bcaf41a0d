"""The name of a configuration: a preset, tags and perhaps a host's size, as `x10b_wm4_c8r32`."""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.engine.preset import files
from dbdyno.engine.preset.files import NUMBER, Preset, Size, Tag, engines, pattern
from dbdyno.model.document import suggestion
from dbdyno.model.error import PlanError

COLUMN = re.compile(r"c\d+r\d+")
POOL = re.compile(r"^([a-z]+\d+[a-z])(?=[1-9]\d+g(?:_|$))")
"""What stands before the size of a buffer pool that has no `_` of its own: x10b50g."""
ALIASES = {"bee": "c8r16"}
"""Other published names of hosts."""


@dataclass(frozen=True, kw_only=True)
class PresetChoice:
    """The meaning of a configuration's name."""

    preset: Preset
    tags: tuple[Tag, ...]
    size: Size | None  # the published column that is named; None: sized to the host

    @property
    def study(self) -> Mapping[str, Any]:
        """The constants of the preset's studies, where the name asks for them; else none."""
        asked = any(tag.name == files.STUDY for tag in self.tags)
        return self.preset.study if asked else {}


def parse(name: str, engine: str) -> PresetChoice:
    """The meaning of a configuration's name for an engine. Raises PlanError where it has none."""
    head, *rest = words(name)
    preset = find_preset(head, engine)
    sizes: list[Size] = []
    tags: list[Tag] = []
    for word in rest:
        word = ALIASES.get(word, word)
        if COLUMN.fullmatch(word):
            sizes.append(find_size(word, preset, name))
        else:
            tags.append(find_tag(word, engine, name))
    if len(sizes) > 1:
        raise PlanError(f"config: `{name}` names {len(sizes)} hosts' sizes: keep one")
    refuse_contradictions(tags, name)
    refuse_other_sizes(tags, sizes, name)
    if any(tag.name == files.STUDY for tag in tags) and not preset.study:
        raise PlanError(
            f"config: `{name}`: of {preset.name} nothing is published that `_{files.STUDY}` could "
            "take: leave it out"
        )
    return PresetChoice(preset=preset, tags=tuple(tags), size=sizes[0] if sizes else None)


def words(name: str) -> list[str]:
    """The preset's name and what follows it; x10b50g, as some files are published, is x10b_50g."""
    return POOL.sub(r"\1_", name).split("_")


def find_preset(word: str, engine: str) -> Preset:
    """The preset of an engine that `word` names. Raises PlanError."""
    known = files.presets(engine) if engine in engines() else {}
    for listed, preset in known.items():
        found = pattern(listed).fullmatch(word)
        if found is not None:
            return replace(preset, name=word, settings=numbered(preset.settings, found))
    there = ", ".join(known) or "none"
    others = [one for one in engines() if one != engine and word in files.presets(one)]
    if others:
        raise PlanError(
            f"config: `{word}` is a preset of {' and '.join(others)}; {engine} has {there}"
        )
    raise PlanError(f"config: there is no preset `{word}`: use one of {there}")


def find_size(word: str, preset: Preset, name: str) -> Size:
    """The published column that is named. Raises PlanError."""
    for size in preset.sizes:
        if size.name == word:
            return size
    there = ", ".join(size.name for size in preset.sizes)
    raise PlanError(
        f"config: `{name}`: {preset.name} is not published for `{word}`, but for {there}; without "
        "a size it is sized to the host"
    )


def find_tag(word: str, engine: str, name: str) -> Tag:
    """The tag that `word` names. Raises PlanError with the nearest one, or whose it is."""
    known = files.tags(engine)
    found = tag_of(word, known)
    if found is not None:
        return found
    others = [
        one for one in engines() if one != engine and tag_of(word, files.tags(one)) is not None
    ]
    if others:
        raise PlanError(
            f"config: `{name}`: `_{word}` is a tag of {' and '.join(others)}, not of {engine}"
        )
    hint = suggestion(word, [tag.name.replace(NUMBER, "4") for tag in known])
    raise PlanError(f"config: `{name}`: no tag `_{word}`; {hint}")


def tag_of(word: str, known: Iterable[Tag]) -> Tag | None:
    """The tag among `known` that `word` names, with its number put in."""
    for tag in known:
        found = pattern(tag.name).fullmatch(word)
        if found is not None:
            return replace(tag, name=word, settings=numbered(tag.settings, found))
    return None


def numbered(settings: Mapping[str, Any], found: re.Match[str]) -> dict[str, Any]:
    """Settings with the number of a name put in where they have `{n}`."""
    if not found.groups():
        return dict(settings)
    return {
        key: value.replace("{n}", found[1]) if isinstance(value, str) else value
        for key, value in settings.items()
    }


def refuse_contradictions(tags: Iterable[Tag], name: str) -> None:
    """Raises PlanError where two tags set the same."""
    by: dict[str, str] = {}
    for tag in tags:
        for setting in tag.settings:
            if setting in by:
                raise PlanError(
                    f"config: `{name}`: `_{by[setting]}` and `_{tag.name}` both set {setting}: "
                    "keep one"
                )
            by[setting] = tag.name


def refuse_other_sizes(tags: Iterable[Tag], sizes: Iterable[Size], name: str) -> None:
    """Raises PlanError where a tag is published for other hosts' sizes than the one named."""
    for tag, size in itertools.product(tags, sizes):
        for there in tag.settings.values():
            if not isinstance(there, str) and size.name not in there:
                raise PlanError(
                    f"config: `{name}`: `_{tag.name}` is not published for `{size.name}`, but for "
                    f"{', '.join(there)}; without a size it is sized to the host"
                )
