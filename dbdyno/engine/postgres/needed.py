"""What captured queries need of a dump's extensions and roles, by the names in their texts.

Of an extension that is not here nobody can ask what it makes. Its name stands before the names of
most of what it does, or is their schema's; where it does not, MEMBERS says how they begin.
"""

from collections.abc import Iterable, Mapping, Sequence

from dbdyno.model.job.external import SuitedQuery

MEMBERS: Mapping[str, tuple[str, ...]] = {
    "postgis": ("st_", "geometry", "geography", "spatial_ref_sys"),
    "postgis_topology": ("topology",),
    "pgrouting": ("pgr_",),
    "timescaledb": ("time_bucket", "timescaledb_information"),
    "pg_cron": ("cron",),
    "pg_partman": ("partman", "part_config"),
    "supabase_vault": ("vault",),
    "pg_graphql": ("graphql",),
    "pgjwt": ("sign", "verify", "url_encode", "url_decode"),
    "uuid-ossp": ("uuid_generate_",),
    "pgcrypto": ("crypt", "digest", "gen_salt", "hmac", "pgp_", "gen_random_bytes"),
    "pg_trgm": ("similarity", "word_similarity", "show_trgm"),
    "fuzzystrmatch": ("levenshtein", "soundex", "metaphone", "dmetaphone"),
    "tablefunc": ("crosstab", "connectby", "normal_rand"),
}
"""How the names begin of what well-known extensions make."""
MONITORED = ("pg_stat", "pg_ls_", "pg_show_all")


def need_of(extension: str, queries: Iterable[SuitedQuery]) -> str | None:
    """The first query that names what an extension makes."""
    own = extension.replace("-", "_")
    begins = (f"{own}_", *(each for each in MEMBERS.get(extension, ()) if each.endswith("_")))
    whole = {own, *MEMBERS.get(extension, ())}
    return next(
        (
            query.name
            for query in queries
            if any(name in whole or name.startswith(begins) for name in query.names)
        ),
        None,
    )


def monitors(queries: Sequence[SuitedQuery]) -> list[str]:
    """The roles whose queries read what only who monitors a server sees whole."""
    return sorted(
        {
            query.role
            for query in queries
            if query.role is not None and any(name.startswith(MONITORED) for name in query.names)
        }
    )
