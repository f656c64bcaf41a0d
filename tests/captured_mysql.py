"""An application that speaks to MySQL or MariaDB, for tests of capture: what it says, and its logs.

`tests/logs/` has what servers of several releases wrote of it, without folders of their hosts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymysql

from dbdyno.engine import LabServer
from mysql_place import SETTINGS
from server_place import address

LOGS = Path(__file__).parent / "logs"
MARKER = '0\'Brien\\; -- no $1 comment\n# Time: and\ttab ? "x" ü'
"""A value with all that a reader of logs or of SQL can trip over."""
DATABASE = "shop"
TABLES = (
    "CREATE TABLE products (id INT PRIMARY KEY, name VARCHAR(100), price DECIMAL(10,2), "
    "stock INT, added DATETIME, code VARBINARY(16), KEY (name))",
    "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, product INT, amount INT, "
    "KEY (product))",
)
MADE = (
    f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4",
    *(f"USE {DATABASE};{table}" for table in TABLES),
)
"""Makes the database; `USE x;…` is for the database x."""
CODE = "00112233445566778899AABBCCDDEE"
PREPARED = "SELECT id, price FROM products WHERE id = ? AND name <> ? AND stock > -1"


def run(connection: pymysql.Connection[Any]) -> None:
    """The application: two rounds of what it asks."""
    said = connection.escape(MARKER)
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION sort_buffer_size = 300000, sql_mode = 'ANSI'")
        cursor.execute("SET NAMES utf8mb4")
        cursor.execute("SET SESSION sort_buffer_size = DEFAULT, sql_mode = DEFAULT")
        for number in (1, 2):
            cursor.execute(
                "INSERT INTO products (id, name, price, stock, added, code) VALUES "
                f"({number}, {said}, 1.50, NULL, NOW(), X'{CODE}{number:02d}')"
            )
            cursor.execute(f"SELECT name, price\nFROM products -- a comment\nWHERE id = {number};")
            cursor.fetchall()
            cursor.execute(
                f"/* page {number} */ SELECT p.name, COUNT(*) FROM products p "
                "LEFT JOIN orders o ON o.product = p.id "
                f"WHERE p.name = {said} AND p.id IN ({number}, -7) "
                "GROUP BY 1 ORDER BY 2 DESC LIMIT 10"
            )
            cursor.fetchall()
            cursor.execute(f"UPDATE products SET stock = {number} WHERE id >= 1")
            cursor.execute(f"INSERT INTO orders (product, amount) VALUES ({number}, 2), (3, 4)")
            cursor.execute(f"PREPARE p FROM '{PREPARED}'")
            cursor.execute(f"SET @a = {number}, @b = {said}")
            cursor.execute("EXECUTE p USING @a, @b")
            cursor.fetchall()
            cursor.execute("DEALLOCATE PREPARE p")
            cursor.execute("SELECT COUNT(*) FROM orders WHERE product = 3 FOR UPDATE")
            cursor.fetchall()
        for wrong in ("SELECT nothing FROM products WHERE id = 1", "SELECT 1 FROM nowhere"):
            try:
                cursor.execute(wrong)
            except pymysql.MySQLError:
                continue
            raise AssertionError(f"the server takes {wrong}")


def settings(**more: str) -> dict[str, str]:
    """Settings of a server that logs everything."""
    logs = {
        "slow_query_log": "1",
        "long_query_time": "0",
        "general_log": "1",
        "slow_query_log_file": "slow.log",
        "general_log_file": "general.log",
    }
    return SETTINGS | logs | more


def connect(server: LabServer, *statements: str) -> None:
    """Runs statements; `USE x;…` in the database x."""
    for statement in statements:
        database, _, text = statement.rpartition(";")
        connection = opened(server, database.removeprefix("USE ") or None)
        with connection.cursor() as cursor:
            cursor.execute(text)
        connection.close()


def opened(server: LabServer, database: str | None) -> pymysql.Connection[Any]:
    """A connection to the server."""
    place = address(server)
    where: Any = (
        {"unix_socket": place.host}
        if place.host.startswith("/")
        else {"host": place.host, "port": place.port}
    )
    return pymysql.connect(
        **where, user=place.user, database=database, charset="utf8mb4", autocommit=True
    )
