"""Presets: published server settings as data, by name and tags, for an engine, version and host.

Nothing here reads anything but the files of the package, dbdyno/configs.
"""

from __future__ import annotations

from dbdyno.preset.capacity import Capacity
from dbdyno.preset.name import parse
from dbdyno.preset.render import Settings, render
from dbdyno.preset.show import listing, show

__all__ = ["Capacity", "Settings", "listing", "parse", "render", "show"]
