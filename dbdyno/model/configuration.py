"""The configurations of a plan's arms, in words."""

from collections.abc import Mapping
from pathlib import PurePath

from dbdyno.model.grouping import grouped

OWN = "the server's own defaults"
"""Where no preset and no file is named."""
OF_SOURCE = "the source's settings"
"""Where an arm takes those of the server from which queries were captured."""


def described(configs: Mapping[str, str | None]) -> str:
    """The configuration of all arms, or of each: `x10a (pg17), x10b (pg18)`; None: OWN.

    A file is called by its name.
    """
    arms = grouped(
        (OWN if config is None else PurePath(config).name, arm) for arm, config in configs.items()
    )
    if len(arms) == 1:
        return next(iter(arms))
    return ", ".join(f"{config} ({', '.join(names)})" for config, names in arms.items())
