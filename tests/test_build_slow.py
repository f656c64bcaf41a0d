"""A real PostgreSQL from its source: built, started, and told in its facts."""

import os
from pathlib import Path

import pytest

from dbdyno import engine
from dbdyno.builds import compile, source
from dbdyno.builds import flags as recipe
from dbdyno.builds.compile import BuildRequest
from dbdyno.engine import Place
from dbdyno.engine.postgres import extension, modules
from dbdyno.engine.postgres.server import PostgresServer
from dbdyno.host import capacity
from dbdyno.model import Arm
from server_place import started

SOURCE = os.environ.get("DYNO_SOURCE", "")
EXTENSION = Path(__file__).parent.parent / "docs" / "howto" / "extension"


@pytest.mark.slow
@pytest.mark.skipif(
    not SOURCE, reason="DYNO_SOURCE names no tarball of PostgreSQL: `make test-slow`"
)
def test_a_real_postgres_and_an_extension_are_built_and_run_with_the_flags_of_a_recipe(
    place: Place,
):
    wish = BuildRequest(
        engine="postgres",
        name="pg_o2nofp",
        source=source.identify(str(Path(SOURCE).absolute())),
        flags=recipe.named(engine.recipes("postgres"), "o2nofp"),
        jobs=capacity.cores(),
        modules=("earthdistance",),
    )
    server = compile.build(wish, engine.of("postgres").method(), print, place.cache_root)
    folder = source.identify(str(EXTENSION))
    beside = extension.request("with_digits", folder, server, jobs=1, replace=False)
    compile.build(beside, extension.method(server), print, place.cache_root)
    arm = Arm(name="a", engine="postgres", build="with_digits")
    with started(arm, place) as running:
        ((flags,),) = running.execute("SELECT setting FROM pg_config WHERE name = 'CFLAGS'")
        assert isinstance(running, PostgresServer)
        assert flags.endswith("-O2 -fno-omit-frame-pointer")
        for name in (*modules.OF_LAB, "cube", "earthdistance", "digits"):
            assert running.has_extension(name)
            running.execute(f"CREATE EXTENSION {name}")
        assert not running.has_extension("hstore")
        assert running.execute("SELECT digit_sum(1234)") == [(10,)]
        build = running.facts().build
        assert build and (build.name, build.flags) == ("with_digits", wish.flags.words)
        assert "lz4" in (build.features or ())
        running.execute("CREATE TABLE t (a text COMPRESSION lz4)")
