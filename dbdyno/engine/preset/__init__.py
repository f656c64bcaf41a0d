"""Presets: published server settings as data, by name and tags, for an engine, version and host.

Nothing here reads anything but the files of the package, engine/*/presets.
"""

from dbdyno.engine.preset.name import parse
from dbdyno.engine.preset.render import Settings, render
from dbdyno.model.size import Capacity

__all__ = ["Capacity", "Settings", "parse", "render"]
