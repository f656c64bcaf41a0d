"""A folder that mydumper wrote becomes the SQL of one dump, in an order that restores."""

from pathlib import Path

import pytest

import mydumper_folder
from dbdyno.engine.mysql import mydumper
from dbdyno.engine.mysql.restore import contents_of
from dbdyno.engine.restore import restored_bytes
from dbdyno.model.error import PlanError


@pytest.mark.parametrize("packed", [False, True])
def test_definitions_come_first_then_rows_then_what_acts_on_them(tmp_path: Path, packed: bool):
    folder = mydumper_folder.write(tmp_path / "dump", packed=packed)
    assert mydumper.is_one(folder)
    mydumper.refuse(folder)
    whole = b"".join(mydumper.lines(folder)).decode()
    places = [
        whole.index(mark)
        for mark in (
            "CREATE TABLE `orders`",
            "INSERT INTO `orders`",
            "VIEW `c`",
            "TRIGGER t",
            "EVENT e",
        )
    ]
    assert places == sorted(places)
    assert "CREATE DATABASE" not in whole
    assert "SET NEW.note = 'noted'; \nSET NEW.who = 'x'; \nEND$$dyno$$\n" in whole
    assert whole.count("DELIMITER $$dyno$$") == whole.count("DELIMITER ;") == 3
    contents = contents_of(mydumper.definitions(folder), folder)
    assert contents.definers == (("app", "localhost"),)
    assert mydumper.dumped(folder) == "2026-11-20T10:00:00"
    assert restored_bytes(folder) > 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("shop.orders.00001.dat", "has rows as files of LOAD DATA"),
        ("shop.orders.00001.sql.zst", "unpack it"),
        ("other.t-schema.sql", "has 2 databases: dump the one that is raced"),
    ],
)
def test_what_the_client_does_not_take_is_a_line(tmp_path: Path, name: str, reason: str) -> None:
    folder = mydumper_folder.write(tmp_path / "dump")
    (folder / name).write_text("x")
    with pytest.raises(PlanError, match=reason):
        mydumper.refuse(folder)


def test_a_dump_without_a_table_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text("")
    with pytest.raises(PlanError, match="has no table"):
        mydumper.refuse(tmp_path)
