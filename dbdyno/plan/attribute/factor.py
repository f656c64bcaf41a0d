"""The factors of two arms: each thing in which they differ and that can be exchanged by itself.

Presets are compared as settings, as each renders them for the arm's own version: a preset may leave
a setting out for one version alone. A setting that only one of the two versions knows cannot be
exchanged with the version: such a setting is *bound* to it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dbdyno import engine as engines
from dbdyno.engine.preset import arm_config, files
from dbdyno.model import Arm, can, version
from dbdyno.model.document import suggestion
from dbdyno.model.error import PlanError
from dbdyno.model.size import Capacity
from dbdyno.plan.matrix import normal

VERSION, BUILD, SERVER = "version", "build", "server"
"""Names of factors that say which program runs; `server` is all of an arm's origin at once."""
ORIGIN = ("version", "base_dir", "build")
UNSET = "unset"
"""The word for a setting that an arm leaves to the server."""
PREBUILT = "prebuilt"


@dataclass(frozen=True, kw_only=True)
class KeyChange:
    """One key of an arm, and what the two arms have there; None: nothing."""

    table: str  # "" for a key of the arm itself, else "settings", "environment", "initdb", "fake"
    key: str
    base: object
    arm: object


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A factor: changes that are made together."""

    name: str
    changes: tuple[KeyChange, ...]
    bound: int = 0  # -1: before the version, which does not know it; 1: after it; 0: anywhere

    @property
    def values(self) -> tuple[str, str]:
        """Its values in words, of the base and of the arm."""
        first, *others = self.changes
        more = f" (with {', '.join(other.key for other in others)})" if others else ""
        return _word(first, first.base), _word(first, first.arm) + more


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Two arms, and what a host makes of them; `initdb` and `transport` are the arms' own keys."""

    base: Arm
    arm: Arm
    version_nums: Mapping[str, int]  # by arm, of those whose servers the lab makes
    host: Mapping[str, Capacity] = field(default_factory=dict)  # by arm, what its server can have

    def version_num(self, arm: Arm) -> int:
        """The version of the server of an arm that mixes the two."""
        side = self.arm if _place(arm) == _place(self.arm) else self.base
        return self.version_nums[side.name]

    def configured(self, config: Arm, origin: Arm) -> dict[str, str]:
        """The settings that the `config` of one arm asks for on the server of the other."""
        if not can(origin, "made"):
            return {}
        exchanged = replace(origin, config=config.config, config_text=config.config_text)
        exchanged = replace(exchanged, memory=config.memory)
        configured = arm_config.of_arm(
            exchanged,
            self.host[config.name],
            self.version_num(origin),
            engines.of(origin.engine).read_config,
        )
        return dict(configured.values)


def _place(arm: Arm) -> object:
    """By what the version of an arm's server is known."""
    return arm.version or (arm.base_dir, arm.build)


def exchanges(sides: Sides, together: Iterable[Iterable[str]] = ()) -> tuple[Exchange, ...]:
    """The factors, that of the server's program last; `together`: names of those that are one.

    Raises PlanError where the arms cannot be taken apart.
    """
    refuse(sides.base, sides.arm)
    tables = ("environment", "initdb", "fake")
    factors = [*_settings(sides), *(factor for table in tables for factor in _table(table, sides))]
    factors += [*_keys(sides, "transport"), *_keys(sides, "memory_max"), *_origin(sides)]
    if not factors:
        where = f"arms `{sides.base.name}` and `{sides.arm.name}`"
        raise PlanError(f"{where}: differ in nothing that dyno can exchange")
    return joined(factors, together)


def refuse(base: Arm, arm: Arm) -> None:
    """Raises PlanError for arms of which no mixture can be made."""
    if base.engine != arm.engine:
        raise PlanError(
            f"arms `{base.name}` and `{arm.name}`: are of the engines {base.engine} and "
            f"{arm.engine}, whose settings cannot be exchanged; name two arms of one engine"
        )
    for side in (base, arm):
        if side.dsn is not None:
            raise PlanError(
                f"arms.{side.name}.dsn: a server that runs elsewhere cannot be set up by dyno; "
                "name arms whose servers dyno starts"
            )


def joined(factors: Iterable[Exchange], together: Iterable[Iterable[str]]) -> tuple[Exchange, ...]:
    """The factors, where those that are named together are one. Raises PlanError."""
    by_name = {factor.name: factor for factor in factors}
    for names in map(list, together):
        for name in names:
            if name not in by_name:
                raise PlanError(
                    f"--together: no factor `{name}`; {suggestion(name, list(by_name))}"
                )
        order = [name for name in by_name if name in names]
        combined = together_of([by_name[name] for name in order])
        by_name = {
            (combined.name if name == order[-1] else name): (
                combined if name == order[-1] else other
            )
            for name, other in by_name.items()
            if name not in order[:-1]
        }
    return tuple(by_name.values())


def together_of(some: list[Exchange]) -> Exchange:
    """One factor of several, which the last one names first."""
    *others, last = some
    return Exchange(
        name="+".join([last.name, *(other.name for other in others)]),
        changes=(*last.changes, *(change for other in others for change in other.changes)),
        bound=last.bound if all(other.bound == last.bound for other in others) else 0,
    )


def _settings(sides: Sides) -> Iterable[Exchange]:
    """The settings that the arms' servers would run with, as far as the plan says them."""
    own = {
        arm.name: sides.configured(arm, arm) | dict(arm.settings) for arm in (sides.base, sides.arm)
    }
    base, arm = own[sides.base.name], own[sides.arm.name]
    same = files.same_values(sides.base.engine) if can(sides.base, "presets") else {}
    for name in dict.fromkeys([*base, *arm]):
        values = base.get(name), arm.get(name)
        alike = {None if value is None else normal(value, same.get(name, {})) for value in values}
        if len(alike) > 1:
            change = KeyChange(table="settings", key=name, base=values[0], arm=values[1])
            yield Exchange(name=name, changes=(change,), bound=_bound(name, sides))


def _bound(name: str, sides: Sides) -> int:
    """Whether a setting is bound: 1 where only the arm's version knows it, -1 only the base's."""
    if not can(sides.base, "presets"):
        return 0
    known = files.options(sides.base.engine)
    rule = {
        key: bounds[name] for key in ("since", "until") if name in (bounds := known.get(key, {}))
    }
    base, arm = (
        version.within(rule, version.release_of(sides.base.engine, sides.version_nums[arm.name]))
        for arm in (sides.base, sides.arm)
    )
    return int(arm) - int(base)


def _table(table: str, sides: Sides) -> Iterable[Exchange]:
    """Each key of a table of the arms that differs."""
    base, arm = (getattr(side, table) for side in (sides.base, sides.arm))
    for key in dict.fromkeys([*base, *arm]):
        if base.get(key) != arm.get(key):
            change = KeyChange(table=table, key=key, base=base.get(key), arm=arm.get(key))
            yield Exchange(name=key, changes=(change,))


def _keys(sides: Sides, *keys: str, name: str | None = None) -> Iterable[Exchange]:
    """Keys of the arms themselves, together one factor."""
    changes = tuple(
        KeyChange(table="", key=key, base=base, arm=arm)
        for key in keys
        for base, arm in [(getattr(sides.base, key), getattr(sides.arm, key))]
        if base != arm
    )
    if changes:
        yield Exchange(name=name or keys[0], changes=changes)


def _origin(sides: Sides) -> Iterable[Exchange]:
    """The server's program: recipe and version apart where both arms have a version."""
    if sides.base.version is not None and sides.arm.version is not None:
        yield from _keys(sides, "build")
        yield from _keys(sides, "version")
    else:
        yield from _keys(sides, *ORIGIN, name=SERVER)


def is_origin(factor: Exchange) -> bool:
    """Whether the factor changes which version of the server runs."""
    return any(change.table == "" and change.key in ORIGIN for change in factor.changes)


def _word(change: KeyChange, value: object) -> str:
    if value is None:
        return PREBUILT if change.key == BUILD else UNSET
    return str(value)
