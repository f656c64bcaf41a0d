"""The arms of a race as a person writes them: `17`, `mysql:9.7`, a folder, a build, a DSN.

After a semicolon come settings of this arm alone: `18;jit=off`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from dbdyno import engine as engines
from dbdyno.engine import preset
from dbdyno.engine.preset.files import Preset
from dbdyno.model import engine, version
from dbdyno.model.document import suggestion
from dbdyno.model.error import PlanError
from dbdyno.model.version import Version
from dbdyno.plan.arm import SETTING
from dbdyno.plan.schema import VERSION

CONFIGS = ("x10a", "x10b", "z12a")
"""The published base configurations; an arm takes the first that is for its version."""
NO_CONFIG = "default"
"""`--config default`: the server's own defaults."""
OF_DSN = ("env", "passfile", "insecure", "allow_drop", "allow_writes")
"""Keys of an arm that runs elsewhere; it has no others."""
SWITCHES = ("insecure", "allow_drop", "allow_writes")
FORMS = "a version (17), engine:version (mysql:9.7), a folder, a build's name or a DSN"
FOR_RECIPE = "`build` names a recipe for a version or for a source, as 18;build=o2nofp"
PROGRAMS = ("postgres", "pg_ctl", "mysqld", "mysqld_safe", "mariadbd", "mariadbd-safe")
PLACES = ("bin", "sbin", "libexec")
"""Folders within a server's that have its program."""
USUAL = (*PLACES, "usr", "local", "opt", "install", "installed", "inst", "build", "root", "home")
"""Names of folders that say of no server which it is."""
ODD = re.compile(r"[^A-Za-z0-9._+-]+")
NAME_MAX = 40
URI = re.compile(r"[a-z]+://")
ENGINE = re.compile(r"([a-z]+)(?::(.*))?")


@dataclass(frozen=True, kw_only=True)
class RaceServer:
    """A server that is on this host."""

    engine: str
    version: str
    build: str | None = None  # its name, where dyno compiled it


@dataclass(frozen=True, kw_only=True)
class HostServers:
    """The servers that a host has; functions raise DynoError."""

    builds: Mapping[str, RaceServer]  # that dyno compiled, by their names
    # The server in a folder, or of the source in it, compiled by a recipe where one is named.
    folder: Callable[[Path, str | None], RaceServer]
    newest: Callable[[str], str]  # the newest version of an engine that can be had


@dataclass(frozen=True, kw_only=True)
class RaceArm:
    """An arm of the plan to be."""

    name: str
    engine: str
    origin: Mapping[str, str]  # keys of the arm that say where its server comes from
    config: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    access: Mapping[str, str | bool | Mapping[str, str | bool]] = field(default_factory=dict)

    @property
    def elsewhere(self) -> bool:
        """Whether its server is not made here."""
        return "dsn" in self.origin


def arms(
    written: Sequence[str], settings: Sequence[str], configs: Sequence[str], here: HostServers
) -> tuple[RaceArm, ...]:
    """The arms of a race. A single arm races itself with `settings`, which the last takes.

    `configs`: each takes the first for its version. Raises PlanError for what cannot race.
    """
    if not written:
        raise PlanError(f"no arm: name two, each {FORMS}")
    if len(written) == 1 and not settings:
        raise PlanError(
            "one arm: name a second, or what differs: "
            f"dyno race {shown(written[0])} --set NAME=VALUE"
        )
    texts = list(written) if len(written) > 1 else [written[0], written[0]]
    texts[-1] = ";".join([texts[-1], *settings])
    every = [arm(text, configs, here) for text in texts]
    arms: list[RaceArm] = []
    for named_arm in map(lambda arm, name: replace(arm, name=name), every, apart(every)):
        names = [other.name for other in arms]
        again = 2 + sum(re.fullmatch(rf"{re.escape(named_arm.name)}(-\d+)?", each) is not None
                        for each in names) - 1  # fmt: skip
        arms.append(
            replace(named_arm, name=f"{named_arm.name}-{again}")
            if named_arm.name in names
            else named_arm
        )
    return tuple(arms)


def arm(text: str, configs: Sequence[str], here: HostServers) -> RaceArm:
    """An arm from what a person wrote. Raises PlanError that begins with it."""
    place, *pairs = text.split(";")
    where = f"arm `{shown(text)}`"
    keys = dict(pair_of(pair, where) for pair in pairs)
    if URI.match(place):
        return of_dsn(place, keys, where)
    place_arm, release = of_place(place, keys.pop("build", None), where, here)
    for key in OF_DSN:
        if key in keys:
            raise PlanError(f"{where}: `{key}` is for a server that runs elsewhere; remove it")
    wanted = [keys.pop("config")] if "config" in keys else configs
    for key in keys:
        if not SETTING.fullmatch(key):
            raise PlanError(f"{where}: {key!r} cannot be a setting's name")
    ending = "".join(f"-{key}-{value}" for key, value in keys.items())
    return replace(
        place_arm,
        name=named(place_arm.name + ending),
        config=config_of(wanted, place_arm.engine, release, where),
        settings=keys,
    )


def shown(text: str) -> str:
    """The text of an arm, without a password that may be in it."""
    return re.sub(r"(://[^:/@\s]*):[^@/\s]*@", r"\1:…@", text)


def pair_of(text: str, where: str) -> tuple[str, str]:
    """A setting and its value, from `key=value`. Raises PlanError."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not key or not equals or not value:
        raise PlanError(f"{where}: `{text}` is no setting; write it as jit=off")
    return key, value


def named(text: str, length_max: int = NAME_MAX) -> str:
    """A text as a name: no characters that a folder's name should not have."""
    return ODD.sub("_", text).strip("._+-")[:length_max].rstrip("._+-") or "arm"


# --- Where a server comes from ---------------------------------------------------------------


def of_place(
    place: str, recipe: str | None, where: str, here: HostServers
) -> tuple[RaceArm, Version]:
    """A server of this host, without settings, and the series that it is of. Raises PlanError."""
    match = ENGINE.fullmatch(place)
    if VERSION.fullmatch(place):
        return of_version(next(iter(engine.TRAITS)), place, recipe)
    if match is not None and match[1] in engine.having("made"):
        release = match[2] if match[2] is not None else here.newest(match[1])
        if not VERSION.fullmatch(release):
            example = f"{match[1]}:{engine.of(match[1]).newest}"
            raise PlanError(f"{where}: no version `{release}`; write it as {example}")
        return of_version(match[1], release, recipe, name=None if match[2] else match[1])
    if "/" in place or place.startswith(("~", ".")):
        folder = base_of(Path(place).expanduser().absolute())
        server = here.folder(folder, recipe)
        origin = {"build": server.build} if server.build else {"base_dir": str(folder)}
        return of_found(server, telling(folder), origin)
    if recipe is not None:
        raise PlanError(f"{where}: {FOR_RECIPE}")
    if place in here.builds:
        return of_found(here.builds[place], place, {"build": place})
    known = [*engine.having("made"), *here.builds]
    near = suggestion(match[1] if match is not None else place, known)
    remedy = near if near.startswith("did you mean") else f"write {FORMS}"
    raise PlanError(f"{where}: there is no such server; {remedy}")


def of_version(
    engine_name: str, release: str, recipe: str | None, name: str | None = None
) -> tuple[RaceArm, Version]:
    """A server by its version, brought, built by a recipe, or found under the usual paths."""
    name = name or f"{engine.of(engine_name).short}{release}"
    origin = {"version": release} | ({"build": recipe} if recipe else {})
    name += f"-{recipe}" if recipe else ""
    return RaceArm(name=name, engine=engine_name, origin=origin), series(engine_name, release)


def base_of(path: Path) -> Path:
    """The folder of a server of which a path names its program, or the folder of that."""
    if path.name in PROGRAMS:
        path = path.parent
    return path.parent if path.name in PLACES else path


def telling(folder: Path) -> str:
    """The last part of a folder's path that says which server is there; "" if none does."""
    return next((name for name in reversed(folder.parts[1:]) if name not in USUAL), "")


def apart(arms: Sequence[RaceArm]) -> list[str]:
    """The arms' names; of those that are called alike with the part of the place that differs."""
    names = [arm.name for arm in arms]
    for name in {name for name in names if names.count(name) > 1}:
        alike = [at for at, arm in enumerate(arms) if arm.name == name]
        paths = (reversed(Path(*arms[at].origin.values()).parts) for at in alike)
        places = zip(*paths, strict=False)
        above = next((parts for parts in places if len(set(parts)) == len(parts)), ())
        for at, part in zip(alike, above, strict=False):
            names[at] = named(f"{part}-{name}")
    return names


def of_found(found: RaceServer, name: str, origin: Mapping[str, str]) -> tuple[RaceArm, Version]:
    """A server that lies here; one that is called by figures alone has its engine before them."""
    short = engine.of(found.engine).short
    name = short + name if VERSION.fullmatch(name) else name or f"{short}{found.version}"
    return (
        RaceArm(name=name, engine=found.engine, origin=origin),
        series(found.engine, found.version),
    )


def of_dsn(uri: str, keys: Mapping[str, str], where: str) -> RaceArm:
    """A server that runs elsewhere, and how it is entered. Raises PlanError."""
    forms = {
        scheme: name
        for name in reversed(engine.having("clock"))
        for scheme in engines.of(name).dsn.schemes
    }
    parts = urlsplit(uri)
    if parts.scheme not in forms:
        raise PlanError(f"{where}: no engine has `{parts.scheme}://`; there are {', '.join(forms)}")
    if parts.password is not None:
        raise PlanError(
            f"{where}: remove the password, which would come into results, and name its place: "
            ";env=NAME or ;passfile=FILE"
        )
    for key, value in keys.items():
        if key not in OF_DSN:
            allowed = ", ".join(OF_DSN)
            raise PlanError(f"{where}: a server elsewhere takes no `{key}`, but {allowed}")
        if key in SWITCHES and value not in ("true", "false"):
            raise PlanError(f"{where}: `{key}` has to be true or false, not `{value}`")
    password: dict[str, str | bool] = {}
    if "env" in keys:
        password["env"] = keys["env"]
    if "passfile" in keys:
        password["passfile"] = str(Path(keys["passfile"]).expanduser().absolute())
    if password and keys.get("insecure") == "true":
        password["insecure"] = True
    access: dict[str, str | bool | Mapping[str, str | bool]] = {}
    if password:
        access["password"] = password
    for key in ("allow_drop", "allow_writes"):
        if keys.get(key) == "true":
            access[key] = True
    engine_name = forms[parts.scheme]
    host = parts.hostname or engine.of(engine_name).short
    host += f"-{parts.port}" if parts.port is not None else ""
    return RaceArm(name=named(host), engine=engine_name, origin={"dsn": uri}, access=access)


def series(engine_name: str, release: str) -> Version:
    """The series that a version is of: (17,) of 17.6, (19,) of 19devel, (8, 4) of MySQL's 8.4.6."""
    number = version.NUMBER.match(release)
    assert number is not None, "servers say a version that begins with a number"
    return version.series(engine_name, version.bound(number[0]))


# --- Its configuration -----------------------------------------------------------------------


def config_of(configs: Sequence[str], engine_name: str, release: Version, where: str) -> str | None:
    """The first of `configs` for this version of the engine, else the first for the engine.

    A file of one's own is for any. None: the server's defaults. Raises PlanError where none is for
    the engine.
    """
    of_engine: list[str] = []
    reason = ""
    for config in configs:
        if config == NO_CONFIG:
            return None
        if "/" in config or Path(config).suffix in (".conf", ".cnf"):
            return str(Path(config).expanduser().absolute())
        try:
            chosen = preset.parse(config, engine_name).preset
        except PlanError as error:
            reason = str(error)
            continue
        if is_for(chosen, release):
            return config
        of_engine.append(config)
    if not of_engine:
        raise PlanError(f"{where}: {reason}")
    return of_engine[0]


def is_for(chosen: Preset, release: Version) -> bool:
    """Whether a preset is published for this version."""
    least, most = chosen.versions_min, chosen.versions_max
    if most is not None and release[: len(version.bound(most))] > version.bound(most):
        return False
    return least is None or release >= version.bound(least)
