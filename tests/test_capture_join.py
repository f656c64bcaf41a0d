"""A view's counts go to the log's queries of the same statement, each count once."""

from dbdyno.capture import join
from dbdyno.capture.call import Call, Way
from dbdyno.capture.gather import Query, QueryCalls, queries_of
from dbdyno.capture.postgres_sql import PostgresSql
from dbdyno.capture.view import ServerView, StatementCost, difference

SQL = PostgresSql()


def logged(*calls: tuple[str, Way, int]) -> list[Query]:
    """The queries of a log with these texts; bound ones have a value for $1."""
    gathered = QueryCalls(SQL)
    for text, way, query_id in calls:
        values = None if way == "simple" else ("5",)
        gathered.add(
            Call(
                end_s=1.0,
                duration_s=0.5,
                session="1",
                database="shop",
                text=text,
                values=values,
                way=way,
                query_id=query_id,
            )
        )
    return queries_of(gathered, "shop")


def view(*rows: tuple[str, int, int], **more: bool) -> ServerView:
    """A view of these texts, ids and calls, of a second each."""
    counted = [
        StatementCost(
            text=text,
            query_id=query_id,
            database="shop",
            user="app",
            calls=calls,
            time_s=float(calls),
            rows=2 * calls,
            **more,
        )
        for text, query_id, calls in rows
    ]
    return ServerView(rows=counted, seconds=None, version="18", encoding="UTF8", locale="C")


def counts(queries: list[Query]) -> list[tuple[str, str, int, int | None]]:
    return sorted((query.form.key, query.way, query.calls, query.rows) for query in queries)


def joined(queries: list[Query], counted: ServerView) -> list[Query]:
    return join.joined(queries, join.summed(counted, "shop", SQL), "shop")


def test_both_protocols_of_a_statement_share_its_row_though_one_alone_has_its_id() -> None:
    text = "SELECT a FROM t WHERE a = "
    queries = logged((f"{text}1", "simple", 0), *[(f"{text}$1", "prepared", 9)] * 3)
    assert counts(joined(queries, view((f"{text}$1", 9, 100)))) == [
        ("SELECT a FROM t WHERE a = $1", "prepared", 75, 150),
        ("SELECT a FROM t WHERE a = $1", "simple", 25, 50),
    ]


def test_a_row_whose_constants_are_numbered_behind_parameters_is_the_same_statement() -> None:
    queries = logged(("SELECT a FROM t WHERE b = 'x' AND a = $1", "extended", 0))
    row = ("SELECT a FROM t WHERE b = $2 AND a = $1", 9, 10)
    assert [each[2:] for each in counts(joined(queries, view(row)))] == [(10, 20)]


def test_lists_of_all_lengths_share_the_row_that_stands_for_them() -> None:
    queries = logged(
        ("SELECT a FROM t WHERE a IN (1, 2)", "simple", 0),
        ("SELECT a FROM t WHERE a IN (1, 2, 3)", "simple", 0),
    )
    row = ("SELECT a FROM t WHERE a IN ($1 /*, ... */)", 9, 10)
    assert [each[2:] for each in counts(joined(queries, view(row)))] == [(5, 10), (5, 10)]


def test_a_list_that_has_a_row_of_its_own_takes_that() -> None:
    queries = logged(
        ("SELECT a FROM t WHERE a IN (1, 2)", "simple", 0),
        ("SELECT a FROM t WHERE a IN (1, 2, 3)", "simple", 0),
    )
    rows = (
        ("SELECT a FROM t WHERE a IN ($1, $2)", 8, 4),
        ("SELECT a FROM t WHERE a IN ($1, $2, $3)", 9, 6),
    )
    assert [each[2:] for each in counts(joined(queries, view(*rows)))] == [(4, 8), (6, 12)]


def test_rows_without_a_query_in_the_log_follow_without_values() -> None:
    queries = joined(logged(("SELECT a FROM t", "simple", 0)), view(("SELECT b FROM t", 9, 3)))
    assert counts(queries) == [
        ("SELECT a FROM t", "simple", 1, None),
        ("SELECT b FROM t", "simple", 3, 6),
    ]


def test_statements_of_functions_are_counted_once() -> None:
    sums = join.summed(view(("SELECT b FROM t", 9, 3), nested=True), "shop", SQL)
    assert not sums.sums
    assert [(each.calls, each.time_s) for each in sums.left_out] == [(0, 0.0)]


def test_two_readings_have_what_was_counted_between_them() -> None:
    before = view(("SELECT a FROM t", 1, 5), ("SELECT b FROM t", 2, 5), ("SELECT c FROM t", 3, 9))
    after = view(("SELECT a FROM t", 1, 8), ("SELECT b FROM t", 2, 5), ("SELECT c FROM t", 3, 2))
    between = difference(before, after, 10.0)
    assert [(row.text, row.calls, row.rows) for row in between.rows] == [
        ("SELECT a FROM t", 3, 6),
        ("SELECT c FROM t", 2, 4),  # dropped and counted anew
    ]
    assert between.seconds == 10.0


def test_a_text_without_a_row_of_its_own_shares_that_of_its_fingerprint() -> None:
    queries = logged(
        ("SELECT a FROM t WHERE a IN (1, 2)", "simple", 0),
        ("SELECT a FROM t WHERE a IN (1, 2, 3)", "simple", 0),
    )
    row = ("SELECT a FROM t WHERE a IN ($1, $2)", 8, 10)
    assert [each[2:] for each in counts(joined(queries, view(row)))] == [(5, 10), (5, 10)]
