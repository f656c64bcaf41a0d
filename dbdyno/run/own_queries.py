"""An application's queries, and the sessions in which an arm's server is asked them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from dbdyno import workload
from dbdyno.engine.inquiry import Inquirer
from dbdyno.model import Plan, WorkloadUse, engine
from dbdyno.model.engine import Traits
from dbdyno.model.error import ServerError
from dbdyno.model.own_query import OwnQuery
from dbdyno.run.arm import Run


def inquiry(run: Run) -> AbstractContextManager[Inquirer]:
    """A session of queries on the arm's server. Raises ServerError where it does not connect."""
    address = run.server.address()
    if run.server.client is None or address is None:
        raise ServerError("the server answers no query")
    return run.server.client.inquiry(address)


def traits_of(run: Run) -> Traits:
    """The traits of the arm's engine."""
    return engine.of(run.arm.engine)


def writable(run: Run) -> bool:
    """Whether queries that write may be tried, and undone: on servers of the lab's own."""
    return run.server.made is not None


def queries(plan: Plan, use: WorkloadUse, names: Sequence[str]) -> Sequence[OwnQuery]:
    """The queries of a workload whose steps have these names; none of another workload."""
    application = workload.used(use, plan.path).application
    if application is None:
        return ()
    return [query for query in application.queries if query.name in names]
