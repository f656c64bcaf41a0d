"""The constants of a preset's studies beside its settings: how clusters were made and reached.

A configuration takes them by the tag `_study`; what the arm itself says goes before them.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from dbdyno.engine.preset.files import STUDY
from dbdyno.engine.preset.render import Settings
from dbdyno.engine.settings import ArmSettings
from dbdyno.model import Arm, Initdb, Transport
from dbdyno.model.error import PlanError

OWN: Transport = "socket"
"""How the load connects where neither the arm nor a study says it."""


def initdb_of(arm: Arm, found: Settings) -> Initdb:
    """How `initdb` makes the arm's cluster; `found`: what its configuration asks for."""
    named = {name: found.study[name] for name in asdict(Initdb()) if name in found.study}
    return replace(Initdb(), **{**named, **arm.initdb})


def transport_of(arm: Arm, found: Settings, workloads: Collection[str]) -> Transport:
    """How the load of these workloads reaches the arm's server.

    Raises PlanError where the preset's studies reached theirs in several ways.
    """
    if arm.transport is not None:
        return arm.transport
    if not found.study:
        return OWN
    by_workload = {name: of_workload(found.study, name) for name in workloads} or {
        "": found.study["transport"]
    }
    ways = dict.fromkeys(by_workload.values())
    if len(ways) > 1:
        each = " and ".join(f"{way} for {name}" for name, way in by_workload.items())
        raise PlanError(
            f"arms.{arm.name}.config: the studies of `{arm.config}` used {each}: write "
            "`transport`, or a plan for each workload"
        )
    (way,) = ways
    return way


def of_workload(study: Mapping[str, Any], workload: str) -> Transport:
    """How the studies reached their servers in a workload."""
    way: Transport = study.get("transport_of", {}).get(workload, study["transport"])
    return way


def spelled_out(arm: Arm, settled: ArmSettings | None) -> Arm:
    """The arm with what its server has as keys of its own, in place of the tag in its `config`.

    What is the lab's own way is not said. None: the lab makes no server of it.
    """
    if settled is None:
        return arm
    return replace(
        arm,
        config=None if arm.config is None else arm.config.replace(f"_{STUDY}", ""),
        initdb=chosen(settled.initdb),
        transport=None if settled.transport == OWN else settled.transport,
    )


def chosen(of: Initdb) -> dict[str, str | bool | int]:
    """The keys in which it is not the lab's own way."""
    own = asdict(Initdb())
    return {name: value for name, value in asdict(of).items() if value != own[name]}


def listed(keys: Mapping[str, str | bool | int]) -> list[str]:
    """Keys of Initdb with their values, in words."""
    return [
        f"{name} = {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in keys.items()
    ]


def words(study: Mapping[str, Any]) -> str:
    """A study's constants for people, in a line."""
    said = listed({name: study[name] for name in asdict(Initdb()) if name in study})
    ways = study.get("transport_of", {})
    others = "".join(f" ({way} for {workload})" for workload, way in ways.items())
    return ", ".join([*said, f"transport = {study['transport']}{others}"])
