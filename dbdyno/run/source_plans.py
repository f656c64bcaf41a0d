"""statistics.json of a captured folder: what the server's planner knows, and its own plans."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import structs

from dbdyno import workload
from dbdyno.capture import engines
from dbdyno.capture import folder as captured_folder
from dbdyno.capture.view import ViewedServer
from dbdyno.engine import planner_lab
from dbdyno.engine.inquiry import Inquirer, QueryCall
from dbdyno.model import engine
from dbdyno.model.engine import Traits
from dbdyno.model.error import ResultError
from dbdyno.model.own_query import Application, OwnQuery
from dbdyno.model.plan_tree import PlanTree
from dbdyno.model.planner_statistics import (
    FILE,
    FORMAT,
    HIDDEN_WORDS,
    ServerStatistics,
)
from dbdyno.run.own_calls import as_call, calls
from dbdyno.run.plan_trees import tree
from dbdyno.store.file import read_format
from dbdyno.workload.queries import parameters_of

TUPLES = 3
"""So many tuples of a query's values are planned for, the heaviest."""
PLANS_S_MAX = 120.0
"""After so long the server is asked for no further plan; those of other queries are unproven."""
NO_ROLE = "42501"


def keep(server: ViewedServer, name: str, folder: Path, *, texts: bool) -> ServerStatistics:
    """Writes statistics.json beside a captured application. Raises DynoError, OSError."""
    application = workload.captured(folder)
    lab = planner_lab.of(name)
    traits = engine.of(name)
    plans: list[PlanTree] = []
    with lab.opened(server.address, server.name) as source:
        statistics = source.exported(texts=texts)
        begun_s = time.monotonic()
        for query in queries_of(application):
            if time.monotonic() - begun_s < PLANS_S_MAX:
                plans += trees(source.inquirer, query, traits)
            else:
                plans.append(PlanTree(query=query.name, unavailable="no time was left"))
    statistics = structs.replace(statistics, plans=tuple(plans))
    captured_folder.put(folder / FILE, text_of(statistics))
    return statistics


def summary(statistics: ServerStatistics) -> Iterator[str]:
    """What a file of statistics has, and what it lacks, in lines."""
    planned = {plan.query for plan in statistics.plans if plan.root is not None}
    queries = {plan.query for plan in statistics.plans}
    yield (
        f"{FILE}: {len(statistics.relations):,} tables and indexes, plans of {len(planned)} of "
        f"{len(queries)} queries; it {statistics.note}"
    )
    hidden = statistics.hidden
    counts = Counter(part.subject for part in hidden.parts)
    listed = ", ".join(
        f"{words} ({counts[subject]})" for subject, words in HIDDEN_WORDS.items() if counts[subject]
    )
    if listed:
        yield f"{FILE}: hidden from `{statistics.user}`: {listed}; {hidden.grant} shows them"
    if statistics.values == "none":
        yield (
            f"{FILE}: without values of text-like columns conditions on these are guessed: "
            "`dyno plans` tells nothing where that gives another plan than the server's own"
        )
    for sentence in statistics.left_out:
        yield f"{FILE}: {sentence}"


def text_of(statistics: ServerStatistics) -> str:
    """The file, whose first line says what it holds."""
    text = msgspec.json.encode(statistics).decode()
    return text.replace('","format":', '",\n"format":', 1) + "\n"


def read(folder: Path) -> ServerStatistics:
    """The statistics beside a captured application. Raises ResultError in one line."""
    try:
        return read_format(folder / FILE, ServerStatistics, FORMAT)
    except ResultError as error:
        raise ResultError(f"{error}, or capture again with --statistics") from None


def queries_of(application: Application) -> Iterator[OwnQuery]:
    """All queries of an application, those without values behind."""
    yield from application.queries
    yield from application.without_values


# --- Plans of a query -----------------------------------------------------------------------------


def trees(inquirer: Inquirer, query: OwnQuery, traits: Traits) -> Iterator[PlanTree]:
    """A query's plans for its heaviest values, then, of a prepared one, for any."""
    for place, call in enumerate(calls(query, traits, TUPLES), start=1):
        yield asked(inquirer, query, place, call)
    if (of_any := generic_call(query, traits)) is not None:
        yield structs.replace(asked(inquirer, query, 1, of_any, generic=True), generic=True)


def generic_call(query: OwnQuery, traits: Traits) -> QueryCall | None:
    """A call that is planned for any values; None of a query that is never planned so."""
    count = parameters_of(query.text)
    if not count or (query.values is not None and query.protocol != "prepared"):
        return None
    places_of = engines.places(traits.name)
    typed = "" if places_of is None or any(query.types) else places_of(query.text).typed
    bound = replace(query, protocol="prepared", text=typed or query.text)
    return as_call(bound, (None,) * count, traits)


def asked(
    inquirer: Inquirer, query: OwnQuery, place: int, call: QueryCall, *, generic: bool = False
) -> PlanTree:
    """The plan of a call; without its role where the session may not take it."""
    explained = inquirer.explain(call, generic=generic)
    if explained.root is None and call.role is not None and NO_ROLE in explained.unavailable:
        explained = inquirer.explain(replace(call, role=None), generic=generic)
    return tree(query, place, explained)
