"""What `orders` loads: the same rows on every engine, by as many streams as you like, in bounds."""

from dataclasses import replace
from typing import NamedTuple

import msgspec
import pytest

from dbdyno.engine import LabServer, Place
from dbdyno.model import Arm
from mysql_steps import DATABASE
from orders_steps import ask, filled, steps
from server_place import ends, started

pytestmark = [pytest.mark.live, pytest.mark.soak]

HASHES = {
    "postgres": "('x' || left(encode(sha256({row}::bytea), 'hex'), 8))::bit(32)::bigint",
    "mysql": "CAST(conv(left(sha2({row}, 256), 8), 16, 10) AS unsigned)",
    "mariadb": "CAST(conv(left(sha2({row}, 256), 8), 16, 10) AS unsigned)",
}
"""The first 32 bits of a row's SHA-256, as a number."""
CONTENT = {
    "item": (100_000, 214_773_434_723_959),
    "warehouse": (1, 2_865_062_716),
    "district": (10, 21_144_513_576),
    "customer": (30_000, 64_451_347_054_031),
    "history": (30_000, 64_604_413_487_813),
    "orders": (30_000, 64_340_632_829_770),
    "new_order": (9_000, 19_363_787_157_838),
    "order_line": (300_990, 646_660_673_458_990),
    "stock": (100_000, 214_708_553_839_716),
}
"""Of one warehouse by the seed of tests: rows, and the sum of their hashes in whatever order."""


class Bounds(NamedTuple):
    """Of a column, or of what is computed from one, in the specification's clause 4.3.3."""

    least: float
    greatest: float
    distinct: int  # of one warehouse, within a hundredth
    nulls: float = 0  # their share, within a hundredth


BOUNDS = {
    "item": {
        "i_id": Bounds(1, 100_000, 100_000),
        "i_im_id": Bounds(1, 10_000, 10_000),
        "length(i_name)": Bounds(14, 24, 11),
        "i_price": Bounds(1, 100, 9_901),
        "length(i_data)": Bounds(26, 50, 25),
    },
    "warehouse": {
        "w_tax": Bounds(0, 0.2, 1),
        "w_ytd": Bounds(300_000, 300_000, 1),
    },
    "district": {
        "d_id": Bounds(1, 10, 10),
        "d_tax": Bounds(0, 0.2, 10),
        "d_ytd": Bounds(30_000, 30_000, 1),
        "d_next_o_id": Bounds(3_001, 3_001, 1),
    },
    "customer": {
        "c_id": Bounds(1, 3_000, 3_000),
        "c_d_id": Bounds(1, 10, 10),
        "c_last": Bounds(0, 0, 1_000),
        "length(c_first)": Bounds(8, 16, 9),
        "CASE c_credit WHEN 'BC' THEN 1 WHEN 'GC' THEN 0 END": Bounds(0, 1, 2),
        "c_credit_lim": Bounds(50_000, 50_000, 1),
        "c_discount": Bounds(0, 0.5, 5_001),
        "c_balance": Bounds(-10, -10, 1),
        "c_ytd_payment": Bounds(10, 10, 1),
        "c_payment_cnt": Bounds(1, 1, 1),
        "c_delivery_cnt": Bounds(0, 0, 1),
        "length(c_data)": Bounds(300, 500, 201),
    },
    "history": {
        "h_c_id": Bounds(1, 3_000, 3_000),
        "h_amount": Bounds(10, 10, 1),
        "length(h_data)": Bounds(12, 24, 13),
    },
    "orders": {
        "o_id": Bounds(1, 3_000, 3_000),
        "o_c_id": Bounds(1, 3_000, 3_000),
        "o_carrier_id": Bounds(1, 10, 10, nulls=0.3),
        "o_ol_cnt": Bounds(5, 15, 11),
        "o_all_local": Bounds(1, 1, 1),
    },
    "new_order": {"no_o_id": Bounds(2_101, 3_000, 900)},
    "order_line": {
        "ol_o_id": Bounds(1, 3_000, 3_000),
        "ol_number": Bounds(1, 15, 15),
        "ol_i_id": Bounds(1, 100_000, 95_021),  # 300,000 draws: 1 - e^-3 of the items
        "ol_supply_w_id": Bounds(1, 1, 1),
        "CASE WHEN ol_delivery_d IS NOT NULL THEN 1 END": Bounds(1, 1, 1, nulls=0.3),
        "ol_quantity": Bounds(5, 5, 1),
        "ol_amount": Bounds(0, 9_999.99, 86_069),  # 90,000 draws of 999,999
        "length(ol_dist_info)": Bounds(24, 24, 1),
    },
    "stock": {
        "s_i_id": Bounds(1, 100_000, 100_000),
        "s_quantity": Bounds(10, 100, 91),
        "length(s_dist_01)": Bounds(24, 24, 1),
        "s_ytd": Bounds(0, 0, 1),
        "s_order_cnt": Bounds(0, 0, 1),
        "s_remote_cnt": Bounds(0, 0, 1),
        "length(s_data)": Bounds(26, 50, 25),
    },
}  # fmt: skip


def content(server: LabServer, table: str) -> tuple[int, int]:
    """The rows of a table, and the sum of their hashes: each column as text, NULL as none."""
    named = ask(
        server,
        f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
        f" AND table_schema IN ('public', '{DATABASE}') ORDER BY ordinal_position",
    )
    columns = ", ".join(name for (name,) in named)
    row = HASHES[server.engine].format(row=f"concat_ws('|', {columns})")
    ((rows, total),) = ask(server, f"SELECT count(*), sum({row}) FROM {table}")
    return int(rows), int(total)


def outside(server: LabServer, table: str) -> list[str]:
    """The columns of a table that are not within their bounds, with what they are."""
    wrong = []
    for of, bounds in BOUNDS[table].items():
        ends_of = "0, 0" if of == "c_last" else f"min({of}), max({of})"
        counts = f"count(DISTINCT {of}), count(*) - count({of}), count(*)"
        ((least, greatest, distinct, nulls, rows),) = ask(
            server, f"SELECT {ends_of}, {counts} FROM {table}"
        )
        if not (
            bounds.least <= float(least) <= float(greatest) <= bounds.greatest
            and abs(distinct - bounds.distinct) <= bounds.distinct / 100
            and abs(nulls / rows - bounds.nulls) <= (0.01 if bounds.nulls else 0)
        ):
            wrong.append(f"{table}: {of}: {least} to {greatest}, {distinct}, {nulls} of {rows}")
    return wrong


def check(server: LabServer) -> None:
    """Loads a warehouse by one stream and by eight: the same rows, whose columns are in bounds."""
    made = steps(server)
    for streams in (1, 8):
        fills = [msgspec.structs.replace(each, streams=streams) for each in made["fill"].job.fills]
        job = msgspec.structs.replace(made["fill"].job, fills=fills)
        filled(server, {"fill": replace(made["fill"], job=job)})
        assert {table: content(server, table) for table in BOUNDS} == CONTENT, streams
    assert [line for table in BOUNDS for line in outside(server, table)] == []


def test_postgresql_has_the_rows_of_the_specification_by_any_streams(place: Place) -> None:
    arm = Arm(name="orders", engine="postgres", base_dir=ends()[-1], settings={"fsync": "off"})
    with started(arm, place) as server:
        check(server)


def test_mysql_and_mariadb_have_the_same_rows(mysql_server: LabServer) -> None:
    check(mysql_server)
