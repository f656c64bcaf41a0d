"""A workload file as it is written: every key that there is (docs/workload.md explains them)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dbdyno.model.document import Form
from dbdyno.model.engine import TRAITS
from dbdyno.model.step import Change
from dbdyno.workload.choice_schema import ClientStaggerForm, Weights
from dbdyno.workload.maker_schema import Maker, Number, Numbers
from dbdyno.workload.program_schema import PatternForm, PgbenchForm, RestoreForm, SysbenchForm

BEFORE = re.compile(
    rf"({'|'.join({key: 0 for each in TRAITS.values() for key in each.sql})})_before_(\d+(?:_\d+)*)"
)
"""The key of SQL for releases below one: `postgres_before_12`, `mysql_before_8_4`."""


class RepeatedSqlForm(Form):
    """SQL in a list that is there several times, or not at all; `statement` names one's."""

    repeat: Number = 1
    sql: str | None = None
    statement: str | None = None


Texts = str | list[str | RepeatedSqlForm]
"""SQL: one text, or several that follow one another."""


class EngineSqlForm(Form):
    """SQL per engine: `any` where it is equal, `mysql_before_8_4` for older releases; MariaDB has
    MySQL's where it has none of its own."""

    any: Texts | None = None
    postgres: Texts | None = None
    mysql: Texts | None = None
    mariadb: Texts | None = None
    before: dict[str, Texts] = Field(default_factory=dict, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _gather_versions(cls, data: Any) -> Any:
        """Puts the keys `ENGINE_before_N`, which no form can list, under `before`."""
        if not isinstance(data, dict):
            return data
        older = {key: value for key, value in data.items() if BEFORE.fullmatch(key)}
        newer = {key: value for key, value in data.items() if key not in older}
        if "before" in newer:
            raise ValueError("write `postgres_before_12 = …` in place of `before`")
        return {**newer, "before": older} if older else newer


def _same_for_all(data: Any) -> Any:
    return {"any": data} if isinstance(data, (str, list)) else data


Sql = Annotated[EngineSqlForm, BeforeValidator(_same_for_all)]


class ColumnForm(Numbers):
    """A column of a fill: a value by name, or a maker of its own."""

    value: str | None = None
    row: int | None = None
    pattern: str | None = None
    each: Number = 1
    type: str | None = None
    scale: Number | None = None
    null_if: str | None = None


def _column(data: Any) -> Any:
    if data == ":row":
        return {"row": 1}
    return {"value": data.removeprefix(":")} if isinstance(data, str) else data


class Supply(Form):
    """Rows that a program writes to standard output, or a file has; one of the two is there.

    `version` are the arguments by which the program tells its version.
    """

    command: list[str] | None = Field(default=None, min_length=1)
    file: str | None = None
    format: Literal["csv"] = "csv"
    header: bool | Number = False
    columns: list[str] = Field(default_factory=list)
    parts: Number = 1
    version: list[str] = Field(default_factory=list)
    remedy: str = ""


class ChildrenForm(Form):
    """So many rows for each row of another table, as the value of that table's column says."""

    per: str
    count: str


class FillForm(Form):
    """Rows that are loaded in bulk before the first step, and what stands around them."""

    rows: Number | ChildrenForm
    streams: Number = 0
    frozen: Number = 0
    before: Sql | None = None
    columns: dict[str, Annotated[ColumnForm, BeforeValidator(_column)]] = Field(
        default_factory=dict
    )
    source: Supply | None = Field(default=None, alias="from")
    after: Sql | None = None


class TableForm(Form):
    """Tables of one kind: `{t}` becomes pi1 … piN, or pi where it is not `numbered`.

    `name` is put in place of the kind's; `digits` is the least of a number: `4` for bench0001.
    """

    name: str | None = None
    count: Number = 1
    numbered: bool = True
    digits: Number = 1
    rows: Number | None = None
    bytes_per_row: Number | dict[str, Number] | None = None
    create: Sql | None = None
    fill: FillForm | None = None


class CursorForm(Form):
    """A number for each client, read from the database and moved along by a statement."""

    scope: Literal["client"] = "client"
    start: str
    advance: Number = 0
    on: Annotated[
        list[str], BeforeValidator(lambda data: [data] if isinstance(data, str) else data)
    ] = Field(default_factory=list)
    resync_every: Number = 1000
    queued: bool | Number = False
    connect: str = "once"


class StatementForm(EngineSqlForm):
    """One statement: its SQL per engine and how it is sent.

    Where it lists `values`, they stand for $1, $2 …, and the rest of its SQL stands as written.
    """

    values: list[str] | None = None
    keep: list[str] = Field(default_factory=list)
    protocol: str | None = None
    types: str | list[str] | None = None
    rows: Number | None = None
    class_: str | None = Field(default=None, alias="class", min_length=1)
    progress: str | None = Field(default=None, min_length=1)


class AssignForm(Form):
    """A variable that becomes what an expression makes of values and variables."""

    set: str
    to: str


class RollbackForm(Form):
    """The end of a transaction that has rolled back what it did, as it was to."""

    end: str


class Repetition(Form):
    """What is done several times or not at all, each by a new `draw`, where `when` is true."""

    repeat: Number = 1
    draw: list[str] = Field(default_factory=list)
    when: str | None = None
    do: list[str | AssignForm | RollbackForm | Repetition] = Field(min_length=1)


class SleepForm(Form):
    """A while in which a transaction stays open and nothing is sent."""

    sleep_s: Number


class Transaction(Form):
    """Statements that are sent one after the other and timed as a whole, or a script's.

    `script` is the path of a script of pgbench's, `protocol` how its statements are sent, `values`
    whether its names may be those of the file's values.
    """

    draw: list[str] = Field(default_factory=list)
    do: list[str | Repetition | SleepForm | AssignForm | RollbackForm] = Field(default_factory=list)
    script: str | None = None
    protocol: str | None = None
    values: bool = True


class Pace(Form):
    """When operations are due: at a rate, or tied to another role."""

    rows_per_s: Number | None = None
    per_s: Number | None = None
    arrivals: Literal["even", "burst", "poisson"] | None = None
    tied: str | None = None
    lead: Number | None = None


class StopForm(Form):
    """How much a role does: for each client, or in all where the role is `per = "step"`."""

    rows: Number | None = None
    operations: Number | None = None


class Codes(Form):
    """Errors by their codes, per engine; MariaDB has MySQL's where it has none of its own."""

    postgres: list[str] = Field(default_factory=lambda: ["40001", "40P01"])
    mysql: list[str] = Field(default_factory=lambda: ["40001"])
    mariadb: list[str] | None = None


class ErrorReactionForm(Form):
    """The reaction to a statement that fails."""

    retry: list[str] | Codes = Field(default_factory=Codes)
    tries: Number = 10
    otherwise: Literal["fail_step", "count", "count_retryable"] = "fail_step"


class RenewalForm(Form):
    """How connections are made anew after each turn, where an engine has SQL to ask them last."""

    binds: Number = 0
    ask: Sql


class RoleForm(Form):
    """A group of connections that do the same thing at the same pace."""

    when: Number = 1
    per: Literal["client", "step"] = "client"
    connections: Number = 1
    endpoint: str | None = Field(default=None, min_length=1)
    run: str | None = None
    choose: str | Weights | None = None
    choice: str = "random"
    table: Literal["own", "by_connection", "in_turn", "uniform"] | None = None
    pace: Literal["closed"] | Pace = "closed"
    stop: StopForm | None = None
    kind: Literal["insert", "delete", "query", "other"] | None = None
    after: list[str] = Field(default_factory=list)
    latency_limit_ms: Number = 0
    session: Sql | None = None
    statement_limit_s: Number | None = None
    on_error: ErrorReactionForm = Field(default_factory=ErrorReactionForm)
    on_lost: Literal["fail_step", "reconnect"] = "fail_step"
    connect: str = "once"
    renew: RenewalForm | None = None
    queue: Literal["role", "thread"] = "role"


Load = Literal["fast", "published"]
"""How the tables are loaded: in bulk, or by steps as the original does it."""


class StatementPartForm(Form):
    """The statements that each of some connections sends once; parts follow one another."""

    when: Number = 1
    connections: Number = 1
    table: Literal["by_connection"] | None = None
    once: Sql


class QueryForm(Form):
    """A number that the server is asked for after the load."""

    query: Sql


class OperationsForm(Form):
    """Those operations of a role that count, by the names of statements and transactions."""

    operations: list[str] = Field(min_length=1)


class HeadlineForm(Form):
    """A step's published throughput, or its time."""

    metric: str
    role: str
    count: Literal["rows", "operations", "statements"] | OperationsForm = "operations"
    work: Number | QueryForm | None = None
    each: Number | None = None


class ToldMetricForm(Form):
    """A metric of the step's own; exactly one of `column`, `pattern` and `query` is its source."""

    when: Number = 1
    title: str | None = None
    unit: str = ""
    better: Literal["more", "less"] | None = None
    column: str | None = None
    pattern: str | None = None
    query: Sql | None = None
    change: bool | Change = False
    of: str | None = None
    take: Literal["first", "last", "sum", "max", "mean"] = "first"
    text: bool = False


class RightForm(EngineSqlForm):
    """A right that the arm's user needs: a question whose answer is true or false."""

    right: str


class RequirementForm(EngineSqlForm):
    """A part that the server must have: a question with a true or false answer, and a remedy."""

    part: str
    remedy: str
    storage_engine: str = ""


class SlaForm(Form):
    """The rate that a role must hold, all clients together."""

    role: str
    rows_per_s: Number


class StepForm(Form):
    """One interval of the workload, or several where it has `for`."""

    name: str
    group: str | None = None
    fill: Load | None = None
    load: bool = False
    sets: list[str] = Field(default_factory=list)
    when: Number = 1
    each: dict[str, str | list[Number]] = Field(default_factory=dict, alias="for")
    parameters: dict[str, Number] = Field(default_factory=dict)
    creates: list[str] = Field(default_factory=list)
    makes: list[str] = Field(default_factory=list)
    rights: list[RightForm] = Field(default_factory=list)
    fills: list[str] = Field(default_factory=list)
    setup: Sql | None = None
    driver: Literal["loadgen", "command", "pgbench", "sysbench", "restore"] = "loadgen"
    command: str | list[str] | None = None
    needs: list[str] = Field(default_factory=list)
    pattern: PatternForm | None = None
    pgbench: PgbenchForm | None = None
    sysbench: SysbenchForm | None = None
    restore: RestoreForm | None = None
    limit_s: Number | None = None
    roles: dict[str, RoleForm] = Field(default_factory=dict)
    parts: list[StatementPartForm] = Field(default_factory=list)
    stop: str | list[str] | None = None
    seconds: Number | None = None
    warmup_s: Number = 0
    writes: bool | Number = True
    on_failure: Literal["skip_rest", "go_on"] = "skip_rest"
    warm: list[str] | Literal["none"] = "none"
    measured: bool = True
    headline: HeadlineForm | None = None
    metrics: dict[str, ToldMetricForm] = Field(default_factory=dict)
    sla: SlaForm | None = None
    pad_to_s: Number | None = None
    turn_s: Number = 0
    expected_s: Number | None = None
    invariants: Sql | None = None
    conditions: list[str] = Field(default_factory=list)
    capture: list[Literal["rows", "notices"]] = Field(default_factory=list)
    trace: bool = False
    log: Number = 0
    device_gb: Number = 0


class OwnQueryForm(Form):
    """A query of an application, as `dyno capture` writes it; paths begin at the file's folder."""

    text: str
    values: str | None = None
    calls: int | float = Field(ge=0)
    time_s: int | float = Field(default=0, ge=0)
    rows: int | float | None = None
    protocol: Literal["simple", "extended", "prepared"] = "simple"
    types: list[str] = Field(default_factory=list)
    writes: bool = False
    settings: dict[str, str] = Field(default_factory=dict)
    role: str | None = None
    clock: dict[str, str] = Field(default_factory=dict)
    drawn: str | None = None
    cut: bool = False


class MixForm(Form):
    """The transactions of an application together: their weights, their rate, its sessions."""

    per_s: int | float = Field(gt=0)
    sessions: int = Field(ge=1)
    choose: dict[str, Number] = Field(min_length=1)


class ExclusionForm(Form):
    """Calls of the source that no query stands for."""

    reason: str
    calls: int = 0
    time_s: float = 0.0


class QuerySourceForm(Form):
    """The server from which an application's queries were captured."""

    engine: str | None = None
    version: str | None = None
    encoding: str | None = None
    locale: str | None = None
    seconds: int | float | None = None
    time_s: int | float | None = None
    calls: int | float | None = None
    settings: dict[str, str] = Field(default_factory=dict)
    first: str | None = None
    last: str | None = None
    left_out: list[ExclusionForm] = Field(default_factory=list)


Parameters = dict[str, Number | list[Number]]


class StepSet(Form):
    """A set of steps, and the parameters that are its own.

    `steps` names them in the set's order, or they are `like` another set's, some left out
    (`without`), some replaced (`instead`); else they are those that name the set. `sweep` has each
    timed step once for every value of a parameter.
    """

    description: str = ""
    steps: list[str] | None = None
    like: str | None = None
    without: list[str] = Field(default_factory=list)
    instead: dict[str, str] = Field(default_factory=dict)
    sweep: dict[str, str | list[Number]] = Field(default_factory=dict)
    parameters: Parameters = Field(default_factory=dict)


class WorkloadFile(Form):
    """The whole file."""

    description: str = ""
    note: str = ""
    fill: Load | None = None
    set: str | None = None
    protocol: str = "simple"
    sysbench_types: bool | Number = False
    libpq_texts: bool | Number = False
    apart: ClientStaggerForm | None = None
    setup: Sql | None = None
    requires: list[RequirementForm] = Field(default_factory=list)
    sets: dict[str, StepSet] = Field(default_factory=dict)
    groups: dict[str, str] = Field(default_factory=dict)
    parameters: Parameters = Field(default_factory=dict)
    presets: dict[str, Parameters] = Field(default_factory=dict)
    checks: dict[str, Number] = Field(default_factory=dict)
    tables: dict[str, TableForm] = Field(default_factory=dict)
    values: dict[str, Maker] = Field(default_factory=dict)
    variables: dict[str, bool | Number] = Field(default_factory=dict)
    cursors: dict[str, CursorForm] = Field(default_factory=dict)
    statements: dict[str, Annotated[StatementForm, BeforeValidator(_same_for_all)]] = Field(
        default_factory=dict
    )
    transactions: dict[str, Transaction] = Field(default_factory=dict)
    conditions: dict[str, Sql] = Field(default_factory=dict)
    choices: dict[str, Weights] = Field(default_factory=dict)
    source: QuerySourceForm = Field(default_factory=QuerySourceForm)
    queries: dict[str, OwnQueryForm] = Field(default_factory=dict)
    mix: MixForm | None = None
    steps: list[StepForm] = Field(default_factory=list)

    @model_validator(mode="after")
    def _has_steps(self) -> Self:
        """Refuses a file that asks for nothing."""
        if not self.steps and not self.queries:
            raise ValueError("has neither `steps` nor `queries`; name at least one step")
        return self
