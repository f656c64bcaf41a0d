"""The plan that takes two arms apart as TOML: all else is as in the plan that has them."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.model import Arm, Plan
from dbdyno.model.attribution import Design
from dbdyno.model.error import PlanError
from dbdyno.plan.race.text import MADE_BY, key, quoted, value_of

__all__ = ["MADE_BY", "AttributedPlan", "text_of"]

OWN = ("name", "base", "arms", "attribute", "hooks", "schedule")
"""Keys of the plan that are not taken over as they are written."""


@dataclass(frozen=True, kw_only=True)
class AttributedPlan:
    """The plan that has the two arms, and what is asked of it."""

    plan: Plan
    command: str  # that makes the same again
    blocks: int | None = None  # in place of the plan's


def text_of(source: AttributedPlan, design: Design, arms: Sequence[Arm]) -> str:
    """The plan. Raises PlanError where something of one arm alone cannot be exchanged."""
    written = tomllib.loads(source.plan.text)
    lines = [
        f"{MADE_BY}{source.command}",
        "#",
        "# The same command goes on with it, also after edits (docs/attribute.md).",
        "",
        f"base = {quoted(design.base)}  # the others are compared with it",
        *_scalars({name: value for name, value in written.items() if name not in OWN}),
        *_of_design(design),
        *(line for arm in arms for line in _of_arm(arm)),
        *_of_schedule(source, written.get("schedule", {}), len(arms)),
        *_tables({name: value for name, value in written.items() if name not in OWN}),
        *_hooks(written.get("hooks", []), design),
    ]
    return "\n".join(lines) + "\n"


def _of_design(design: Design) -> Iterator[str]:
    """The table `attribute`, with a line for each factor and each arm."""
    yield ""
    yield "[attribute]  # which factor makes `arm` differ from `base`"
    yield f"base = {quoted(design.base)}"
    yield f"arm = {quoted(design.arm)}"
    yield f"design = {quoted(design.kind)}"
    for factor in design.factors:
        yield ""
        yield "[[attribute.factors]]"
        yield f"name = {quoted(factor.name)}"
        yield f"base = {quoted(factor.base)}  # in words, for reports"
        yield f"arm = {quoted(factor.arm)}"
    yield ""
    yield "[attribute.values]  # of each factor in this order: 0 as in `base`, 1 as in `arm`"
    for name, values in design.values.items():
        yield f"{key(name)} = {value_of(values)}"


def _of_arm(arm: Arm) -> Iterator[str]:
    """An arm with all that its keys say."""
    yield ""
    yield f"[arms.{key(arm.name)}]"
    yield f"engine = {quoted(arm.engine)}"
    base_dir = None if arm.base_dir is None else str(arm.base_dir.absolute())
    for name, value in (
        ("version", arm.version),
        ("base_dir", base_dir),
        ("build", arm.build),
        ("config", arm.config),
        ("memory", arm.memory),
        ("memory_max", arm.memory_max),
        ("transport", arm.transport),
    ):
        if value is not None:
            yield f"{name} = {quoted(value)}"
    tables = (("environment", arm.environment), ("initdb", arm.initdb), ("fake", arm.fake))
    for name, table in tables:
        if table:
            yield f"{name} = {value_of(table)}"
    if arm.settings:
        yield f"[arms.{key(arm.name)}.settings]"
        for name, setting in arm.settings.items():
            yield f"{key(name)} = {value_of(setting)}"


def _of_schedule(source: AttributedPlan, written: Mapping[str, Any], arms: int) -> Iterator[str]:
    """The schedule of the plan, for more arms."""
    its = dict(written)
    if source.blocks is not None:
        its["blocks"] = source.blocks
        its.pop("minutes_max", None)
    if "minutes_max" in its:
        its["minutes_max"] = round(its["minutes_max"] * arms / len(source.plan.arms), 1)
    if its:
        yield ""
        yield "[schedule]"
        yield from _scalars(its)
        yield from _inline(its)


def _scalars(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        if not _is_table(value):
            yield f"{key(name)} = {value_of(value)}"


def _inline(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        if _is_table(value):
            yield f"{key(name)} = {value_of(value)}"


def _tables(table: Mapping[str, Any]) -> Iterator[str]:
    """Tables, and lists of tables, whose own tables stand in a line."""
    for name, value in table.items():
        if not _is_table(value):
            continue
        is_list = isinstance(value, list)
        for one in value if is_list else [value]:
            yield ""
            yield f"[[{key(name)}]]" if is_list else f"[{key(name)}]"
            yield from _scalars(one)
            yield from _inline(one)


def _is_table(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, Mapping) for one in value)
    return isinstance(value, Mapping)


def _hooks(written: Sequence[Mapping[str, Any]], design: Design) -> Iterator[str]:
    """The hooks: of both arms those of all; of one alone PlanError, as it is a factor, too."""
    for place, hook in enumerate(written, start=1):
        of = hook.get("arms")
        both = {design.base, design.arm}
        if of is not None and len(both & set(of)) == 1:
            raise PlanError(
                f"key `hooks[{place}].arms`: a hook of one of the two arms cannot be exchanged; "
                "remove it, or name both"
            )
        if of is None or both <= set(of):
            its = {name: value for name, value in hook.items() if name != "arms"}
            yield from _tables({"hooks": [its]})
