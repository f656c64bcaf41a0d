"""Texts that are one but for what is bound, or who sends them: queries and names of their own."""

from pathlib import Path

from captured_log import WrittenLog
from test_capture import captured


def test_texts_that_bind_other_places_are_other_queries(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "postgresql.csv")
    for text, values in (
        ("UPDATE t SET a = NULL, b = $1 WHERE id = $2", "$1 = 'x', $2 = '1'"),
        ("UPDATE t SET a = $1, b = NULL WHERE id = $2", "$1 = 'y', $2 = '2'"),
        ("UPDATE t SET a = NULL, b = NULL WHERE id = $1", "$1 = '3'"),
        ("UPDATE t SET a = $2, b = $1 WHERE id = $3", "$1 = 'b', $2 = 'a', $3 = '4'"),
        ("UPDATE t SET a = $1, b = $2 WHERE id = $3", "$1 = 'a', $2 = 'b', $3 = '5'"),
    ):
        log.bound(text, values)
    application = captured(log, tmp_path / "app")
    assert {application.text(name): application.values(name) for name in application.queries} == {
        "UPDATE t SET a = NULL, b = $1 WHERE id = $2": [(1, ["x", "1"])],
        "UPDATE t SET a = $1, b = NULL WHERE id = $2": [(1, ["y", "2"])],
        "UPDATE t SET a = NULL, b = NULL WHERE id = $1": [(1, ["3"])],
        "UPDATE t SET a = $2, b = $1 WHERE id = $3": [(1, ["b", "a", "4"])],
        "UPDATE t SET a = $1, b = $2 WHERE id = $3": [(1, ["a", "b", "5"])],
    }


def test_names_do_not_depend_on_what_costs_more(tmp_path: Path) -> None:
    names = []
    for times in ((1.0, 9.0), (9.0, 1.0)):
        log = WrittenLog(tmp_path / f"{times[0]}.csv")
        for user, milliseconds in zip(("app", "admin"), times, strict=True):
            log.call("SELECT a FROM t", milliseconds, user=user, session=user)
        application = captured(log, tmp_path / f"app{times[0]}")
        names.append({query["role"]: name for name, query in application.queries.items()})
    assert names[0] == names[1]
