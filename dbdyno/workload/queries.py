"""Turns the queries of an application into steps of their own: `[queries]` of a workload file.

Each query becomes a statement, a value for each of its parameters, and a timed step of its name.
What a query writes is rolled back, so that each execution meets the same rows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from dbdyno.model.error import WorkloadError
from dbdyno.model.literal import literal, of_setting, taking
from dbdyno.model.own_query import Application, OwnQuery, QuerySource
from dbdyno.workload import maker_schema, own_text, schema

TOP = 50
"""So many queries run where the plan does not say `top`, those that cost most."""
PARAMETERS: Mapping[str, int | float] = {
    "clients": 1,
    "seconds": 5,
    "warmup_s": 0.25,
    "top": TOP,
    "speed": 1,
}
"""The parameters of a file that has queries and does not name its own."""
LIMIT_MEANS, LIMIT_MIN_S, LIMIT_MAX_S = 20, 1, 60
"""The longest that a call may take: in means of the source, and in seconds at least and at most."""
TURN_MEANS, TURNS_MIN = 3, 4
"""A turn has room for so many calls of the source's mean, and a step for so many turns.

Calls that are slower still fill their turns, and their rate is at most what follows from that.
"""
ALONE = "alone"
"""The set of steps in which each query is timed by itself."""
MIX = "mix"
"""The step, and its set, in which an application's transactions run together."""
ANSWERS = "answers"
"""The step, and its set, that times nothing: what is known after it was asked before it."""
ROLE = "query"
BINDS = 20
"""So often a session has planned a query before it is timed: sessions of applications last, and
PostgreSQL chooses from the sixth call on between a plan for the values and one for any."""
PLAN_COUNTS = (
    "SELECT generic_plans, custom_plans FROM pg_prepared_statements "
    "WHERE parameter_types <> '{{}}' AND NOT from_sql"
)
CONSTRAINTS = {"constraints": schema.StatementForm(any="SET CONSTRAINTS ALL IMMEDIATE")}
"""What checks at once that a commit would check."""


@dataclass(frozen=True, kw_only=True)
class QueryFile:
    """Where a query is written: the file as messages call it, and the folder of its texts."""

    source: str
    folder: Path

    def error(self, name: str, key: str, sentence: str) -> WorkloadError:
        """A complaint about a key of a query; to be raised."""
        return WorkloadError(f"{self.source}: key `queries.{name}.{key}`: {sentence}")


def application(file: schema.WorkloadFile, place: QueryFile) -> Application:
    """The application that a file's queries are.

    Raises WorkloadError: a text cannot be read, or no query has the values that it needs.
    """
    whole = of_file(file, place)
    if not whole.queries:
        raise WorkloadError(
            f"{place.source}: no query has values for its parameters: capture a log, which has "
            "them, or draw them from the data by `dyno race … --restore FILE`"
        )
    return whole


def of_file(file: schema.WorkloadFile, place: QueryFile) -> Application:
    """The same, also without a value. Raises WorkloadError: a text cannot be read."""
    of_source = file.source
    queries = read(file, place)
    lacking = tuple(query for query in queries if lacks_values(query))
    return Application(
        source=msgspec.convert(of_source, QuerySource, from_attributes=True),
        queries=tuple(query for query in queries if query not in lacking),
        without_values=lacking,
    )


def read(file: schema.WorkloadFile, place: QueryFile) -> list[OwnQuery]:
    """All queries of a file, the costliest first. Raises WorkloadError: a text cannot be read."""
    return sorted(
        (_query(name, form, place) for name, form in file.queries.items()),
        key=lambda query: (-query.time_s, -query.calls, query.name),
    )


def lacks_values(query: OwnQuery) -> bool:
    """Whether a query has parameters, and no values for them."""
    return query.values is None and parameters_of(query.text) > 0


def _query(name: str, form: schema.OwnQueryForm, place: QueryFile) -> OwnQuery:
    path = place.folder / form.text
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as reason:
        raise place.error(name, "text", f"{path}: {reason.strerror}") from None
    text = text.strip().removesuffix(";").rstrip()
    if not text:
        raise place.error(name, "text", f"{path} is empty; write the query there, or remove both")
    return OwnQuery(
        name=name,
        text=with_clock(text, form.clock),
        calls=form.calls,
        time_s=form.time_s,
        rows=form.rows,
        protocol=form.protocol,
        types=tuple(form.types),
        values=None if form.values is None else place.folder / form.values,
        writes=form.writes,
        settings=form.settings,
        role=form.role,
        drawn=form.drawn or "",
        cut=form.cut,
    )


def with_clock(text: str, clock: Mapping[str, str]) -> str:
    """The text with what stands for the clock in the place of its parameters, by their numbers."""
    return "".join(
        clock.get(piece[1:], piece) if number % 2 else piece
        for number, piece in enumerate(own_text.at_parameters(text))
    )


def with_steps(file: schema.WorkloadFile, asking: Application) -> schema.WorkloadFile:
    """The file with a step for each of its application's queries, the costliest first."""
    queries, lacking = asking.queries, {query.name for query in asking.without_values}
    mix = file.mix if file.mix is not None and not lacking & _names(file.mix, file) else None
    return file.model_copy(
        update={
            "set": file.set or ALONE,
            "parameters": {**PARAMETERS, **file.parameters},
            "values": file.values
            | dict(
                value for query in queries for value in _values(query, file.queries[query.name])
            ),
            "statements": file.statements
            | CONSTRAINTS
            | {query.name: _statement(query) for query in queries},
            "transactions": {
                name: form
                for name, form in file.transactions.items()
                if not lacking.intersection(each for each in form.do if isinstance(each, str))
            }
            | {_rolled_back(query): _transaction(query) for query in queries if query.writes},
            "steps": [
                *file.steps,
                *(_step(query, number) for number, query in enumerate(queries, start=1)),
                *([] if mix is None else [_mixed(mix, file, queries)]),
                _ANSWERED,
            ],
        }
    )


def _values(query: OwnQuery, form: schema.OwnQueryForm) -> Iterator[tuple[str, maker_schema.Maker]]:
    """A value for each of its parameters: a column of its file, whose path begins at the folder."""
    if form.values is not None:
        for column in range(1, parameters_of(query.text) + 1):
            type_ = query.types[column - 1] if column <= len(query.types) else ""
            sample = maker_schema.SampleForm(file=form.values, column=column, type=type_)
            yield value_name(query, column), maker_schema.Maker(sample=sample)


def parameters_of(text: str) -> int:
    """How many parameters a text has: the greatest of their numbers."""
    return max((int(piece[1:]) for piece in own_text.at_parameters(text)[1::2]), default=0)


def value_name(query: OwnQuery, number: int) -> str:
    """The name of the value of a parameter."""
    return f"{query.name}_{number}"


def _statement(query: OwnQuery) -> schema.StatementForm:
    count = parameters_of(query.text) if query.values is not None else 0
    return schema.StatementForm(
        any=query.text,
        values=[value_name(query, number) for number in range(1, count + 1)],
        protocol=query.protocol,
    )


def _rolled_back(query: OwnQuery) -> str:
    """The name of the transaction in which a query runs and is undone."""
    return f"{query.name}-rollback"


def _transaction(query: OwnQuery) -> schema.Transaction:
    """The query, with all that it would do at its commit as far as an engine can be told to."""
    checked = schema.Repetition(repeat="{engine == 'postgres'}", do=list(CONSTRAINTS))
    return schema.Transaction(do=["BEGIN", query.name, checked, "ROLLBACK"])


def _step(query: OwnQuery, rank: int) -> schema.StepForm:
    """The step that times a query; those beyond the plan's `top` are left out."""
    run = _rolled_back(query) if query.writes else query.name
    # An operation counts if it begins in a turn after the one with which the turn begins.
    turn_s = round(TURN_MEANS * mean_s(query), 2)
    return schema.StepForm(
        name=query.name,
        sets=[ALONE],
        when=f"{{top >= {rank}}}",
        seconds=f"{{max(seconds, {TURNS_MIN * turn_s:g})}}",
        turn_s=turn_s,
        warmup_s="{warmup_s}",
        writes=False,
        on_failure="go_on",
        headline=schema.HeadlineForm(metric="qps", role=ROLE, count="operations"),
        roles={
            ROLE: schema.RoleForm(
                run=run,
                kind="query",
                session=session(query),
                statement_limit_s=time_limit_s(query),
                renew=_renewal(query),
            )
        },
    )


def _renewal(query: OwnQuery) -> schema.RenewalForm | None:
    """How sessions begin anew whose server chooses between plans; None: they last.

    Before 14 no view tells what was chosen, and two plans do: that of the session, and the generic
    one.
    """
    count = parameters_of(query.text)
    if query.protocol != "prepared" or not count:
        return None
    explain = f"EXPLAIN EXECUTE dyno_prepared({', '.join(['NULL'] * count)})"
    generic = "SET plan_cache_mode = force_generic_plan"
    before: dict[str, list[str]] = {
        "postgres_before_14": [explain, "SELECT NULL", generic, explain]
    }
    ask = schema.EngineSqlForm(any=[], postgres=PLAN_COUNTS, **before)  # type: ignore[arg-type]
    return schema.RenewalForm(binds=BINDS, ask=ask)


_ANSWERED = schema.StepForm(
    name=ANSWERS,
    sets=[ANSWERS],
    parts=[schema.StatementPartForm(once=schema.EngineSqlForm(any="SELECT 1"))],
    measured=False,
    writes=False,
    expected_s=1,
)
"""Whether the server is there still once all queries were asked."""


def _mixed(
    mix: schema.MixForm, file: schema.WorkloadFile, queries: Sequence[OwnQuery]
) -> schema.StepForm:
    """The step that runs the application's transactions at their rate, and commits them.

    Its sessions are as those of the costliest query that it runs.
    """
    names = _names(mix, file)
    own = [query for query in queries if query.name in names]
    writes = any(query.writes for query in own)
    like = replace(own[0], writes=writes) if own else None
    return schema.StepForm(
        name=MIX,
        sets=[MIX],
        seconds="{seconds}",
        warmup_s="{warmup_s}",
        writes=writes,
        headline=schema.HeadlineForm(metric="qps", role=MIX, count="operations"),
        roles={
            MIX: schema.RoleForm(
                per="step",
                connections=mix.sessions,
                choose=dict(mix.choose),
                pace=schema.Pace(per_s=f"{{speed*{mix.per_s}}}", arrivals="poisson"),
                kind="query",
                session=None if like is None else session(like),
                on_error=schema.ErrorReactionForm(otherwise="count"),
            )
        },
    )


def _names(mix: schema.MixForm, file: schema.WorkloadFile) -> frozenset[str]:
    """The transactions and the statements that a mix runs."""
    transactions = (file.transactions.get(name) for name in mix.choose)
    done = (each for form in transactions if form is not None for each in form.do)
    return frozenset((*mix.choose, *(each for each in done if isinstance(each, str))))


def session(query: OwnQuery) -> schema.EngineSqlForm:
    """The SQL that makes a session such as those that sent the query."""
    reads = [] if query.writes else ["SET default_transaction_read_only = on"]
    role = [] if query.role is None else [taking(query.role, local=False)]
    variables = [
        f"SET SESSION {name} = {of_setting(value)}" for name, value in query.settings.items()
    ]
    # Before 5.6 a server has no such transactions.
    mysql_reads = [] if query.writes else ["/*!50605 SET SESSION TRANSACTION READ ONLY */"]
    return schema.EngineSqlForm(
        postgres=[
            *(
                f"SELECT set_config({literal(name)}, {literal(value)}, false)"
                for name, value in query.settings.items()
            ),
            *reads,
            *role,
        ],
        mysql=[*variables, *mysql_reads],
        mariadb=[*variables, *mysql_reads],
    )


def time_limit_s(query: OwnQuery) -> int:
    """The seconds after which a server ends a call: so many times its mean on the source."""
    return max(LIMIT_MIN_S, min(LIMIT_MAX_S, math.ceil(LIMIT_MEANS * mean_s(query))))


def mean_s(query: OwnQuery) -> float:
    """The mean time of a call on the source; 0: not known."""
    return query.time_s / query.calls if query.calls else 0.0
