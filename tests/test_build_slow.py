"""A real PostgreSQL from its source: built, started, and told in its facts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbdyno import engine
from dbdyno.builds import compile, source
from dbdyno.builds import flags as recipe
from dbdyno.builds.compile import BuildRequest
from dbdyno.engine import Place
from dbdyno.engine.postgres.server import PostgresServer
from dbdyno.host import capacity
from dbdyno.model import Arm
from server_place import started

SOURCE = os.environ.get("DYNO_SOURCE", "")


@pytest.mark.slow
@pytest.mark.skipif(
    not SOURCE, reason="DYNO_SOURCE names no tarball of PostgreSQL: `make test-slow`"
)
def test_a_real_postgres_is_built_and_runs_with_the_flags_of_its_recipe(place: Place):
    wish = BuildRequest(
        engine="postgres",
        name="pg_o2nofp",
        source=source.identify(str(Path(SOURCE).absolute())),
        flags=recipe.named(engine.recipes("postgres"), "o2nofp"),
        jobs=capacity.cores(),
    )
    compile.build(wish, engine.of("postgres").method(), print, place.cache_root)
    arm = Arm(name="a", engine="postgres", build="pg_o2nofp")
    with started(arm, place) as server:
        ((flags,),) = server.execute("SELECT setting FROM pg_config WHERE name = 'CFLAGS'")
        assert flags.endswith("-O2 -fno-omit-frame-pointer")
        for extension in ("pg_prewarm", "pgstattuple", "pg_buffercache"):
            assert isinstance(server, PostgresServer) and server.has_extension(extension)
            server.execute(f"CREATE EXTENSION {extension}")
        build = server.facts().build
        assert build and (build.name, build.recipe) == ("pg_o2nofp", "o2nofp")
        assert "lz4" in (build.features or ())
        server.execute("CREATE TABLE t (a text COMPRESSION lz4)")
