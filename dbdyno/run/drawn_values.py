"""Draws values for captured queries of which a view has counts alone, from the data of a race.

One server of the base is made with these data, from a dump whose golden copy the race's own blocks
find afterwards, or it is there. Each tuple is tried once, and weighed by the rows that it finds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self

from dbdyno.capture import calibration, drawing
from dbdyno.capture.calibration import TupleTrial
from dbdyno.capture.drawing import (
    Material,
    NoValueError,
    ParameterPlace,
    ParameterPlaces,
    Pool,
    Row,
    ValueQueries,
)
from dbdyno.capture.folder import CallSample, DrawOutcome
from dbdyno.engine.answer_hash import Rows
from dbdyno.engine.inquiry import (
    CALL_S_MAX,
    CALL_S_MIN,
    CallError,
    CallOutcome,
    Drawer,
    Inquirer,
    QueryCall,
)
from dbdyno.model import Observation, Plan, Schedule, Void, engine
from dbdyno.model.engine import Traits
from dbdyno.model.error import ServerError
from dbdyno.model.own_query import OwnQuery
from dbdyno.model.step_files import StepDone
from dbdyno.plan import schedule
from dbdyno.run import blocks, count_fill
from dbdyno.run.measurement import Measurement, StepFailed
from dbdyno.run.own_calls import Number, Value, as_call
from dbdyno.run.progress import Pulse
from dbdyno.run.step import Load
from dbdyno.store import Results
from dbdyno.workload.queries import mean_s, time_limit_s

TUPLES = 64
"""So many are drawn for a query and tried."""
QUERY_S_MAX, ALL_S_MAX = 10.0, 300.0
"""After so long no tuple of a query is tried any more, and no query; a later race draws these."""
TRIED_MIN = 4
"""A query that is so slow that fewer were tried in its time has no values."""
UNDISTURBED = Void(foreign=1.0)
PlacesOf = Callable[[str], ParameterPlaces]


def drawn(
    plan: Plan, step: str, queries: Sequence[OwnQuery], places_of: PlacesOf
) -> list[DrawOutcome]:
    """The values of queries, drawn on the server of a plan's base, in the place of its step.

    The caller has the host's lock. Raises DynoError as a block does, ServerError where the data
    could not be made.
    """
    (base,) = (arm for arm in plan.arms if arm.name == plan.base)
    may_write = base.dsn is None or base.allow_writes
    alone = replace(
        plan,
        name=f"{plan.name}.values",
        arms=(base,),
        workloads=(replace(plan.workloads[0], restart=False),),
        schedule=Schedule(repeats_max=0, void=UNDISTURBED),
        observe=Observation(),
        chosen_s=None,
        count=None,
    )
    asking = ValueInquiry(
        queries=[query for query in queries if may_write or not query.writes],
        places_of=places_of,
        traits=engine.of(base.engine),
    )
    with (
        tempfile.TemporaryDirectory(prefix="dyno-values-") as folder,
        blocks.opened(alone, Path(folder), quiet=True) as lab,
    ):
        lab = replace(lab, load=partial(DrawingLoad, step, asking), part="values")
        outcome = blocks.run_whole(lab, [schedule.block(alone, 1)])
        if outcome.failed:
            raise ServerError(f"values cannot be drawn: {why(lab.results.folder)}")
    return asking.done


def why(folder: Path) -> str:
    """The reason of the first step that failed."""
    return count_fill.why(Results.open(folder)).removeprefix(": ") or "the base's server failed"


class DrawingLoad(Load):
    """The load of the step in whose place values are drawn."""

    def __init__(self, step: str, asking: ValueInquiry, measurement: Measurement) -> None:
        super().__init__(measurement)
        self._asking = asking if self.step.name == step else None

    def __enter__(self) -> Self:
        """Starts nothing, unless it is the load of a step before."""
        return self if self._asking is not None else super().__enter__()

    def run(self, show: Callable[[Pulse], None]) -> None:
        """Asks the server for all queries. Raises StepFailed, ServerError, GeneratorError."""
        if self._asking is None:
            super().run(show)
            return
        server = self.bench.server
        address = server.address()
        if server.client is None or address is None:
            raise StepFailed("the server answers no query")
        begun_s = time.monotonic()
        for query in self._asking.queries:
            if time.monotonic() - begun_s < ALL_S_MAX:
                with server.client.inquiry(address) as inquirer:
                    self._asking.ask(inquirer, query)

    def end(self, done: StepDone) -> None:
        """As any load; of the drawing nothing is kept with the step."""
        if self._asking is None:
            super().end(done)


@dataclass(kw_only=True)
class ValueInquiry:
    """The queries that lack values, and what came of each."""

    queries: Sequence[OwnQuery]
    places_of: PlacesOf
    traits: Traits
    done: list[DrawOutcome] = field(default_factory=list)

    def ask(self, inquirer: Inquirer, query: OwnQuery) -> None:
        """Draws the values of a query. Raises ServerError."""
        if inquirer.drawer is not None:
            self.done.append(self._of_query(inquirer, inquirer.drawer, query))

    def _of_query(self, inquirer: Inquirer, drawer: Drawer, query: OwnQuery) -> DrawOutcome:
        try:
            material = self._material(inquirer, drawer, query)
            rows = drawing.tuples(material, TUPLES, query.name)
            tried = list(self._tried(inquirer, query, material.types, rows))
        except (NoValueError, CallError) as reason:
            return DrawOutcome(name=query.name, words=f"left out: {reason}")
        fit = calibration.fit(tried, rows_of(query), mean_s(query))
        if fit.problem:
            return DrawOutcome(name=query.name, words=f"left out: {fit.problem}")
        samples = tuple(CallSample(values, weight) for values, weight in fit.samples)
        return DrawOutcome(name=query.name, words=fit.words, samples=samples)

    # --- What tuples are made from ---

    def _material(self, inquirer: Inquirer, drawer: Drawer, query: OwnQuery) -> Material:
        places = self.places_of(query.text)
        call = call_of(query, query.text)
        types = drawer.parameter_types(replace(call, text=places.typed or query.text))
        pools = [
            self._pool(inquirer, drawer, call, draft, inserted(places, number))
            for number, draft in enumerate(places.drafts)
        ]
        tables = {name for draft in places.drafts for name in map(bare, draft.tables)}
        return Material(
            places=places,
            pools=pools,
            types=types,
            by_type=drawer.common(tables),
            rows=rows_of(query),
        )

    def _pool(
        self,
        inquirer: Inquirer,
        drawer: Drawer,
        call: QueryCall,
        draft: ValueQueries,
        written: Sequence[ParameterPlace],
    ) -> Pool:
        """The rows of a draft, of all that it reads; else of each column by itself."""
        share = max(drawer.share(draft.tables[0]), 0.001) if draft.tables else 100.0
        text = draft.whole if share == 100 else draft.sampled.replace(drawing.SHARE, f"{share:.4f}")
        rows: Sequence[Row] = ()
        if text:
            try:
                rows = drawer.drawn(replace(call, text=text))
            except CallError:
                rows = ()
        if not rows:
            columns = [self._column(drawer, call, draft, name) for name in draft.plain]
            count = max(map(len, columns))
            rows = [
                tuple(column[at % len(column)] if column else None for column in columns)
                for at in range(count)
            ]
        fresh: set[int] = set()
        if written:
            unique = drawer.unique([bare(table) for table in draft.tables])
            for index in unique:
                held = [place.column for place in written if named(draft, place) in index]
                fresh.update([each for each in held if each is not None][-1:])
        return Pool(rows=rows, fresh=frozenset(fresh))

    def _column(
        self, drawer: Drawer, call: QueryCall, draft: ValueQueries, name: str
    ) -> list[str | None]:
        """Values of a column of the first table that has it; none where none has."""
        for table in draft.tables:
            share = drawer.share(table)
            sampled = "" if share == 100 else f" TABLESAMPLE SYSTEM ({share:.4f})"
            text = f"SELECT ({name})::text FROM {table}{sampled}"
            try:
                return [row[0] for row in drawer.drawn(replace(call, text=text))]
            except CallError:
                continue
        return []

    # --- Trying ---

    def _tried(
        self, inquirer: Inquirer, query: OwnQuery, types: Mapping[int, str], rows: Sequence[Row]
    ) -> Iterator[TupleTrial]:
        """What calls with these tuples find, until the query's time is over.

        Raises NoValueError where too few can be tried.
        """
        begun_s, tried, last = time.monotonic(), 0, CallOutcome()
        names = [types[number] for number in sorted(types)]
        for row in rows:
            if time.monotonic() - begun_s > QUERY_S_MAX:
                break
            values = tuple(map(drawing.as_json, row, names))
            call = as_call(query, tuple(map(typed, row, names)), self.traits)
            call_s = time.monotonic()
            last = inquirer.answer(call, Rows(key=b"drawn"), {})
            if last.outcome == "rows":
                tried += 1
                yield TupleTrial(values=values, rows=last.rows, seconds=time.monotonic() - call_s)
        if tried < min(TRIED_MIN, len(rows)):
            raise NoValueError(last.reason or "too slow to try its values")


def inserted(places: ParameterPlaces, draft: int) -> list[ParameterPlace]:
    """The places of values that an INSERT writes."""
    return [
        place
        for place in places.places.values()
        if place.use == "inserted" and place.draft == draft
    ]


def named(draft: ValueQueries, place: ParameterPlace) -> str:
    """The column that a place meets."""
    return "" if place.column is None else draft.names[place.column]


def bare(table: str) -> str:
    """A table's name without its schema and quotes."""
    return table.rpartition(".")[2].strip('"')


def rows_of(query: OwnQuery) -> float | None:
    """The rows of a call at the source; None: not known."""
    return None if query.rows is None or not query.calls else query.rows / query.calls


def call_of(query: OwnQuery, text: str) -> QueryCall:
    """A call of another text in the query's session."""
    return QueryCall(
        text=text,
        own_text=query.text,
        settings=query.settings,
        role=query.role,
        limit_s=min(CALL_S_MAX, max(CALL_S_MIN, time_limit_s(query))),
    )


def typed(value: str | None, type_: str) -> Value:
    """A value as a call has it: a number as it stands."""
    written = drawing.as_json(value, type_)
    if value is None or written.startswith('"'):
        return value
    return written == "true" if type_ == "boolean" else Number(written)
