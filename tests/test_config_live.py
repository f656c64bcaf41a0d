"""Presets as real servers read them: every value of every preset and tag is one that they take."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mysql_place
from dbdyno.engine.mysql import settings as mysql_settings
from dbdyno.engine.postgres import build as fetch
from dbdyno.engine.postgres import settings
from dbdyno.engine.preset import Capacity, files
from dbdyno.host import account
from dbdyno.model import Arm
from dbdyno.model.error import PlanError
from server_place import a_place, each

LARGE = Capacity(cores=8, memory_bytes=512 << 30, free_disk_bytes=None)


def arms(engine: str) -> list[Arm]:
    """An arm of every preset, and of the first one with each tag and with each host's size."""
    listed = files.presets(engine)
    first = next(name for name in listed if name.endswith("12a") or name == "x10a")
    tags = [tag.name.replace(files.NUMBER, "2") for tag in files.tags(engine)]
    tags += [size.name for size in listed[first].sizes]
    names = [name.replace(files.NUMBER, "4") for name in listed]
    names += [f"{first}_{tag}" for tag in tags]
    # `_study` names a locale that this host may lack; an arm's own goes before it.
    own = {"locale": "C"} if engine == "postgres" else {}
    return [
        Arm(name="a", engine=engine, base_dir=Path(), config=name, initdb=own) for name in names
    ]


def together(all_values: list[dict[str, str]]) -> Iterator[dict[str, str]]:
    """The same values of the same options in few files: the nth has the nth value of each."""
    seen: dict[str, dict[str, None]] = {}
    for values in all_values:
        for name, value in values.items():
            seen.setdefault(name, {})[value] = None
    for number in range(max(map(len, seen.values()))):
        yield {name: [*values][min(number, len(values) - 1)] for name, values in seen.items()}


@pytest.mark.capability("presets")
@pytest.mark.live
def test_a_server_of_mysql_takes_every_value_of_every_preset_and_tag(mysql_engine: str):
    engine = mysql_engine
    build = mysql_place.build_of(engine)
    settled = [dict(mysql_settings.settle(arm, build, LARGE).values) for arm in arms(engine)]
    arm = arms(engine)[0]
    with a_place(engine) as place:
        for values in together(settled):
            mysql_settings.verify(arm, build, values, place.account, place.run_root)
        broken = settled[0] | {"innodb_flush_methods": "0"}
        with pytest.raises(PlanError, match=r"no such option; did you mean `innodb_flush_method`"):
            mysql_settings.verify(arm, build, broken, place.account, place.run_root)


@pytest.mark.capability("presets")
@pytest.mark.live
@pytest.mark.parametrize("base_dir", each(), ids=lambda path: path.name)
def test_a_server_of_postgresql_takes_every_value_of_every_preset_and_tag(base_dir: Path):
    build = fetch.inspect(base_dir, "here", account.choose("postgres"))
    found = [
        dict(settings.settle(arm, build.version_num, LARGE).values) for arm in arms("postgres")
    ]
    for values in found:
        for name, value in list(values.items()):
            if value in settings.COMPILED_IN:
                del values[name]  # a build need not have them
    with a_place() as place:
        for values in together(found):
            arm = arms("postgres")[0]
            settings.verify(arm, build, values, place.account, place.run_root)


@pytest.mark.live
@pytest.mark.parametrize("base_dir", each(), ids=lambda path: path.name)
def test_what_a_build_was_not_made_with_is_refused_with_what_to_do(base_dir: Path):
    build = fetch.inspect(base_dir, "here", account.choose("postgres"))
    names = {"io_uring": "x10d"}
    if build.version_num >= 150000:  # before, it was compressed in one way that all builds know
        names["lz4"] = "x10a_compLZ4"
    lacking = []
    with a_place() as place:
        for word, name in names.items():
            arm = Arm(name="a", engine="postgres", base_dir=base_dir, config=name)
            values = settings.settle(arm, build.version_num, LARGE).values
            try:
                settings.verify(arm, build, values, place.account, place.run_root)
            except PlanError as error:
                lacking.append(str(error))
                assert f"`{name}` sets " in str(error)
                assert f'"{word}"' in str(error)
                assert "use a build made with it (`dyno server build postgres " in str(error)
