"""What a query's text and the data leave open of its answer: tables of queries of both families."""

import pytest

from dbdyno.workload.determined import open_parts
from dbdyno.workload.determined.query import query
from dbdyno.workload.determined.row_set import Level, QueryReading, RowSet
from dbdyno.workload.determined.sql_tree import UnclearError, parsed
from shop_catalog import ShopCatalog

STATUS = "is ordered by `status`, which is not unique"
FLOATING = "adds floating-point numbers in an order that is not given"
MOVES = "which gives another value each time"


def read(text: str, *, backticks: bool = False) -> RowSet:
    """What is known of a query's rows."""
    catalog = ShopCatalog(backticks=backticks)
    return query(parsed(text, backticks=backticks), Level(QueryReading(catalog, query)))


def reasons(text: str, *, backticks: bool = False) -> list[str]:
    """Why rows or columns of an answer are open, each reason once."""
    try:
        rows = read(text, backticks=backticks)
    except UnclearError as unclear:
        return [str(unclear)]
    said = [rows.open, *(field.value.open for field in rows.fields)]
    return list(dict.fromkeys(filter(None, said)))


DETERMINED = [
    "SELECT * FROM orders",
    "SELECT a.id FROM orders AS a, orders AS b WHERE a.id = b.id ORDER BY b.id LIMIT 3",
    "SELECT id, status FROM orders ORDER BY status, id DESC NULLS LAST LIMIT 5 OFFSET 3",
    "SELECT status FROM orders ORDER BY status LIMIT 5",
    "SELECT * FROM orders WHERE id = $1 LIMIT 1",
    "SELECT * FROM orders WHERE id IN ($1) FETCH FIRST 1 ROW ONLY",
    "SELECT * FROM customers WHERE code = 3 LIMIT 1",
    "SELECT 1 FROM orders WHERE status = $1 LIMIT 1",
    "SELECT EXISTS (SELECT * FROM orders WHERE status = $1 LIMIT 1)",
    "SELECT o.*, c.country FROM orders o JOIN customers c ON c.id = o.customer ORDER BY o.id"
    " LIMIT 9",
    "SELECT o.id, c.code FROM orders o LEFT JOIN customers c ON c.id = o.customer"
    " ORDER BY o.id LIMIT 10",
    "SELECT o.id FROM orders o JOIN items i ON i.order_id = o.id ORDER BY o.id LIMIT 10",
    "SELECT i.* FROM items i ORDER BY order_id, line LIMIT 10",
    "SELECT i.* FROM items i WHERE order_id = $1 ORDER BY line LIMIT 10",
    "SELECT count(*) FROM (SELECT id FROM orders LIMIT 100) AS x",
    "SELECT x.status FROM (SELECT id, status FROM orders ORDER BY status LIMIT 5) AS x",
    "SELECT x.id FROM (SELECT id FROM orders ORDER BY id LIMIT 5) AS x ORDER BY x.id",
    "SELECT status, count(*) FROM orders GROUP BY status ORDER BY status",
    "SELECT status, count(*), sum(total), avg(total), min(id) FROM orders GROUP BY 1 HAVING"
    " sum(id) > 3",
    "SELECT status, count(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC, status LIMIT 5",
    "SELECT o.id, o.name, count(*) FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.id"
    " ORDER BY o.id LIMIT 5",
    "SELECT date_trunc('day', at), count(*) FROM events GROUP BY 1 ORDER BY 1 LIMIT 4",
    "SELECT customer, status, count(*) FROM orders GROUP BY ROLLUP (customer, status)",
    "SELECT array_agg(id ORDER BY status, id), string_agg(name, ',' ORDER BY name) FROM orders",
    "SELECT ARRAY(SELECT id FROM orders ORDER BY id), ARRAY[1, 2]",
    "SELECT DISTINCT ON (customer) customer, id FROM orders ORDER BY customer, status, id",
    "SELECT DISTINCT customer, status FROM orders ORDER BY status, customer LIMIT 3",
    "SELECT id, rank() OVER (ORDER BY status), sum(total) OVER (PARTITION BY customer"
    " ORDER BY status), row_number() OVER w, first_value(status) OVER (ORDER BY status) FROM orders"
    " WINDOW w AS (ORDER BY id)",
    "SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY customer ORDER BY total DESC,"
    " id) AS rn FROM orders) AS x WHERE rn = 1",
    "SELECT * FROM (SELECT id, total, row_number() OVER (ORDER BY id) AS rn FROM orders) AS x"
    " ORDER BY rn LIMIT 3",
    "SELECT c.id, l.id FROM customers c LEFT JOIN LATERAL (SELECT o.id FROM orders o"
    " WHERE o.customer = c.id ORDER BY o.id DESC LIMIT 1) AS l ON true ORDER BY c.id LIMIT 10",
    "SELECT id, (SELECT max(line) FROM items WHERE order_id = o.id) FROM orders o ORDER BY"
    " id LIMIT 3",
    "SELECT (SELECT c.code FROM customers c WHERE c.id = o.customer LIMIT 1) FROM orders o",
    "SELECT number FROM open_orders ORDER BY number LIMIT 5",
    "SELECT status FROM sorted_orders",
    "SELECT id FROM orders UNION ALL SELECT id FROM customers ORDER BY 1 LIMIT 5",
    "SELECT id FROM orders EXCEPT SELECT id FROM customers",
    "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10)"
    " SELECT n FROM t ORDER BY n LIMIT 4",
    "WITH t AS (SELECT id, status FROM orders ORDER BY id LIMIT 5) SELECT * FROM t JOIN t AS u"
    " USING (id) ORDER BY id",
    "SELECT id FROM orders WHERE id IN (SELECT order_id FROM items WHERE price > 3)",
    "SELECT id, status FROM orders ORDER BY status FETCH FIRST 5 ROWS WITH TIES",
    "SELECT id FROM orders ORDER BY status LIMIT ALL",
    "SELECT * FROM ONLY parents ORDER BY id LIMIT 3",
    "SELECT * FROM events ORDER BY at, kind, n LIMIT 5",
    "SELECT lower(name) FROM orders ORDER BY lower(name) LIMIT 4",
    "SELECT g FROM generate_series(1, 10) AS g ORDER BY g LIMIT 3",
    "SELECT o.id, i.line FROM ((orders o JOIN items i ON i.order_id = o.id) LEFT JOIN customers c"
    " ON c.id = o.customer) CROSS JOIN (SELECT 1 AS one) x ORDER BY o.id, i.line LIMIT 3",
    "SELECT b.a FROM (VALUES (1, 2), (3, 4)) AS b (a, c) ORDER BY a LIMIT 1",
    "SELECT * FROM orders WHERE name = 'now() LIMIT 5' /* random() */",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY total), count(DISTINCT f), max(f)"
    " FROM orders",
    "SELECT sum(CASE WHEN f > 0.5 THEN 1 ELSE 0 END), sum(f::bigint) FROM orders",
    "UPDATE orders SET total = total + 1 WHERE id = $1 RETURNING id, total",
    "UPDATE orders SET total = i.price FROM items i WHERE i.order_id = orders.id AND i.line = 1"
    " RETURNING total",
    "INSERT INTO orders (id, customer) VALUES ($1, $2) RETURNING id, customer",
    "INSERT INTO audited (id, n) SELECT id, total FROM orders",
    "DELETE FROM orders USING customers c WHERE c.id = orders.customer RETURNING orders.*, c.code",
    "MERGE INTO orders USING customers c ON c.id = orders.id WHEN MATCHED THEN DELETE",
]


@pytest.mark.parametrize("text", DETERMINED)
def test_an_ordinary_query_is_determined(text: str) -> None:
    assert reasons(text) == []


OPEN = [
    (
        "SELECT x.id FROM (SELECT id FROM orders ORDER BY status LIMIT 5) AS x ORDER BY x.id",
        f"`LIMIT 5` in subquery `x` {STATUS}",
    ),
    ("SELECT id FROM orders LIMIT $1", "`LIMIT $1` has no ORDER BY"),
    ("SELECT id FROM orders OFFSET 3", "`OFFSET 3` has no ORDER BY"),
    ("SELECT id FROM orders ORDER BY status FETCH NEXT 5 ROWS ONLY", f"`FETCH FIRST 5` {STATUS}"),
    ("SELECT id FROM orders ORDER BY status OFFSET 1 FETCH NEXT 5 ROWS WITH TIES", STATUS),
    (
        "SELECT o.id, i.line FROM orders o JOIN items i ON i.order_id = o.id ORDER BY o.id LIMIT 9",
        "`LIMIT 9` is ordered by `o.id`, which is not unique",
    ),
    (
        "SELECT o.id, c.code FROM customers c LEFT JOIN orders o ON c.id = o.customer"
        " ORDER BY c.id LIMIT 9",
        "`LIMIT 9` is ordered by `c.id`, which is not unique",
    ),
    (
        "SELECT c.id, o.total FROM customers c LEFT JOIN (SELECT * FROM orders WHERE total = 5) o"
        " ON o.customer = c.country ORDER BY o.total LIMIT 9",
        "`LIMIT 9` is ordered by `o.total`, which is not unique",
    ),
    (
        "SELECT d.y FROM customers c LEFT JOIN (SELECT customer, coalesce(total, 0) AS y, total"
        " FROM orders) d ON d.customer = c.country ORDER BY d.total LIMIT 5",
        "`LIMIT 5` is ordered by `d.total`, which is not unique",
    ),
    (
        "SELECT i.line FROM orders o LEFT JOIN items i ON i.line = i.product LIMIT 3",
        "`LIMIT 3` has no ORDER BY",
    ),
    (
        "SELECT id, name FROM orders GROUP BY ROLLUP (id, name) ORDER BY id LIMIT 5",
        "`LIMIT 5` is ordered by `id`, which is not unique",
    ),
    ("SELECT count(*) FROM orders GROUP BY random() > 0.5", f"the function `random`, {MOVES}"),
    (
        "SELECT l.n FROM customers c, LATERAL (SELECT count(*) AS n FROM orders o"
        " WHERE o.customer = c.id) AS l LIMIT 5",
        "`LIMIT 5` has no ORDER BY",
    ),
    (
        "SELECT count(*) FROM (SELECT id FROM customers EXCEPT (SELECT id FROM orders"
        " ORDER BY status LIMIT 5)) AS x",
        f"`LIMIT 5` in subquery `x` {STATUS}",
    ),
    (
        "SELECT d.one FROM customers c LEFT JOIN (SELECT customer, 1 AS one FROM orders) d"
        " ON d.customer = c.country LIMIT 5",
        "`LIMIT 5` has no ORDER BY",
    ),
    (
        "SELECT c.id, d.one FROM customers c LEFT JOIN (SELECT customer, 1 AS one FROM orders) d"
        " ON d.customer = d.one ORDER BY d.customer LIMIT 5",
        "`LIMIT 5` is ordered by `d.customer`, which is not unique",
    ),
    (
        "SELECT rank() OVER (ORDER BY total) FROM orders ORDER BY rank() OVER (ORDER BY total DESC)"
        " LIMIT 5",
        "which is not unique",
    ),
    (
        "WITH t AS (SELECT id, status FROM orders ORDER BY status LIMIT 5) SELECT max(id) FROM t",
        f"`LIMIT 5` in CTE `t` {STATUS}",
    ),
    ("SELECT id FROM sorted_orders", f"`LIMIT 7` in view `sorted_orders` {STATUS}"),
    (
        "SELECT c.id, l.id FROM customers c, LATERAL (SELECT o.id FROM orders o"
        " WHERE o.customer = c.id ORDER BY o.status LIMIT 1) AS l",
        "`LIMIT 1` in subquery `l` is ordered by `o.status`, which is not unique",
    ),
    (
        "SELECT (SELECT product FROM items WHERE order_id = o.id LIMIT 1) FROM orders o",
        "`LIMIT 1` in a subquery has no ORDER BY",
    ),
    (
        "SELECT id FROM orders WHERE id IN (SELECT order_id FROM items ORDER BY price LIMIT 3)",
        "`LIMIT 3` in a subquery is ordered by `price`, which is not unique",
    ),
    (
        "SELECT status, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
        "`LIMIT 5` is ordered by `count(*)`, which is not unique",
    ),
    ("SELECT status, sum(1) FROM orders GROUP BY status LIMIT 5", "`LIMIT 5` has no ORDER BY"),
    ("SELECT * FROM parents ORDER BY id LIMIT 3", "`LIMIT 3` is ordered by `id`"),
    ("SELECT id, unnest(ARRAY[1]) FROM orders ORDER BY id LIMIT 3", "`LIMIT 3` is ordered by `id`"),
    (
        "SELECT DISTINCT ON (customer) customer, id FROM orders ORDER BY customer, status",
        "`DISTINCT ON` is ordered by `customer`, `status`, which is not unique",
    ),
    ("SELECT DISTINCT ON (customer) customer, id FROM orders", "`DISTINCT ON` has no ORDER BY"),
    ("SELECT DISTINCT label FROM customers", "`DISTINCT` takes one of equal values"),
    (
        "SELECT label, count(*) FROM customers GROUP BY label",
        "`GROUP BY` takes one of equal values of `label`",
    ),
    ("SELECT max(label) FROM customers", "`max` takes one of equal values"),
    ("SELECT array_agg(id) FROM orders", "`array_agg` has no ORDER BY"),
    ("SELECT json_agg(o) FROM orders o", "`json_agg` has no ORDER BY"),
    ("SELECT string_agg(name, ',' ORDER BY status) FROM orders", f"`string_agg` {STATUS}"),
    ("SELECT own_sum(id) FROM orders", "`own_sum` has no ORDER BY"),
    ("SELECT ARRAY(SELECT id FROM orders ORDER BY status)", f"`ARRAY` {STATUS}"),
    ("SELECT mode() WITHIN GROUP (ORDER BY status) FROM orders", "`mode` takes any of the values"),
    ("SELECT sum(f) FROM orders", f"`sum` {FLOATING}"),
    ("SELECT avg(total * x.f) FROM orders, (SELECT f FROM items) AS x", f"`avg` {FLOATING}"),
    ("SELECT sum(sqrt(total)) OVER () FROM orders", f"`sum` {FLOATING}"),
    ("SELECT sum(ts_headline_rank(name)) FROM orders", f"`sum` {FLOATING}"),
    ("SELECT customer FROM orders GROUP BY 1 HAVING avg(f) > 3", f"`avg` {FLOATING}"),
    ("SELECT id, row_number() OVER (ORDER BY status) FROM orders", f"`row_number` {STATUS}"),
    ("SELECT lag(id) OVER (PARTITION BY status) FROM orders", "of `lag` has no ORDER BY"),
    ("SELECT sum(id) OVER (ORDER BY status ROWS 1 PRECEDING) FROM orders", f"of `sum` {STATUS}"),
    ("SELECT row_number() OVER w FROM orders WINDOW w AS (ORDER BY status)", STATUS),
    (
        "SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY customer ORDER BY status) AS n"
        " FROM orders) AS x WHERE n = 1",
        f"the window of `row_number` in subquery `x` {STATUS}",
    ),
    ("SELECT id, random() FROM orders", f"the function `random`, {MOVES}"),
    ("SELECT id FROM orders ORDER BY random() LIMIT 3", f"the function `random`, {MOVES}"),
    ("SELECT gen_random_uuid(), nextval('s')", f"the function `gen_random_uuid`, {MOVES}"),
    (
        "SELECT own_volatile() FROM orders",
        "the function `own_volatile`, which is not declared to depend on its arguments alone",
    ),
    ("SELECT * FROM orders WHERE total > now() - '1 d'::interval", "the clock: `now`"),
    ("SELECT current_date, localtimestamp", "the clock: `current_date`"),
    ("SELECT age(at) FROM events", "the clock: `age`"),
    ("SELECT id FROM orders WHERE name < 'yesterday'::timestamp", "the clock"),
    ("SELECT pg_backend_pid()", "`pg_backend_pid`, which tells of the session or the server"),
    ("SELECT ctid, id FROM orders", "the system column `ctid`"),
    ("SELECT id FROM orders o WHERE o.xmin = '3'", "the system column `xmin`"),
    ("SELECT relname FROM pg_class", "`pg_class`, which the server keeps for itself"),
    ("SELECT id FROM orders TABLESAMPLE system (10)", "`TABLESAMPLE` draws rows"),
    ("SELECT id FROM orders FOR UPDATE SKIP LOCKED", "`SKIP LOCKED` passes over what others hold"),
    (
        "SELECT id, status FROM orders UNION SELECT id, country FROM customers ORDER BY 1 LIMIT 5",
        "`LIMIT 5` is ordered by `1`, which is not unique",
    ),
    (
        "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + own_volatile() FROM t WHERE n < 9)"
        " SELECT n FROM t",
        "the function `own_volatile`, which is not declared to depend on its arguments alone",
    ),
    ("INSERT INTO orders (customer) VALUES ($1) RETURNING id", "the default of `id`"),
    ("INSERT INTO audited VALUES ($1, $2) RETURNING n", "a trigger of `audited`"),
    (
        "UPDATE orders SET total = i.price FROM items i WHERE i.order_id = orders.id"
        " RETURNING total",
        "a row that is changed may meet several others",
    ),
    ("DELETE FROM orders WHERE total < random()", f"the function `random`, {MOVES}"),
]


@pytest.mark.parametrize(("text", "reason"), OPEN)
def test_what_a_query_leaves_open_is_named(text: str, reason: str) -> None:
    assert any(said.endswith(reason) or said.startswith(reason) for said in reasons(text))


MYSQL_DETERMINED = [
    "SELECT * FROM `orders` WHERE `id` = $1 LIMIT 1",
    "SELECT SQL_CALC_FOUND_ROWS id FROM orders ORDER BY id LIMIT $1, $2",
    "SELECT customer, group_concat(id ORDER BY id SEPARATOR ';') FROM orders GROUP BY customer",
    "SELECT o.id, o.status FROM orders o STRAIGHT_JOIN items i ON i.order_id = o.id GROUP BY o.id",
    "SELECT unix_timestamp(total), sum(length(label)) FROM orders, customers GROUP BY 1",
    "SELECT `x`.`id` AS `id` FROM (SELECT `shop`.`orders`.`id` AS `id` FROM `shop`.`orders`"
    " ORDER BY `shop`.`orders`.`id` LIMIT 5) `x`",
    "SELECT label FROM customers ORDER BY id LIMIT 3",
    "SELECT customer, count(*) FROM orders GROUP BY customer WITH ROLLUP",
    "SELECT avg(total) FROM orders WHERE name <=> 'now'",
    "DELETE FROM orders WHERE total = 3 LIMIT 3",
    "UPDATE orders SET status = 1 ORDER BY id LIMIT 3",
    "REPLACE INTO orders (id) VALUES ($1)",
]
MYSQL_OPEN = [
    ("SELECT id FROM orders ORDER BY status LIMIT $1, $2", f"`LIMIT $2` {STATUS}"),
    ("SELECT id FROM orders ORDER BY NULL LIMIT 3", "`LIMIT 3` has no ORDER BY"),
    ("SELECT id, total FROM orders GROUP BY customer", "`GROUP BY` leaves open `id`"),
    ("SELECT label FROM customers ORDER BY label LIMIT 3", "`LIMIT 3` is ordered by `label`"),
    ("SELECT group_concat(DISTINCT id) FROM orders", "`group_concat` has no ORDER BY"),
    ("SELECT json_arrayagg(id) FROM orders", "`json_arrayagg` has no ORDER BY"),
    ("SELECT json_objectagg(customer, id) FROM orders", "`json_objectagg` has no ORDER BY"),
    ("SELECT any_value(id) FROM orders", "`any_value` takes any of the values"),
    ("SELECT stddev(total) FROM orders", f"`stddev` {FLOATING}"),
    ("SELECT sum(name) FROM orders", f"`sum` {FLOATING}"),
    ("SELECT uuid(), rand()", f"the function `uuid`, {MOVES}"),
    ("SELECT sysdate()", "the clock: `sysdate`"),
    ("SELECT current_timestamp", "the clock: `current_timestamp`"),
    ("SELECT unix_timestamp()", "the clock: `unix_timestamp`"),
    ("SELECT connection_id()", "`connection_id`, which tells of the session or the server"),
    ("SELECT @x := @x + 1 FROM orders", "the variable"),
    ("SELECT @@version", "the variable `@@version`"),
    ("SELECT id FROM orders WHERE name = 3 LIMIT 1", "`LIMIT 1` has no ORDER BY"),
    ("UPDATE orders SET status = 1 LIMIT 3", "`LIMIT 3` has no ORDER BY"),
    ("DELETE FROM orders LIMIT 3 RETURNING id", "the parser does not take the text"),
    ("SELECT label FROM customers UNION SELECT 'a'", "`UNION` takes one of equal values"),
]


@pytest.mark.parametrize("text", MYSQL_DETERMINED)
def test_an_ordinary_query_of_mysql_is_determined(text: str) -> None:
    assert reasons(text, backticks=True) == []


@pytest.mark.parametrize(("text", "reason"), MYSQL_OPEN)
def test_what_a_query_of_mysql_leaves_open_is_named(text: str, reason: str) -> None:
    assert any(said.startswith(reason) for said in reasons(text, backticks=True))


@pytest.mark.parametrize(
    ("wrapped", "where"),
    [
        ("SELECT * FROM ({}) AS w", " in subquery `w`"),
        ("WITH w AS ({}) SELECT * FROM w", " in CTE `w`"),
        ("SELECT * FROM customers AS c CROSS JOIN LATERAL ({}) AS w", " in subquery `w`"),
        ("SELECT max(id) FROM ({}) AS w", " in subquery `w`"),
        ("SELECT id FROM customers WHERE id IN ({})", " in a subquery"),
        ("SELECT id FROM customers WHERE id = ANY ({})", " in a subquery"),
        ("SELECT ({}) + 1", " in a subquery"),
        ("SELECT id FROM customers UNION ({})", ""),
        ("SELECT 1 FROM customers ORDER BY ({}) LIMIT 3", None),
        ("INSERT INTO orders (id) {} RETURNING id", ""),
        ("DELETE FROM orders WHERE id IN ({})", " in a subquery"),
        ("SELECT w.id FROM (SELECT v.id FROM ({}) AS v) AS w", " in subquery `v`"),
        ("SELECT count(*) FROM ({}) AS w JOIN customers AS c ON c.id = w.id", " in subquery `w`"),
        ("SELECT row_number() OVER (ORDER BY w.id) FROM ({}) AS w", " in subquery `w`"),
    ],
)
def test_what_is_open_in_a_part_is_open_wherever_the_part_stands(wrapped: str, where: str | None):
    inner = "SELECT id FROM orders ORDER BY status LIMIT 5"
    expected = [] if where is None else [f"`LIMIT 5`{where} {STATUS}"]
    assert reasons(wrapped.format(inner)) == expected
    assert reasons(wrapped.format(inner.replace("status", "id"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT FROM WHERE",
        "SELECT 1; SELECT 2",
        "SELECT id FROM unknown_table",
        "SELECT unknown_column FROM orders",
        "MERGE INTO orders USING customers c ON true WHEN MATCHED THEN DELETE RETURNING orders.id",
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
    ],
)
def test_what_is_not_understood_is_open_as_a_whole(text: str) -> None:
    (part,) = open_parts.of(text, ShopCatalog(), ["id"])
    assert part.columns is None
    assert "\n" not in part.reason


def test_views_and_tables_without_end_are_given_up() -> None:
    name = "t0"
    tables = ["t0 AS (SELECT id FROM orders)"]
    for place in range(1, 12):
        name = f"t{place}"
        tables.append(
            f"{name} AS (SELECT a.id FROM t{place - 1} AS a JOIN t{place - 1} AS b USING (id))"
        )
    with pytest.raises(UnclearError, match="more than 500 tables"):
        read(f"WITH {', '.join(tables)} SELECT id FROM {name}")


def test_open_parts_are_told_by_column_where_the_columns_are_known() -> None:
    text = "SELECT id, now(), status FROM orders ORDER BY status"
    parts = open_parts.of(text, ShopCatalog(), ["id", "now", "status"])
    assert [part.columns for part in parts if not part.order] == [(1,)]
    assert {part.columns for part in parts if part.order} == {(0,)}
    (whole,) = open_parts.of(text, ShopCatalog(), ["other", "now", "status"])
    assert (whole.columns, whole.reason) == (None, "the clock: `now`")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("SELECT a, b FROM t ORDER BY t.b DESC NULLS LAST, a LIMIT 5", (1, 0)),
        ("SELECT a, b FROM t ORDER BY 2", (1,)),
        ("SELECT a, b FROM t ORDER BY lower(b), a", (0,)),
        ("SELECT a, b FROM (SELECT * FROM t ORDER BY a) AS s", ()),
        ("SELECT a, b FROM t", ()),
        ('SELECT a, b FROM t ORDER BY "b" FOR UPDATE', (1,)),
        ("SELECT a, b FROM t ORDER BY c", ()),
        ("SELECT a b c d", ()),
    ],
)
def test_the_columns_of_the_outermost_order_are_known(text: str, places: tuple[int, ...]) -> None:
    assert open_parts.ordered(text, ("a", "b"), backticks=False) == places


def test_an_order_is_open_alone_where_the_values_are_not() -> None:
    text = "SELECT id, status FROM orders ORDER BY status"
    (part,) = open_parts.of(text, ShopCatalog(), ["id", "status"])
    assert (part.columns, part.order) == ((0,), True)
    (part,) = open_parts.of(text, ShopCatalog(), ["number", "status"])
    assert (part.columns, part.order) == ((0, 1), True)
    assert open_parts.of("SELECT id FROM orders", ShopCatalog(), ["number"]) == []
