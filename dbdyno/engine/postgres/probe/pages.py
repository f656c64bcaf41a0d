"""Looks into the tables' pages: what all can see, free space, dead rows, how full the indexes are.

Whoever reads pages changes them: they come into caches and get hint bits, which the next step would
else have to set. So only few are read (PAGES_READ_MAX, SHARE_READ_MAX), those that changed last; of
all others the visibility map and the free space map tell. If that is not enough, the part is None,
with the reason. The connection is its own, so that what it reads is no step's: closed before the
counters of before.json are read, opened after those of after.json.
"""

from collections.abc import Sequence
from math import floor

from dbdyno.engine.postgres.probe.reader import PostgresProbe, connected, relations
from dbdyno.engine.snapshot import UnavailableError
from dbdyno.model import Address, Json

PAGES_READ_MAX = 4096
"""Of all tables together; as many again of all indexes. 32 MiB, 15 ms out of a cache."""
SHARE_READ_MAX = 0.25
"""Of the tables' pages: what has just been loaded is left to the step that comes to it first."""
PAGES_MAPPED_MAX = 8 << 20
"""64 GiB of tables: their maps take about a second, 0.1 µs a page."""

CHANGED = "pages of tables that changed since their last vacuum"

Pages = dict[str, Json | None]


def look(address: Address, tables: Sequence[str]) -> tuple[Pages, dict[str, str]]:
    """The parts `visibility`, `bloat` and `leaves`, and why what is None is so.

    Makes the extensions pg_visibility and pgstattuple in the database. Raises ServerError only
    where it cannot connect.
    """
    with connected(address) as reader:
        names = reader.part("pages", lambda _: relations(reader, tables)) or []
        seen = reader.part("visibility", lambda _: visibility(reader, names))
        found: Pages = {
            "visibility": seen,
            "bloat": reader.part("bloat", lambda _: bloat(reader, seen)),
            "leaves": reader.part("leaves", lambda _: leaves(reader, names)),
        }
        return found, reader.unavailable


def visibility(reader: PostgresProbe, names: Sequence[str]) -> Json:
    """Each table's pages, and how many of them its visibility map has; reads the map alone."""
    reader.extend("pg_visibility")
    rows = reader.rows(
        """
        SELECT wanted.name AS table, size.pages, map.all_visible AS all_visible_pages,
               map.all_frozen AS all_frozen_pages
        FROM unnest(%s::text[]) AS wanted (name),
             LATERAL (SELECT pg_relation_size(wanted.name::regclass)
                             / current_setting('block_size')::bigint AS pages) AS size,
             LATERAL pg_visibility_map_summary(wanted.name::regclass) AS map
        """,
        [list(names)],
    )
    return {row.pop("table"): row for row in rows}


def bloat(reader: PostgresProbe, seen: Json | None) -> Json:
    """Free space and dead rows in each table, by pgstattuple_approx.

    The extension reads the pages that the visibility map does not have. `seen`: what `visibility`
    found.
    """
    if seen is None:
        raise UnavailableError("without the visibility map nobody knows how much would be read")
    pages = sum(table["pages"] for table in seen.values())
    refuse_too_many(pages, PAGES_MAPPED_MAX, "pages of tables")
    unseen = pages - sum(table["all_visible_pages"] for table in seen.values())
    refuse_too_many(unseen, PAGES_READ_MAX, CHANGED)
    refuse_too_many(unseen, floor(pages * SHARE_READ_MAX), f"of {pages:,} {CHANGED}")
    reader.extend("pgstattuple")
    rows = reader.rows(
        """
        SELECT wanted.name AS table, found.table_len AS bytes, found.scanned_percent,
               found.approx_free_space AS free_bytes, found.dead_tuple_count AS dead_rows,
               found.dead_tuple_len AS dead_bytes
        FROM unnest(%s::text[]) AS wanted (name),
             LATERAL pgstattuple_approx(wanted.name::regclass) AS found
        """,
        [list(seen)],
    )
    return {row.pop("table"): row for row in rows}


def leaves(reader: PostgresProbe, names: Sequence[str]) -> Json:
    """How full each B-tree's leaf pages are, and how many are out of order; reads all its pages."""
    rows = reader.rows(
        """
        SELECT index.indexrelid::regclass::text AS name,
               pg_relation_size(index.indexrelid)
               / current_setting('block_size')::bigint AS pages
        FROM pg_index AS index JOIN pg_class AS class ON class.oid = index.indexrelid
        JOIN pg_am AS method ON method.oid = class.relam
        WHERE index.indrelid IN (SELECT name::regclass FROM unnest(%s::text[]) AS name)
          AND method.amname = 'btree' AND index.indisvalid
        ORDER BY index.indexrelid
        """,
        [list(names)],
    )
    refuse_too_many(sum(row["pages"] for row in rows), PAGES_READ_MAX, "pages of indexes")
    reader.extend("pgstattuple")
    found = reader.rows(
        """
        SELECT wanted.name AS index, leaf.avg_leaf_density AS density_percent,
               leaf.leaf_fragmentation AS fragmentation_percent
        FROM unnest(%s::text[]) AS wanted (name),
             LATERAL pgstatindex(wanted.name::regclass) AS leaf
        """,
        [[row["name"] for row in rows]],
    )
    return {row.pop("index"): row for row in found}


def refuse_too_many(pages: int, pages_max: int, what: str) -> None:
    """Raises UnavailableError where more would be read than may be."""
    if pages > pages_max:
        raise UnavailableError(f"{pages:,} {what}: more than the {pages_max:,} that are read")
