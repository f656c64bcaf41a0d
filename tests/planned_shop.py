"""A shop with every kind of table and index, and queries that are drawn from a seed.

What plans without data are tried on (tests/plans_only_trial.py).
"""

import random
from collections.abc import Iterator

SCHEMA = """
CREATE TYPE state AS ENUM ('new', 'paid', 'sent', 'back');
CREATE TABLE region (id int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE customer (id int PRIMARY KEY, region int NOT NULL REFERENCES region,
    name text NOT NULL, mail varchar(60) NOT NULL, born date, score numeric(8, 2),
    vip boolean NOT NULL DEFAULT false, tags text[]);
CREATE TABLE product (id int PRIMARY KEY, name text NOT NULL, price numeric(10, 2) NOT NULL
    CHECK (price > 0), facts jsonb, words tsvector, kind int NOT NULL, weight float8);
CREATE TABLE orders (gone int, id bigint PRIMARY KEY, customer int NOT NULL REFERENCES customer,
    created timestamptz NOT NULL, state state NOT NULL, total numeric(12, 2) NOT NULL, note text);
ALTER TABLE orders DROP COLUMN gone;
CREATE TABLE item (orders bigint NOT NULL REFERENCES orders, line int NOT NULL,
    product int NOT NULL REFERENCES product, count int NOT NULL, price numeric(10, 2) NOT NULL,
    PRIMARY KEY (orders, line));
CREATE TABLE payment (id bigint PRIMARY KEY, orders bigint NOT NULL REFERENCES orders,
    paid timestamptz, amount numeric(12, 2) NOT NULL, way text NOT NULL);
CREATE TABLE event (id bigint NOT NULL, customer int NOT NULL, at timestamptz NOT NULL,
    kind text NOT NULL, value int) PARTITION BY RANGE (at);
CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM ('2025-01-01') TO ('2025-05-01');
CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM ('2025-05-01') TO ('2025-09-01');
CREATE TABLE event_3 PARTITION OF event FOR VALUES FROM ('2025-09-01') TO ('2026-01-01');
CREATE TABLE visit (id bigint, customer int, at timestamptz, page text);
CREATE TABLE booking (id int PRIMARY KEY, customer int NOT NULL REFERENCES customer,
    during tstzrange NOT NULL, room int NOT NULL);
CREATE TABLE place (id int PRIMARY KEY, gone int, city text, country text, zip text, people int);
ALTER TABLE place DROP COLUMN gone;
CREATE TABLE base (id int, made date, amount int);
CREATE TABLE derived (extra text) INHERITS (base);
CREATE TABLE code (code text NOT NULL, meaning text, uid uuid);
"""
INDEXES = """
CREATE INDEX customer_region ON customer (region);
CREATE INDEX customer_lower ON customer (lower(name));
CREATE INDEX customer_mail ON customer (mail text_pattern_ops);
CREATE INDEX customer_born ON customer (born DESC NULLS LAST);
CREATE INDEX customer_vip ON customer (score) WHERE vip;
CREATE INDEX customer_tags ON customer USING gin (tags);
CREATE INDEX product_facts ON product USING gin (facts jsonb_path_ops);
CREATE INDEX product_words ON product USING gin (words);
CREATE INDEX product_kind ON product (kind, price DESC);
CREATE INDEX orders_customer ON orders (customer, created DESC);
CREATE INDEX orders_created ON orders (created);
CREATE INDEX orders_open ON orders (created) WHERE state = 'new';
CREATE INDEX orders_total ON orders (total) INCLUDE (customer);
CREATE INDEX item_product ON item (product);
CREATE INDEX payment_orders ON payment (orders);
CREATE INDEX payment_paid ON payment (paid);
CREATE INDEX payment_way ON payment USING hash (way);
CREATE INDEX event_customer ON event (customer, at);
CREATE INDEX event_kind ON event (kind) WHERE value > 900;
CREATE INDEX visit_at ON visit USING brin (at);
CREATE INDEX visit_customer ON visit (customer);
CREATE INDEX booking_during ON booking USING gist (during);
CREATE INDEX booking_customer ON booking (customer);
CREATE INDEX place_city ON place (country, city);
CREATE INDEX base_made ON base (made);
CREATE INDEX derived_made ON derived (made);
CREATE UNIQUE INDEX code_code ON code (code);
CREATE MATERIALIZED VIEW sales AS SELECT product, sum(count) AS sold, sum(price) AS worth
    FROM item GROUP BY product;
CREATE INDEX sales_sold ON sales (sold);
CREATE STATISTICS place_together (ndistinct, dependencies, mcv) ON city, country, zip FROM place;
CREATE STATISTICS orders_together (dependencies) ON customer, state FROM orders;
"""
DATA = """
INSERT INTO region SELECT i, 'region ' || i FROM generate_series(1, 25) i;
INSERT INTO customer SELECT i, 1 + (i * i) % 25, 'name ' || i * 7919 % 100003,
    'mail' || i || '@example.org', date '1940-01-01' + i * 31 % 24000,
    CASE WHEN i % 7 > 0 THEN (i * 13 % 9973) / 10.0 END, i % 50 = 0,
    ARRAY['t' || i % 10, 't' || i % 37] FROM generate_series(1, {size} / 5) i;
INSERT INTO product SELECT i, 'product ' || i, 1 + i * 31 % 997, jsonb_build_object('color',
    i % 12, 'size', i % 5), to_tsvector('simple', 'w' || i % 100 || ' w' || i % 17), i % 40,
    (i % 1000) / 7.0 FROM generate_series(1, {size} / 20) i;
INSERT INTO orders SELECT i, 1 + (i::bigint * 7919 % ({size} / 5)), timestamptz '2025-01-01' +
    i * interval '1 minute' * 500000 / {size},
    (ARRAY['sent', 'sent', 'sent', 'paid', 'back', 'new'])[CASE WHEN i > {size} * 0.98 THEN 6
    ELSE 1 + i % 5 END]::state, (i * 37 % 100000) / 10.0 + 1,
    CASE WHEN i % 20 = 0 THEN 'note ' || i END FROM generate_series(1, {size}) i;
INSERT INTO item SELECT 1 + i / 3, i % 3, 1 + (i::bigint * i % ({size} / 20)), 1 + i % 9,
    (i % 1000) / 3.0 FROM generate_series(0, {size} * 3 - 4) i;
INSERT INTO payment SELECT i, i, CASE WHEN i % 9 > 0 THEN timestamptz '2025-01-02' +
    i * interval '1 minute' * 500000 / {size} END, (i * 37 % 100000) / 10.0 + 1,
    (ARRAY['card', 'card', 'card', 'cash', 'bill'])[1 + i % 5] FROM generate_series(1, {size}, 2) i;
INSERT INTO event SELECT i, 1 + (i::bigint * 31 % ({size} / 5)), timestamptz '2025-01-01' +
    (i::bigint * 7919 % 525000) * interval '1 minute', 'kind' || (i::bigint * i) % 11, i * 17 % 1000
    FROM generate_series(1, {size}) i;
INSERT INTO visit SELECT i, 1 + (i::bigint * 7 % ({size} / 5)), timestamptz '2025-01-01' +
    i * interval '20 seconds', 'page' || i % 300 FROM generate_series(1, {size}) i;
INSERT INTO booking SELECT i, 1 + (i * 11 % ({size} / 5)), tstzrange(timestamptz '2025-01-01' +
    i * interval '7 minutes', timestamptz '2025-01-01' + (i * 7 + 60 + i % 5000) * interval
    '1 minute'), i % 90 FROM generate_series(1, {size} / 10) i;
INSERT INTO place SELECT i, 'city' || (i % 400), 'country' || (i % 400) % 20, 'zip' || (i % 2000),
    i * 7 % 90000 FROM generate_series(1, {size} / 10) i;
INSERT INTO base SELECT i, date '2024-01-01' + i % 700, i % 100
    FROM generate_series(1, {size} / 10) i;
INSERT INTO derived SELECT i, date '2025-01-01' + i % 300, i % 50, 'x' || i
    FROM generate_series(1, {size} / 5) i;
INSERT INTO code SELECT 'c' || i, CASE WHEN i % 3 > 0 THEN 'meaning ' || i END, md5(i::text)::uuid
    FROM generate_series(1, 900) i;
"""
KNOWN = """
SELECT * FROM orders WHERE id = 77

SELECT * FROM customer WHERE lower(name) = 'name 77'

SELECT * FROM customer WHERE mail LIKE 'mail77%'

SELECT * FROM customer WHERE born > '2003-01-01' ORDER BY born DESC NULLS LAST LIMIT 20

SELECT * FROM customer WHERE vip AND score > 900

SELECT count(*) FROM customer WHERE tags @> ARRAY['t3']

SELECT count(*) FROM product WHERE facts @> '{"color": 3}'

SELECT count(*) FROM product WHERE words @@ to_tsquery('simple', 'w7')

SELECT * FROM product WHERE kind = 7 ORDER BY price DESC LIMIT 10

SELECT * FROM orders WHERE state = 'new' AND created > '2025-12-10'

SELECT customer, total FROM orders WHERE total > 9990

SELECT * FROM orders WHERE created > '2030-01-01'

SELECT * FROM orders WHERE created > now() - interval '1 day'

SELECT count(*) FROM visit WHERE at > '2025-02-20'

SELECT count(*) FROM booking WHERE during && tstzrange('2025-02-01', '2025-02-02')

SELECT count(*) FROM booking WHERE during @> timestamptz '2025-03-01'

SELECT count(*) FROM payment WHERE way = 'cash'

SELECT count(*) FROM place WHERE city = 'city7' AND country = 'country7'

SELECT city, country, count(*) FROM place GROUP BY city, country

SELECT count(*) FROM base WHERE made = '2025-02-02'

SELECT count(*) FROM event WHERE at > '2025-12-25' AND customer = 7

SELECT kind, count(*) FROM event WHERE value > 950 GROUP BY kind

SELECT * FROM sales WHERE sold > 900 ORDER BY sold LIMIT 5

SELECT o.* FROM orders o JOIN customer c ON c.id = o.customer WHERE c.region = 3 ORDER BY
    o.created DESC LIMIT 10

SELECT c.region, sum(o.total) FROM orders o JOIN customer c ON c.id = o.customer GROUP BY
    c.region

SELECT date_part('year', created) AS y, sum(total) FROM orders GROUP BY 1 ORDER BY 1

SELECT EXTRACT(month FROM created) AS m, count(*) FROM orders GROUP BY 1 ORDER BY 1

SELECT SUBSTRING(name FROM 1 FOR 6), count(*) FROM customer GROUP BY 1

SELECT count(DISTINCT customer) FROM orders WHERE total > 500

SELECT string_agg(page, ',' ORDER BY page) FROM visit WHERE customer = 7

SELECT * FROM customer c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer = c.id AND
    o.state = 'back')

SELECT * FROM product WHERE id NOT IN (SELECT product FROM item WHERE count > 8)

SELECT max(created) FROM orders

SELECT min(total), max(total) FROM orders WHERE customer < 100

UPDATE orders SET note = 'x' WHERE customer = 7

DELETE FROM payment WHERE paid < '2025-01-03'

INSERT INTO code SELECT name, name, NULL FROM region

WITH big AS (SELECT * FROM orders WHERE total > 9000) SELECT count(*) FROM big JOIN item ON
    item.orders = big.id

SELECT p.name, s.sold FROM sales s JOIN product p ON p.id = s.product WHERE p.kind IN (1, 2, 3)
    ORDER BY s.sold DESC

SELECT c.name, (SELECT count(*) FROM orders o WHERE o.customer = c.id) FROM customer c WHERE
    c.region = 4 LIMIT 50
""".strip().split("\n\n")
JOINS = {
    ("customer", "region"): "customer.region = region.id",
    ("orders", "customer"): "orders.customer = customer.id",
    ("item", "orders"): "item.orders = orders.id",
    ("item", "product"): "item.product = product.id",
    ("payment", "orders"): "payment.orders = orders.id",
    ("event", "customer"): "event.customer = customer.id",
    ("visit", "customer"): "visit.customer = customer.id",
    ("booking", "customer"): "booking.customer = customer.id",
    ("sales", "product"): "sales.product = product.id",
}
COLUMNS = {
    "region": ("id:int:25", "name:region :25"),
    "customer": ("id:int:40000", "region:int:25", "score:int:990", "born:date", "mail:like:mail"),
    "product": ("id:int:10000", "kind:int:40", "price:int:1000", "weight:int:140"),
    "orders": ("id:int:200000", "customer:int:40000", "created:time", "state:state",
               "total:int:10000", "note:null"),
    "item": ("orders:int:200000", "product:int:10000", "count:int:9", "price:int:330"),
    "payment": ("orders:int:200000", "paid:time", "amount:int:10000", "way:way"),
    "event": ("customer:int:40000", "at:time", "kind:kind:11", "value:int:1000"),
    "visit": ("customer:int:40000", "at:early", "page:page:300"),
    "booking": ("customer:int:40000", "room:int:90"),
    "place": ("people:int:90000", "city:city:400", "country:country:20", "zip:zip:2000"),
    "base": ("made:date2", "amount:int:100"),
    "code": ("code:c:900", "meaning:null"),
    "sales": ("product:int:10000", "sold:int:1000"),
}  # fmt: skip


def drawn(seed: int, count: int) -> Iterator[str]:
    """So many queries: joins of 1 to 8 tables, conditions of many kinds, groups, orders, limits."""
    draw = random.Random(seed)
    for _ in range(count):
        yield _query(draw)


def _query(draw: random.Random) -> str:
    tables = [draw.choice(list(COLUMNS))]
    conditions: list[str] = []
    for _ in range(draw.choice((0, 0, 0, 1, 1, 2, 2, 3, 4, 7))):
        edges = [
            (other, joined)
            for (one, two), joined in JOINS.items()
            for here, other in ((one, two), (two, one))
            if here in tables and other not in tables
        ]
        if edges:
            other, joined = draw.choice(edges)
            tables.append(other)
            conditions.append(joined)
    places = [(table, column) for table in tables for column in COLUMNS[table]]
    conditions += [
        _condition(draw, *draw.choice(places)) for _ in range(draw.choice((0, 1, 1, 2, 2, 3)))
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    source = f"FROM {', '.join(tables)}{where}"
    table, column = draw.choice(places)
    name = f"{table}.{column.partition(':')[0]}"
    match draw.randrange(8):
        case 0:
            return f"SELECT {name}, count(*) {source} GROUP BY {name}"
        case 1:
            return f"SELECT DISTINCT {name} {source}"
        case 2:
            return (
                f"SELECT max({name}) {source}" if ":state" not in column else f"SELECT 1 {source}"
            )
        case 3 | 4:
            way = draw.choice(("", " DESC"))
            return (
                f"SELECT {table}.* {source} ORDER BY {name}{way} LIMIT {draw.choice((1, 10, 500))}"
            )
        case 5:
            return f"SELECT count(*) FROM region r WHERE EXISTS (SELECT {source})"
    return f"SELECT {tables[0]}.* {source}"


def _condition(draw: random.Random, table: str, column: str) -> str:
    name, kind, *rest = column.split(":")
    field = f"{table}.{name}"
    if kind == "null":
        return f"{field} IS {draw.choice(('', 'NOT '))}NULL"
    if kind == "like":
        return f"{field} LIKE '{rest[0]}{draw.randrange(1000)}%'"

    def value() -> str:
        match kind:
            case "int":
                return str(draw.randrange(1, int(rest[0])))
            case "time":
                return f"timestamptz '2025-01-01' + interval '{draw.randrange(350)} days'"
            case "early":
                return f"timestamptz '2025-01-01' + interval '{draw.randrange(46)} days'"
            case "date":
                return f"date '{draw.randrange(1940, 2005)}-05-05'"
            case "date2":
                return f"date '2024-01-01' + {draw.randrange(700)}"
            case "state":
                return draw.choice(("'new'", "'paid'", "'sent'", "'back'"))
            case "way":
                return draw.choice(("'card'", "'cash'", "'bill'"))
        return f"'{kind}{draw.randrange(int(rest[0]))}'"

    match draw.randrange(5):
        case 0 | 1:
            return f"{field} = {value()}"
        case 2:
            return f"{field} IN ({', '.join(value() for _ in range(draw.randrange(2, 6)))})"
        case 3:
            return f"{field} {draw.choice(('<', '>', '<=', '>='))} {value()}"
    return f"{field} BETWEEN {value()} AND {value()}"
