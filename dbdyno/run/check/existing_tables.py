"""Tables that are there already and are used as they are (`fill = "keep"`): a check before a run.

A workload measures nonsense on tables of another size or shape, so the columns that its load would
fill have to be there, and about as many rows.
"""

from collections.abc import Iterator

from dbdyno.engine import Server
from dbdyno.model import Step
from dbdyno.model.error import ServerError

ROWS_OFF_MAX = 0.2
"""How far the number of rows may be from the load's: estimates are off, and steps write."""


def refuse_unfit(server: Server, load: Step) -> None:
    """Looks at each table that `load`, the workload's bulk load, would fill.

    Raises ServerError in one line for the first that is missing or other than that.
    """
    for table, columns, rows in filled(load):
        where = f"arm {server.name}: table `{table}`"
        try:
            server.execute(f"SELECT {', '.join(columns)} FROM {table} LIMIT 0")
        except ServerError as error:
            raise ServerError(
                f"{where} is not as the workload fills it ({error}): load it by `fill`, or change "
                "the parameters"
            ) from error
        there = rows_of(server, table)
        if abs(there - rows) > ROWS_OFF_MAX * rows:
            raise ServerError(
                f"{where} has about {there:,} rows, and the workload's parameters make it "
                f"{rows:,}: change them, or analyze the table, or load it by `fill`"
            )


def filled(load: Step) -> Iterator[tuple[str, list[str], int]]:
    """The tables of a load: name, columns, rows."""
    for fill in load.job.fills:
        columns = [column.name for column in fill.columns]
        if fill.source is not None:
            columns = list(fill.source.columns) or ["*"]
        for table in load.job.table_names(fill.table):
            yield table, columns, fill.rows


def rows_of(server: Server, table: str) -> int:
    """About how many rows a table has; counted where nobody has estimated them."""
    assert server.client is not None, "a fake has no tables to keep"
    rows = server.execute(server.client.sql.rows.format(table=table))
    estimate = int(rows[0][0] or -1) if rows else -1
    if estimate >= 0:
        return estimate
    ((count,),) = server.execute(f"SELECT count(*) FROM {table}")
    return int(count)
