"""Rights that steps need of the user of a server elsewhere: asked before anything starts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbdyno.engine import Server
from dbdyno.engine.interface import Client
from dbdyno.engine.rights import Need, UnmetNeed
from dbdyno.model import Right, Step
from dbdyno.model.error import ServerError
from dbdyno.workload import Workload

ADMINISTER = ("administer", "write `administer = 0` among the workload's parameters")
WITHOUT: Mapping[Need, tuple[str, str]] = {
    "checkpoint": ADMINISTER,
    "settings": ADMINISTER,
    "logs": ADMINISTER,
    "warm": ("prewarm", "write `prewarm = 0` among the workload's parameters"),
    "load": ("fill", 'write `fill = "published"` in the workload'),
}
"""By which parameter a workload that has it does without, and how that is said."""


def refuse_lacking(server: Server, steps: Iterable[Step]) -> None:
    """Raises ServerError for the first right that a step needs and the arm's user does not have.

    Servers of the lab's own have a user who may do all.
    """
    if not server.remote:
        return
    queries: set[str] = set()
    for step in steps:
        for right in step.rights:
            if right.query not in queries:
                queries.add(right.query)
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


def refuse_unmet(
    server: Server, uses: Sequence[tuple[Workload, Sequence[Step]]], *, checkpoint: bool
) -> None:
    """Raises ServerError with a line for each need that the arm's user does not meet.

    `uses`: each workload of the plan with the arm's steps; `checkpoint`: whether the plan wants one
    before each step. Servers of the lab's own have a user who may do all.
    """
    client, address = server.client, server.address()
    if not server.remote or client is None:
        return
    assert address is not None, "a server elsewhere has an address"
    who = f"user `{address.user}` of arm {server.name}"
    known: dict[Need, UnmetNeed | None] = {}
    lines = []
    for loaded, steps in uses:
        for need, step in _first_of_each(client, steps).items():
            if need not in known:
                known[need] = client.lack(need, server.execute)
            lack = known[need]
            if lack is not None:
                place = f"{step.workload}: step `{step.name}`: {who}"
                lines.append(f"{place} {lack.what}: {_remedies(loaded, need, lack)}")
    if checkpoint and (lack := client.lack("checkpoint", server.execute)):
        lines.append(f"schedule.checkpoint: {who} {lack.what}: remove the key, or {lack.mend}")
    if lines:
        raise ServerError("\n".join(lines))


def _first_of_each(client: Client, steps: Iterable[Step]) -> dict[Need, Step]:
    """Each need of these steps, with the first of them that has it."""
    first: dict[Need, Step] = {}
    for step in steps:
        for need in _needs(client, step):
            first.setdefault(need, step)
    return first


def _needs(client: Client, step: Step) -> Iterator[Need]:
    """The needs of a step: of its set-up, of what it sends, of its bulk load, of its warming."""
    sent = (statement.beginning for statement in step.job.statements)
    for sql in (*step.setup, *filter(None, sent)):
        need = client.needed(sql)
        if need is not None:
            yield need
    if step.job.fills:
        yield "load"
    if step.warm != "none":
        yield "warm"


def _remedies(loaded: Workload, need: Need, lack: UnmetNeed) -> str:
    """What whoever wrote the plan does about it, if the workload can do without; else others."""
    name, words = WITHOUT.get(need, ("", ""))
    offered = set(loaded.file.parameters)
    if any(step.fill is not None for step in loaded.file.steps):
        offered.add("fill")
    return f"{words}, or {lack.mend}" if name in offered else lack.mend
