"""Capture on real servers of MySQL and MariaDB: values come back exactly, counts as they are."""

import json
import random
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from captured_mysql import DATABASE, MADE, MARKER, connect, opened, run, settings
from dbdyno.capture.capturing import CaptureRequest, capture
from dbdyno.capture.view import ViewedServer
from dbdyno.engine import LabServer
from dbdyno.engine.mysql.flavour import of
from dbdyno.model.error import DynoError
from mysql_place import ENGINES, an_arm, needs
from server_place import a_place, address, started, within

pytestmark = pytest.mark.live

PIECES = ("'", '"', "\\", "\n", "\r\n", "\t", "$1", "?", "--", "-- ", "# Time: ", "/*", "*/", ";")
WORDS = (
    "x",
    "O'Brien",
    "%s",
    " ",
    "NULL",
    "\\'",
    "日本",
    "ü",
    "0",
    ";\n# User@Host: a[a] @ b []\n",
)
VALUES = 60


@pytest.fixture(params=ENGINES, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server that logs everything, with the application's tables."""
    arm = an_arm(request.param, transport="tcp", settings=settings())
    with a_place(request.param) as place, started(arm, place) as made:
        connect(made, *MADE)
        yield made


def captured(out: Path, **sources: Any) -> dict[str, Any]:
    wish = CaptureRequest(**{"logs": [], "server": None, "engine": "", "out": out} | sources)
    capture(wish, lambda line: None)
    file = tomllib.loads((out / "workload.toml").read_text())
    return file | {"texts": {(out / q["text"]).read_text(): q for q in file["queries"].values()}}


def log_of(server: LabServer, name: str, folder: Path, last: str) -> Path:
    """A copy of the server's log, once it has its last statement: an answer comes before."""
    assert server.data_dir is not None
    log = server.data_dir / name
    assert within(60, lambda: last.encode() in log.read_bytes())
    return Path(shutil.copy(log, folder / name))


@pytest.mark.capability("capture")
@pytest.mark.parametrize("log", ["slow.log", "general.log"])
def test_any_value_comes_back_as_it_was(server: LabServer, log: str, tmp_path: Path) -> None:
    drawn = random.Random(7)
    sent = ["".join(drawn.choices(PIECES + WORDS, k=drawn.randint(0, 6))) for _ in range(VALUES)]
    connection = opened(server, DATABASE)
    mark = log.partition(".")[0]
    with connection.cursor() as cursor:
        for value in sent:
            said = connection.escape(value)
            cursor.execute(f"SELECT '{mark}' AS mark, name FROM products WHERE name = {said}")
            cursor.fetchall()
        cursor.execute(f"SELECT 'the end of {mark}'")
    connection.close()
    copy = log_of(server, log, tmp_path, f"the end of {mark}")
    file = captured(tmp_path / "app", logs=[copy], database=DATABASE)
    text = "SELECT $1 AS mark, name FROM products WHERE name = $2\n"
    if text not in file["texts"]:
        text = f"SELECT '{mark}' AS mark, name FROM products WHERE name = $1\n"
    lines = (tmp_path / "app" / file["texts"][text]["values"]).read_text().splitlines()
    came: list[str] = []
    for line in map(json.loads, lines):
        if len(line["values"]) == 1 or line["values"][0] == mark:
            came += [line["values"][-1]] * line["weight"]
    assert sorted(came) == sorted(sent)


def test_digests_give_queries_with_a_sample_of_values(server: LabServer, tmp_path: Path) -> None:
    connection = opened(server, DATABASE)
    run(connection)
    connection.close()
    needs(server.engine, "sample of a statement's values", mysql=80000)
    place = ViewedServer("source `mysql://…`", address(server))
    sources = {"server": place, "engine": server.engine, "database": DATABASE}
    if of(server.engine).samples_from is None:
        with pytest.raises(DynoError, match=r"without a text that could be run .*: name its slow"):
            captured(tmp_path / "app", **sources)
        log = log_of(server, "slow.log", tmp_path, "FROM nowhere")
        beside = captured(tmp_path / "beside", logs=[log], **sources)
        (update,) = [q for text, q in beside["texts"].items() if text.startswith("UPDATE products")]
        assert (update["calls"], update["rows"]) == (2, 3)
        assert beside["source"]["settings"] == {"innodb_buffer_pool_size": "67108864"}
        return
    file = captured(tmp_path / "app", **sources)
    (update,) = [q for text, q in file["texts"].items() if text.startswith("UPDATE products")]
    assert (update["calls"], update["writes"], update["rows"]) == (2, True, 3)
    assert file["source"]["settings"]["innodb_buffer_pool_size"] == "67108864"
    at_large = replace(place, address=replace(place.address, database=""))
    again = captured(tmp_path / "again", server=at_large, engine=server.engine)
    assert again["texts"].keys() == file["texts"].keys()
    log = log_of(server, "slow.log", tmp_path, "FROM nowhere")
    both = captured(tmp_path / "both", logs=[log], **sources)
    (joined,) = [q for text, q in both["texts"].items() if text.startswith("UPDATE products")]
    assert (joined["calls"], joined["rows"], joined["time_s"]) == (2, 3, update["time_s"])
    assert len((tmp_path / "both" / joined["values"]).read_text().splitlines()) == 2
    (values,) = [
        (tmp_path / "app" / q["values"]).read_text()
        for text, q in file["texts"].items()
        if text.startswith("SELECT p.name")
    ]
    assert json.loads(values)["values"][0] == MARKER


def test_a_missing_grant_is_named(server: LabServer, tmp_path: Path) -> None:
    if of(server.engine).samples_from is None:
        pytest.skip("MariaDB keeps no texts to grant; `dyno server fetch mysql 9.7` has them")
    needs(server.engine, "sample of a statement's values", mysql=80000)
    connect(server, "CREATE USER reader", "GRANT SELECT ON shop.* TO reader")
    place = ViewedServer(
        "source `mysql://…`", replace(address(server), user="reader", database=DATABASE)
    )
    line = "GRANT SELECT ON performance_schema.* TO `reader`"
    with pytest.raises(DynoError, match=line.replace("*", r"\*")):
        captured(tmp_path / "app", server=place, engine="mysql")
    connect(server, line)
    file = captured(tmp_path / "app", server=place, engine="mysql")
    assert file["source"]["engine"] == "mysql"
