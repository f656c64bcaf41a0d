"""Whether a session of PostgreSQL may run captured queries, and take the roles that they ran as."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from dbdyno.engine.inquiry import CallPlan, MissingRights, QueryCall
from dbdyno.engine.postgres.sections import quoted
from dbdyno.model.literal import MAY_TAKE, literal

NO_RIGHT = "42501"
CLOSED = """
SELECT string_agg(DISTINCT quote_ident(nspname), ', ')
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname !~ '^pg_|^information_schema$'
    AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))
"""
"""The schemas in which something may not be read."""
ROLES = (
    f"SELECT rolname FROM pg_catalog.pg_roles WHERE {MAY_TAKE} = {{may}} AND rolname IN ({{names}})"
)
Texts = Callable[[str], Iterable[Sequence[str | None]]]


def lacking(
    texts: Texts, explain: Callable[[QueryCall], CallPlan], calls: Mapping[str, QueryCall]
) -> MissingRights:
    """The rights that a session lacks for calls by their names. Raises ServerError.

    `texts`: the rows of a query; `explain`: the plan of a call, for which the server asks for the
    rights that a run needs.
    """
    roles = sorted({call.role for call in calls.values() if call.role is not None})
    names = ", ".join(map(literal, roles)) or "NULL"
    taken, there = (
        {name or "" for (name,) in texts(ROLES.format(may=may, names=names))}
        for may in ("true", "false")
    )
    ((user,),) = texts("SELECT quote_ident(current_user)")
    refused = tuple(
        name for name, call in calls.items() if explain(call).unavailable.startswith(NO_RIGHT)
    )
    grants: tuple[str, ...] = ()
    if there:
        grants = (f"GRANT {', '.join(map(quoted, sorted(there)))} TO {user}",)
    elif refused:
        grants = _of_tables(texts, f"{user}", writes=any(call.writes for call in calls.values()))
    return MissingRights(
        user=user or "",
        roles=tuple(role for role in roles if role not in taken),
        refused=refused,
        grants=grants,
    )


def _of_tables(texts: Texts, user: str, *, writes: bool) -> tuple[str, ...]:
    """What lets a user read, or change, the tables that are closed; none where all are open."""
    ((schemas,),) = texts(CLOSED)
    verbs = "SELECT, INSERT, UPDATE, DELETE" if writes else "SELECT"
    if not schemas:
        return ()
    return (
        f"GRANT USAGE ON SCHEMA {schemas} TO {user}",
        f"GRANT {verbs} ON ALL TABLES IN SCHEMA {schemas} TO {user}",
    )
