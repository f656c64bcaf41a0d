"""Which arms mix the factors of two: the design, and the arms that it has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbdyno.engine.preset import config_file
from dbdyno.model import Arm
from dbdyno.model.attribution import Design, DesignKind, Factor
from dbdyno.model.error import PlanError
from dbdyno.plan.attribute.factor import Exchange, Sides, is_origin, together_of
from dbdyno.plan.race.arm import ODD
from dbdyno.stats import factorial

FULL_MAX = 3
"""Up to so many factors all combinations are arms."""
NAME_MAX = 40
SETTINGS = "settings"
TABLES = (SETTINGS, "environment", "initdb", "fake")
"""Keys of an arm that are tables, whose keys are exchanged one by one."""


def designed(
    sides: Sides, exchanges: Sequence[Exchange], wanted: DesignKind | None = None
) -> tuple[Design, tuple[Arm, ...]]:
    """The design, and its arms, the base first; of this kind, or by the number of factors.

    Raises PlanError where there is none.
    """
    kind = _kind(len(_with_bound(exchanges)), wanted)
    factors = (
        sorted(exchanges, key=lambda exchange: (exchange.bound, is_origin(exchange)))
        if kind == "one at a time"
        else _with_bound(exchanges)
    )
    _refuse(kind, factors, sides)
    rows = _rows(kind, len(factors))
    names: dict[str, tuple[int, ...]] = {}
    arms: list[Arm] = []
    for row in rows:
        arm = _mixed(sides, factors, row, names)
        names[arm.name] = row
        arms.append(arm)
    design = Design(
        kind=kind,
        base=sides.base.name,
        arm=sides.arm.name,
        factors=tuple(
            Factor(name=factor.name, base=factor.values[0], arm=factor.values[1])
            for factor in factors
        ),
        values=names,
    )
    return design, tuple(arms)


def _kind(factors: int, wanted: DesignKind | None) -> DesignKind:
    if wanted is not None:
        return wanted
    return "factorial" if factors <= FULL_MAX else "one at a time"


def _refuse(kind: DesignKind, factors: Sequence[Exchange], sides: Sides) -> None:
    where = f"arms `{sides.base.name}` and `{sides.arm.name}`"
    if len(factors) < 2:
        (only,) = factors
        raise PlanError(
            f"{where}: differ in `{only.name}` alone, so all of the change is its; compare them by "
            "`dyno run`"
        )
    if kind == "factorial" and len(factors) > FULL_MAX:
        raise PlanError(
            f"{where}: differ in {len(factors)} factors, and this design takes {FULL_MAX} at most; "
            "join some by --together NAME,NAME"
        )


def _with_bound(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """The factors, where those that are bound to the version are one with it."""
    bound = [exchange for exchange in exchanges if exchange.bound]
    free = [exchange for exchange in exchanges if not exchange.bound]
    if not bound:
        return free
    *others, last = free
    return [*others, together_of([*bound, last])] if is_origin(last) else list(exchanges)


def _rows(kind: DesignKind, factors: int) -> list[tuple[int, ...]]:
    """The rows of the design, which has that of the arm itself."""
    make = factorial.full if kind == "factorial" else factorial.one_at_a_time
    return make(factors)


# --- An arm ----------------------------------------------------------------------------------


def _mixed(
    sides: Sides, factors: Sequence[Exchange], row: tuple[int, ...], taken: Mapping[str, object]
) -> Arm:
    """The arm with these values; the two that there are stay as they are."""
    if not any(row):
        return sides.base
    if all(row):
        return sides.arm
    changes = [
        change
        for factor, value in zip(factors, row, strict=True)
        if value
        for change in factor.changes
    ]
    keys = {change.key: change.arm for change in changes if change.table == ""}
    tables: dict[str, dict[str, Any]] = {
        table: dict(getattr(sides.base, table)) for table in TABLES
    }
    tables[SETTINGS] = sides.configured(sides.base, sides.base) | tables[SETTINGS]
    for change in changes:
        if change.table:
            tables[change.table].pop(change.key, None)
            if change.arm is not None:
                tables[change.table][change.key] = change.arm
    values: dict[str, Any] = {**keys, **tables, "name": _name(sides, factors, row, taken)}
    return _with_settings(replace(sides.base, **values), tables[SETTINGS], sides)


def _with_settings(arm: Arm, wanted: Mapping[str, str], sides: Sides) -> Arm:
    """The arm with just these settings: on top of a `config` that has no others, where one is."""
    best = replace(arm, config=None, config_text=None, memory=None, settings=wanted)
    for side in (sides.base, sides.arm):
        if side.config is None:
            continue
        configured = sides.configured(side, arm)
        own = {name: value for name, value in wanted.items() if configured.get(name) != value}
        if set(configured) <= set(wanted) and len(own) < len(best.settings):
            best = replace(
                arm,
                config=side.config,
                config_text=side.config_text,
                memory=None if config_file.is_file(side.config) else side.memory,
                settings=own,
            )
    return best


def _name(
    sides: Sides, factors: Sequence[Exchange], row: Sequence[int], taken: Mapping[str, object]
) -> str:
    """The base's name with what is changed: `pg17+jit+work_mem`; with a number where that is long.

    One at a time `pg17..jit` has all up to that factor.
    """
    changed = [
        factor.name.split("+")[0] for factor, value in zip(factors, row, strict=True) if value
    ]
    texts = ["+".join([sides.base.name, *changed])]
    if all(row[: len(changed)]):
        texts.append(f"{sides.base.name}..{changed[-1]}")
    for name in (ODD.sub("-", text) for text in texts):
        if len(name) <= NAME_MAX and name not in (sides.arm.name, *taken):
            return name
    return f"{sides.base.name[: NAME_MAX - 6]}+mix{len(taken):02}"
