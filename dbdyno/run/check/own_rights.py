"""Whether a user of a server elsewhere may run an application's queries, and as whom."""

from dbdyno import engine
from dbdyno.engine import Server
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from dbdyno.model.own_query import Application
from dbdyno.run.own_calls import calls

NAMED_MAX = 5
"""So many queries are named, the others counted."""


def said(arm: Arm, server: Server, application: Application) -> str:
    """What is said where queries run without their roles; nothing where they have them.

    Raises ServerError, with the GRANT, where the user may not run all of them. Servers of the
    lab's own have a user who may do all.
    """
    address = server.address()
    if not server.remote or server.client is None or address is None:
        return ""
    by_name = {
        query.name: call
        for query in application.queries
        if arm.allow_writes or not query.writes
        for call in calls(query, engine.of(arm.engine).traits, 1)
    }
    with server.client.inquiry(address) as inquirer:
        lacking = inquirer.lacking(by_name)
    roles = ", ".join(f"`{role}`" for role in lacking.roles)
    grants = "; ".join(lacking.grants)
    if lacking.refused:
        more = len(lacking.refused) - NAMED_MAX
        names = ", ".join(lacking.refused[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
        role = f", nor take their role {roles}" if roles else ""
        raise ServerError(
            f"arms.{arm.name}: user `{lacking.user}` may not run {len(lacking.refused)} of "
            f"{len(by_name)} queries{role} ({names}): "
            f"{grants or 'grant what they need, or remove them from the workload file'}"
        )
    if not lacking.roles:
        return ""
    mend = f"; for {roles}: {grants}" if grants else ""
    return f"queries run as `{lacking.user}`, who may not take their role {roles}{mend}"
