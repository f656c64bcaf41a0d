"""Parts that a workload needs of its server, asked for before the server is filled."""

from collections.abc import Iterable

from dbdyno.engine import Server
from dbdyno.model import Step
from dbdyno.model.error import ServerError


def refuse_missing(server: Server, steps: Iterable[Step]) -> None:
    """Raises ServerError for the first part that the server, which runs, does not have.

    A server of the lab can be asked once it has started, one elsewhere before anything begins.
    """
    answers: set[str] = set()
    for step in steps:
        for requirement in step.requires:
            if requirement.query in answers:
                continue
            answers.add(requirement.query)
            rows = server.execute(requirement.query)
            if not (rows and rows[0] and rows[0][0]):
                raise ServerError(
                    f"{step.workload}: the server of arm {server.name} has no {requirement.part}: "
                    f"{requirement.remedy}"
                )
