"""How versions, settings and indexes change an application's plans, without a row of its data.

Each arm is a server of the lab with the application's schema and its server's statistics
(engine.planner_lab). All are up at once, so that what they plan otherwise can be planned again by
costs that differ a little. Nothing is run, timed or judged.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from dbdyno import engine as engines
from dbdyno.engine import LabServer, golden, installed, planner_lab
from dbdyno.engine.arm_server import settled
from dbdyno.engine.inquiry import Inquirer
from dbdyno.engine.planner_lab import PREFIX, IndexChanges, LabLacks, PlannerLab
from dbdyno.engine.restore import KEY, ClientPrograms, DumpRestore
from dbdyno.host import capacity, data_folder, leftovers
from dbdyno.host import place as places
from dbdyno.model import Address, Arm, engine
from dbdyno.model.error import PlanError
from dbdyno.model.job.external import Restore, SuitedQuery
from dbdyno.model.own_query import Application, OwnQuery
from dbdyno.model.plan_tree import PlanTree, PlanTrees
from dbdyno.model.planner_statistics import ServerStatistics
from dbdyno.model.plans_only import FORMAT, PlannedQuery, PlanningArm, PlansRecord
from dbdyno.run import source_plans
from dbdyno.run.arm import DATABASE
from dbdyno.run.own_calls import calls
from dbdyno.run.plan_trees import differing
from dbdyno.workload import masked
from dbdyno.workload.restored import names_in

NEAR = (0.95, 1.05)
"""By which a cost is multiplied to see which plans are near others."""
WORD = re.compile(r'"(?:[^"]|"")*"|[A-Za-z_][\w$]*')
JIT = (
    "SELECT CASE WHEN current_setting('jit')::bool "
    "AND current_setting('jit_above_cost')::float8 >= 0 "
    "THEN current_setting('jit_above_cost')::float8 END"
)


@dataclass(frozen=True, kw_only=True)
class PlansRequest:
    """Whose plans are wanted, on which arms."""

    folder: Path  # of the captured application
    application: Application
    statistics: ServerStatistics
    dump: Path
    arms: Sequence[Arm]  # the base first
    indexes: IndexChanges  # of the last arm alone
    command: str
    race: str
    say: Callable[[str], None]

    @property
    def queries(self) -> list[OwnQuery]:
        """All queries, those without values behind."""
        return list(source_plans.queries_of(self.application))


def planned(request: PlansRequest) -> PlansRecord:
    """The plans of all queries on all arms. Raises DynoError in a line.

    The caller has the host's lock.
    """
    begun_s = time.monotonic()
    root = places.data_root()
    leftovers.end_leftovers()
    golden.sweep(root)
    name = request.arms[0].engine
    lab, traits = planner_lab.of(name), engine.of(name)
    dump = dump_of(request, name)
    with ExitStack() as stack:
        scratch = stack.enter_context(logs(root))
        servers = [
            stack.enter_context(ready(request, arm, lab, dump, scratch)) for arm in request.arms
        ]
        inquirers = [
            stack.enter_context(server.server.client.inquiry(server.address)) for server in servers
        ]
        first = [
            [tree for query in request.queries for tree in source_plans.trees(by, query, traits)]
            for by in inquirers
        ]
        names = differing(first)
        again = [query for query in request.queries if query.name in names]
        arms = tuple(
            planning_arm(
                server, str(request.folder), [*trees, *near(server, by, again, trees, lab.costs)]
            )
            for server, by, trees in zip(servers, inquirers, first, strict=True)
        )
    statistics = request.statistics
    unknown = [part for server in servers for part in server.lacks.unknown]
    source = request.application.source
    return PlansRecord(
        format=FORMAT,
        command=request.command,
        race=request.race,
        workload=str(request.folder),
        time_s=source.time_s or sum(query.time_s for query in request.queries),
        queries=tuple(map(planned_query, request.queries)),
        arms=arms,
        source=statistics.plans,
        user=statistics.user,
        hidden=statistics.hidden,
        reading=statistics.reading,
        beyond=(*statistics.beyond, *dict.fromkeys(unknown)),
        left_out=statistics.left_out,
        seconds=round(time.monotonic() - begun_s, 1),
    )


def planned_query(query: OwnQuery) -> PlannedQuery:
    """A query as the record has it, without a value."""
    text = masked(query.text)
    return PlannedQuery(
        name=query.name,
        text=text,
        calls=query.calls,
        time_s=query.time_s,
        words=tuple(sorted({word.strip('"') for word in WORD.findall(text)})),
    )


def dump_of(request: PlansRequest, name: str) -> DumpRestore:
    """The dump, looked into, of which the schema alone is restored. Raises PlanError, HostError."""
    restorer, source = engines.of(name).restorer, request.application.source
    if restorer is None:
        raise PlanError(f"{KEY}: engine `{name}` takes no dump")
    paths = [path for program in restorer.programs for path in installed.programs(program)]
    queries = tuple(
        SuitedQuery(name=query.name, role=query.role, names=tuple(names_in(query.text)))
        for query in request.queries
    )
    wish = Restore(
        path=str(request.dump),
        encoding=source.encoding,
        locale=source.locale,
        queries=queries,
        rows=False,
    )
    return restorer.read(wish, paths)


# --- Servers --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PlanningServer:
    """A server of the lab that plans as another does."""

    arm: Arm
    server: LabServer
    version: str
    indexes: IndexChanges
    lacks: LabLacks

    @property
    def address(self) -> Address:
        """Where it is asked."""
        return address_of(self.server)


def address_of(server: LabServer) -> Address:
    """Where a server of the lab is asked."""
    address = server.address()
    assert address is not None, "the lab's own servers have one"
    return address


@contextmanager
def logs(root: Path) -> Iterator[Path]:
    """A folder for the logs of servers, which the next lab sweeps where this one is killed."""
    folder = root / f"{PREFIX}.logs"
    try:
        data_folder.make_long(folder)
        yield folder
    finally:
        data_folder.remove(folder)


@contextmanager
def ready(
    request: PlansRequest, arm: Arm, lab: PlannerLab, dump: DumpRestore, scratch: Path
) -> Iterator[PlanningServer]:
    """An arm's server with schema and statistics; it is gone afterwards. Raises DynoError."""
    begun_s = time.monotonic()
    place = places.default(log_dir=scratch / arm.name, engine=arm.engine)
    place.make()
    build = installed.locate(arm, place.cache_root, place.account)
    here = capacity.here(places.nearest(place.data_root))
    source = request.application.source.settings.items()
    written = {name: value for name, value in source if name not in lab.settings}
    taken = engines.of(arm.engine).inherited(written, arm, build, here)
    own = replace(
        arm,
        name=f"{PREFIX}{arm.name}",
        settings={**taken.values, **arm.settings, **lab.settings},
        initdb=lab.initdb,
    )
    build, made = settled(own, place=place, build=build)
    dump.refuse_unfit(build, place.account, arm.name)
    server = engines.of(arm.engine).server(own, build, place, made)
    indexes = request.indexes if arm.name == request.arms[-1].name else IndexChanges()
    try:
        lab.limit(server)
        server.prepare()
        server.start()
        server.use_database(DATABASE)
        said = [*taken.said, *dump.carry_out(address_of(server), ClientPrograms())]
        lacks = lab.prepare(server, request.statistics, indexes)
        lacks = replace(lacks, sentences=(*said, *lacks.sentences))
        request.say(f"{arm.name}: ready in {time.monotonic() - begun_s:.1f} s")
        yield PlanningServer(
            arm=arm, server=server, version=build.version, indexes=indexes, lacks=lacks
        )
    finally:
        server.stop(crash=True)
        server.remove()


def planning_arm(server: PlanningServer, workload: str, trees: Sequence[PlanTree]) -> PlanningArm:
    """An arm as the record has it. Raises ServerError."""
    ((jit_above,),) = server.server.execute(JIT)
    indexes = server.indexes
    return PlanningArm(
        name=server.arm.name,
        version=server.version,
        settings=dict(server.arm.settings),
        indexes=(*indexes.made, *(f"without {name}" for name in indexes.dropped)),
        jit_above=jit_above,
        trees=PlanTrees(workload=workload, engine=server.arm.engine, trees=tuple(trees)),
        lacks=tuple(dict.fromkeys(server.lacks.sentences)),
    )


def near(
    server: PlanningServer,
    inquirer: Inquirer,
    queries: Sequence[OwnQuery],
    trees: Sequence[PlanTree],
    costs: Sequence[str],
) -> Iterator[PlanTree]:
    """The plans of queries that change where one cost is a little other. Raises ServerError."""
    traits = engine.of(server.arm.engine)
    first = {(tree.query, tree.place): tree.root for tree in trees if not tree.generic}
    listed = ", ".join(f"current_setting('{name}')::float8" for name in costs)
    (row,) = server.server.execute(f"SELECT {listed}")
    variants = [
        {name: repr(float(value) * factor)}
        for name, value in zip(costs, row, strict=True)
        for factor in NEAR
    ]
    for query in queries:
        for place, call in enumerate(calls(query, traits, source_plans.TUPLES), start=1):
            own = first.get((query.name, place))
            for variant in variants if own is not None else ():
                other = replace(call, settings={**variant, **call.settings})
                tree = source_plans.asked(inquirer, query, place, other)
                if tree.root is not None and own is not None and tree.root.form != own.form:
                    yield structs.replace(tree, moment="again")
                    break
