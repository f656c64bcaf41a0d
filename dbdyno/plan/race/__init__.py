"""`dyno race`: contenders and a few options become the TOML text of an ordinary plan.

Nothing here looks at the host: what is known of it is handed over.
"""

from __future__ import annotations

from dbdyno.plan.race.contender import Contender, Found, Here, contenders
from dbdyno.plan.race.text import MADE_BY, Race, name_of, text_of

__all__ = ["MADE_BY", "Contender", "Found", "Here", "Race", "contenders", "name_of", "text_of"]
