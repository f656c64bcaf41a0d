"""Steps of the workload `orders` on a server: its tables loaded, its conditions asked."""

from dataclasses import replace
from typing import Any

from dbdyno import workload
from dbdyno.engine import LabServer, Server
from dbdyno.model import Step
from mysql_steps import DATABASE
from step_load import load


def steps(server: Server, used: str = "client", **given: str | int) -> dict[str, Step]:
    """The steps of one of its sets by name: a warehouse and 8 clients, if nothing else is given."""
    values = {"warehouses": 1, "clients": 8, "seconds": 2, **given}
    made = workload.expand(replace(workload.load("orders"), set=used), values, server.engine)
    return {step.name: step for step in made}


def ask(server: Server, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query on its tables."""
    return server.execute(sql, database=DATABASE)


def broken(server: Server, step: Step) -> set[str]:
    """The conditions of a step that do not hold."""
    answers = ((each.name, ask(server, each.query)) for each in step.conditions)
    return {name for name, ((count,),) in answers if count != 0}


def filled(server: LabServer, made: dict[str, Step]) -> None:
    """Loads the tables into a new database."""
    server.create_database(DATABASE)
    server.execute(*made["fill"].setup, database=DATABASE)
    load(server, made["fill"])
