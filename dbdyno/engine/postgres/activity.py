"""Reads a row of pg_stat_activity, as sessions are sampled (engine.activity). Pure."""

from dbdyno.engine.activity import HIDDEN, IDLE, IN_TRANSACTION, ON_CPU, TEXT_CHARACTERS, Session

CLIENT = "client backend"
NOT_SHOWN = "<insufficient privilege>"
"""In place of the query of another user's session, all of whose activity is null, for a user who
has neither that user's role nor pg_read_all_stats (pgstatfuncs.c)."""

Row = tuple[int, str | None, str | None, str | None, str | None, str | None, int | None, int | None]
"""pid, backend_type, state, wait_event_type, wait_event, the query's beginning; when it and its
transaction began, in microseconds since 1970."""


def sql(version_num: int, *, each: bool) -> str:
    """The query of a sample: all processes but the one asked and those that only wait for work.

    The function below pg_stat_activity, as the view joins names that nobody needs here. Before 10
    it has client backends and autovacuum's workers only, and does not tell them apart. `each`: also
    what only a record of every session has: times, and the last query of idle ones.
    """
    kind = "backend_type" if version_num >= 100000 else "NULL::text"
    begun = ("query_start", "xact_start")
    times = [f"(extract(epoch FROM {one}) * 1e6)::bigint" for one in begun]
    text = f"left(query, {TEXT_CHARACTERS})"
    shown = text if each else f"CASE WHEN state IS DISTINCT FROM 'idle' THEN {text} END"
    return f"""
        SELECT pid, {kind}, state, wait_event_type, wait_event, {shown},
               {", ".join(times) if each else "NULL::bigint, NULL::bigint"}
        FROM pg_stat_get_activity(NULL)
        WHERE pid <> pg_backend_pid() AND wait_event_type IS DISTINCT FROM 'Activity'
    """


BLOCKS = """
    SELECT fetched - hit, hit
    FROM (SELECT pg_stat_get_db_blocks_fetched(oid) AS fetched,
                 pg_stat_get_db_blocks_hit(oid) AS hit
          FROM pg_database WHERE datname = current_database()) AS counted
"""
"""Pages of the database that were read from outside of shared_buffers, and found there."""


def session(row: Row) -> Session:
    """The activity of the process of a row."""
    pid, backend, state, wait, event, text, query_us, xact_us = row
    background = None if backend in (None, CLIENT) else backend
    if text == NOT_SHOWN:
        return Session(pid, None, None, HIDDEN, "", "")
    kind, told = doing(state, wait, event)
    return Session(pid, background, state, kind, told, text or "", query_us, xact_us)


def doing(state: str | None, wait: str | None, event: str | None) -> tuple[str, str]:
    """The class of what a process does, and the event."""
    if pausing(state):
        return IN_TRANSACTION, ""
    if state == "idle" or (wait == "Client" and event == "ClientRead"):
        return IDLE, ""
    return wait or ON_CPU, event or ""


def pausing(state: str | None) -> bool:
    """Whether a session holds a transaction open and waits for its client, failed ones too."""
    return state is not None and state.startswith(IN_TRANSACTION)
