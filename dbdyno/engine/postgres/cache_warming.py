"""Warms the caches of a server: by pg_prewarm, or by scans.

Warming reads all tables of the database with their indexes, tables first, by name; or what a step
names, in that order. How well it works is the server's: see docs/servers.md.
"""

import time
from collections.abc import Sequence
from typing import Any

from dbdyno.engine.interface import WARM_S_MAX, Executor
from dbdyno.model.error import ServerError
from dbdyno.model.literal import literal
from dbdyno.model.step_files import CacheWarming, Resident

EXTENSION = "pg_prewarm"

RELATIONS = """
SELECT c.oid, c.oid::regclass::text, c.relkind::text, pg_relation_size(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'i') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
ORDER BY c.relkind DESC, 2"""
NAMED = """
SELECT to_regclass(name)::oid, name, NULL, pg_relation_size(to_regclass(name))
FROM unnest(ARRAY[{names}]) WITH ORDINALITY AS one (name, place) ORDER BY place"""
RESIDENT = """
SELECT c.oid, count(b.bufferid) * current_setting('block_size')::bigint
FROM pg_class c LEFT JOIN pg_buffercache b
  ON b.relfilenode = pg_relation_filenode(c.oid) AND b.relforknumber = 0
  AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE c.oid IN ({oids}) GROUP BY c.oid"""
INDEXES = """
SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, a.amname,
       pg_get_expr(i.indpred, i.indrelid),
       (SELECT string_agg(
            pg_get_indexdef(i.indexrelid, k + 1, true)
            || CASE WHEN i.indoption[k] & 1 = 1 THEN ' DESC' ELSE '' END
            || CASE WHEN i.indoption[k] & 2 = 2 THEN ' NULLS FIRST' ELSE ' NULLS LAST' END,
            ', ' ORDER BY k)
        FROM generate_subscripts(i.indoption, 1) AS k)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'i' AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
ORDER BY 1"""
BY_TABLE = (
    "SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN "
    "('enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan')",
    "SET max_parallel_workers_per_gather = 0",
)
BY_INDEX = (
    "SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN "
    "('enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_incremental_sort')",
    "SET max_parallel_workers_per_gather = 0",
)
"""Settings of the session that leave the planner one way (9.6 has no incremental sort)."""


def warm(how: str | Sequence[str], execute: Executor) -> CacheWarming:
    """Reads all tables and indexes, or these relations. Raises ServerError."""
    begun_s = time.monotonic()
    if not isinstance(how, str):
        return warm_named(how, execute, begun_s)
    extension = (f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}",) if how == "prewarm" else ()
    relations = execute(*extension, RELATIONS, limit_s=WARM_S_MAX)
    left_out = prewarm(relations, execute) if how == "prewarm" else scan(relations, execute)
    return CacheWarming(
        how=how,
        seconds=time.monotonic() - begun_s,
        relations=len(relations) - len(left_out),
        bytes=sum(size for _, name, _, size in relations if name not in left_out),
        left_out=left_out,
    )


def warm_named(names: Sequence[str], execute: Executor, begun_s: float) -> CacheWarming:
    """Reads these relations in their order, and says what of each is in shared_buffers then.

    Pages that do not fit displace earlier ones, so that the last ones stay.
    """
    for extension in (EXTENSION, "pg_buffercache"):
        execute(f"CREATE EXTENSION IF NOT EXISTS {extension}", limit_s=WARM_S_MAX)
    quoted = ", ".join(map(literal, names))
    relations = execute(NAMED.format(names=quoted), limit_s=WARM_S_MAX)
    if lacking := [name for oid, name, *_ in relations if oid is None]:
        raise ServerError(f"key `warm` of the step: there is no table or index `{lacking[0]}`")
    prewarm(relations, execute)
    oids = ", ".join(str(oid) for oid, *_ in relations)
    resident = dict(execute(RESIDENT.format(oids=oids), limit_s=WARM_S_MAX))
    return CacheWarming(
        how="prewarm",
        seconds=time.monotonic() - begun_s,
        relations=len(relations),
        bytes=sum(size for *_, size in relations),
        left_out=(),
        resident=[
            Resident(name=name, bytes=size, resident_bytes=int(resident[oid]))
            for oid, name, _, size in relations
        ],
    )


def prewarm(relations: list[tuple[Any, ...]], execute: Executor) -> list[str]:
    """Reads every block of the relations into the server's own cache; leaves nothing out.

    By one connection, as each takes a second where the server runs under a counter.
    """
    reads = [f"SELECT {EXTENSION}({oid}::oid::regclass)" for oid, *_ in relations]
    execute(*reads, limit_s=WARM_S_MAX)
    return []


def scan(relations: list[tuple[Any, ...]], execute: Executor) -> list[str]:
    """Reads tables by sequential scans and B-trees in their order; returns what it cannot read."""
    for _, name, kind, _ in relations:
        if kind == "r":
            execute(*BY_TABLE, f"SELECT count(*) FROM ONLY {name}", limit_s=WARM_S_MAX)
    left_out = []
    for name, table, method, predicate, order in execute(INDEXES, limit_s=WARM_S_MAX):
        if method != "btree":
            left_out.append(name)
            continue
        where = f"WHERE {predicate}" if predicate else ""
        # OFFSET 0 keeps the planner from dropping the order.
        inside = f"SELECT 1 FROM ONLY {table} {where} ORDER BY {order} OFFSET 0"
        execute(*BY_INDEX, f"SELECT count(*) FROM ({inside}) AS ordered", limit_s=WARM_S_MAX)
    return left_out
