"""Whose tables a step's set-up may drop on a server elsewhere."""

from typing import Any, cast

import pytest

from dbdyno import engine as engines
from dbdyno.engine import Server
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.run import dropped_tables

SETUP = (
    "SET x = 1",
    "DROP TABLE IF EXISTS sbtest1",
    "CREATE TABLE sbtest1 (id int)",
    "DROP TABLE IF EXISTS sbtest2",
    "CREATE TABLE sbtest2 (id int)",
)


class Theirs:
    """A server elsewhere with tables and their comments, which keeps what it is told."""

    name = "theirs"

    def __init__(
        self, tables: dict[str, str], *, engine: str = "postgres", drops_any: bool = False
    ) -> None:
        self.client = engines.of(engine).client
        self.tables = tables
        self.drops_any = drops_any
        self.remote = True
        self.told: list[str] = []

    def address(self) -> Address:
        return Address(host="db.example", port=5432, user="u", database="shop")

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        (first, *_) = statements
        if first.startswith("SELECT"):
            return [one for one in self.tables.items() if f"'{one[0]}'" in first]
        self.told += statements
        for sql in statements:
            words = sql.split()
            if sql.startswith("CREATE TABLE"):
                self.tables[words[2]] = ""
            if sql.startswith(dropped_tables.DROP):
                self.tables.pop(words[4], None)
            if "COMMENT" in sql:
                table = words[3] if words[0] == "COMMENT" else words[2]
                self.tables[table] = sql.split("'")[1]
        return []


def set_up(server: Theirs) -> None:
    dropped_tables.set_up(cast(Server, server), SETUP)


def test_a_table_that_is_not_the_labs_is_named_before_anything_is_dropped():
    server = Theirs({"sbtest2": "orders of the shop", "other": ""})
    with pytest.raises(ServerError) as caught:
        set_up(server)
    text = str(caught.value)
    assert "database `shop` of `db.example:5432`" in text and "`sbtest2`" in text
    assert "allow_drop = true" in text and "\n" not in text
    assert "sbtest1" not in text and "`other`" not in text
    assert not server.told


@pytest.mark.parametrize("engine", ["postgres", "mysql", "mariadb"])
def test_tables_that_the_lab_made_are_dropped_by_a_later_block_without_a_word(engine: str):
    server = Theirs({}, engine=engine)
    for _ in range(2):
        set_up(server)
        assert server.tables == {"sbtest1": dropped_tables.MARK, "sbtest2": dropped_tables.MARK}
    server.tables["sbtest1"] = "mine now"
    with pytest.raises(ServerError, match="`sbtest1`"):
        set_up(server)


def test_what_a_steps_own_statements_make_where_its_set_up_dropped_is_the_labs():
    server = Theirs({"other": ""})
    only_room = [sql for sql in SETUP if sql.startswith(dropped_tables.DROP)]
    dropped_tables.set_up(cast(Server, server), only_room)
    server.execute("CREATE TABLE sbtest1 (id int)")
    assert dropped_tables.made(cast(Server, server), (), only_room) is None
    assert server.tables == {"other": "", "sbtest1": dropped_tables.MARK}
    set_up(server)


def test_an_arm_that_may_drop_drops_and_marks_what_it_makes():
    server = Theirs({"sbtest1": "orders"}, drops_any=True)
    set_up(server)
    assert server.tables == {"sbtest1": dropped_tables.MARK, "sbtest2": dropped_tables.MARK}


def test_on_a_server_of_the_labs_own_nothing_is_asked_and_nothing_marked():
    server = Theirs({"sbtest1": "x"}, drops_any=True)
    server.remote = False
    set_up(server)
    assert server.told == list(SETUP)


def test_a_comment_that_a_workload_gives_its_table_stays():
    assert dropped_tables.marked("MERGE_THRESHOLD=40") == "MERGE_THRESHOLD=40 made by dbdyno"


def test_of_many_tables_the_message_names_some():
    server = Theirs({f"t{number}": "" for number in range(25)})
    with pytest.raises(ServerError, match=r"`t19` and 5 more; name another"):
        dropped_tables.refuse_others(cast(Server, server), list(server.tables))
