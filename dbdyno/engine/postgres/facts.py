"""Reads a running PostgreSQL: version, compiler, every setting."""

import re

from dbdyno.engine.interface import Executor
from dbdyno.engine.settings import without_secrets
from dbdyno.model.server_facts import ServerFacts

UNPINNED = "RESET ALL"
"""Leaves what every session of the user begins with."""
SETTINGS = """
SELECT name, CASE WHEN source = 'client' THEN boot_val ELSE current_setting(name, true) END,
       source NOT IN ('default', 'override', 'client') AND setting IS DISTINCT FROM boot_val,
       version()
FROM pg_settings ORDER BY name"""
COMPILER = re.compile(r"compiled by (.+?)(?:, \d+-bit)?$")
"""`PostgreSQL 17.6 on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit`."""


def ask(execute: Executor, engine: str) -> ServerFacts:
    """The part of server.json (docs/results.md) that the server itself knows.

    By one connection, as each takes a second where the server runs under a counter.
    """
    rows = execute(UNPINNED, SETTINGS)
    settings = without_secrets({name: value for name, value, *_ in rows})
    version_text = rows[0][-1]
    return ServerFacts(
        engine=engine,
        version=settings["server_version"].split()[0],
        version_text=version_text,
        version_num=int(settings["server_version_num"]),
        compiler=compiler_of(version_text),
        block_size=int(settings["block_size"]),
        settings=settings,
        nondefault={name: settings[name] for name, _, changed, _ in rows if changed},
        data_checksums=settings["data_checksums"],
    )


def compiler_of(version_text: str) -> str | None:
    """The compiler that version() names; None where it names none."""
    found = COMPILER.search(version_text)
    return found[1] if found else None
