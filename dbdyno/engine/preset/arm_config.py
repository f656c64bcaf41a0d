"""The configuration that an arm names: a preset, sized to the host, or a file of one's own.

docs/servers.md tells the meaning of presets and how their sizes follow.
"""

from collections.abc import Callable
from dataclasses import replace

from dbdyno.engine.preset import Settings, parse, render
from dbdyno.model import Arm
from dbdyno.model.error import PlanError
from dbdyno.model.size import UNITS, Capacity, buffer_bytes, bytes_of, text_of

__all__ = ["UNITS", "Settings", "buffer_bytes", "bytes_of", "of_arm", "render", "text_of"]


Read = Callable[[str, str, int], Settings]
"""Reads a configuration file's text, whose name it is told, for a server of this version."""


def of_arm(arm: Arm, capacity: Capacity, version_num: int, read: Read) -> Settings:
    """The settings of an arm's `config` alone: a preset is sized to its `memory` or the host's.

    None of them where the arm names none. Raises PlanError that names the arm.
    """
    if arm.config is None:
        return Settings(values={}, departures=())
    where = f"arms.{arm.name}"
    if arm.config_text is not None:
        return read(arm.config_text, f"{where}.config: {arm.config}", version_num)
    try:
        memory_bytes = bytes_of(arm.memory) if arm.memory else capacity.memory_bytes
    except PlanError as error:
        raise PlanError(f"{where}.memory: {error}") from error
    try:
        return render(
            parse(arm.config, arm.engine),
            capacity=replace(capacity, memory_bytes=memory_bytes),
            version_num=version_num,
        )
    except PlanError as error:
        raise PlanError(f"{where}.{error}") from error
