"""Parts that a workload needs of its server, asked for before the server is filled."""

from collections.abc import Iterable

from dbdyno.engine import Server
from dbdyno.model import Step
from dbdyno.model.error import PlanError, ServerError


def refuse_unbuilt(server: Server, steps: Iterable[Step]) -> None:
    """Raises PlanError for a storage engine that the program of a lab's server does not have.

    So a plan ends before anything starts, where the program tells so much.
    """
    made = server.made
    needed = {need.storage_engine: need for step in steps for need in step.requires}
    for name, need in needed.items():
        if name and made is not None and not made.has_storage_engine(name):
            raise PlanError(f"arms.{server.name}: its server has no {need.part}: {need.remedy}")


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
