"""`dyno race`: arms and a few options become the TOML text of an ordinary plan.

Nothing here looks at the host: what is known of it is handed over.
"""

from dbdyno.plan.race.arm import CONFIGS, NO_CONFIG, HostServers, RaceArm, RaceServer, arms
from dbdyno.plan.race.text import MADE_BY, Race, name_of, text_of

__all__ = [
    "CONFIGS",
    "MADE_BY",
    "NO_CONFIG",
    "HostServers",
    "Race",
    "RaceArm",
    "RaceServer",
    "arms",
    "name_of",
    "text_of",
]
