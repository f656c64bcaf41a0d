"""Rights that steps need of the user of a server elsewhere: asked before anything starts."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.engine import Server
from dbdyno.model import Right, Step
from dbdyno.model.error import ServerError


def refuse_lacking(server: Server, steps: Iterable[Step]) -> None:
    """Raises ServerError for the first right that a step needs and the arm's user does not have.

    Servers of the lab's own have a user who may do all.
    """
    if not server.remote:
        return
    asked: set[str] = set()
    for step in steps:
        for right in step.rights:
            if right.query not in asked:
                asked.add(right.query)
                _refuse(server, step, right)


def _refuse(server: Server, step: Step, right: Right) -> None:
    address = server.address()
    assert address is not None, "a server elsewhere has an address"
    who = f"user `{address.user}` of arm {server.name}"
    where = f"{step.workload}: step `{step.name}`: {who}"
    try:
        rows = server.execute(right.query)
    except ServerError as error:
        raise ServerError(
            f"{where} cannot be asked for the right `{right.name}` ({error}): correct the "
            "workload's `rights`, or leave the step out"
        ) from error
    if not (rows and rows[0] and rows[0][0]):
        raise ServerError(
            f"{where} lacks the right `{right.name}`: grant it, name another user in the arm's "
            "`dsn`, or leave the step out"
        )
