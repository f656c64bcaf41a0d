"""The sessions in which an arm's server is asked an application's queries."""

from contextlib import AbstractContextManager

from dbdyno.engine.inquiry import Inquirer
from dbdyno.model import engine
from dbdyno.model.engine import Traits
from dbdyno.model.error import ServerError
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
    """Whether queries that write may be tried, and undone: the server is the lab's, or lent."""
    return run.server.made is not None or run.arm.allow_writes
