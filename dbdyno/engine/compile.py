"""How each engine's sources are compiled."""

from __future__ import annotations

from functools import partial

from dbdyno.builds.compile import Method
from dbdyno.engine.mysql import compile
from dbdyno.engine.postgres import compile as compile_postgres


def method_of(engine: str) -> Method:
    """How sources of the engine are built."""
    if engine == "postgres":
        return Method(
            version=compile_postgres.version,
            steps=compile_postgres.steps,
            ignored=lambda said, options: None,  # what configure does not know was refused
            explain=compile_postgres.explain,
        )
    return Method(
        version=partial(compile.version, engine=engine),
        steps=partial(compile.steps, engine=engine),
        ignored=compile.ignored,
        explain=compile.explain,
    )
