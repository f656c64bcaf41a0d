"""How each arm would run an application's queries: plans in normal form, some with a run's rows.

Where arms differ, plans are made again by statistics of another sample of the rows: a plan that
changes with it says nothing about the version.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from msgspec import structs

from dbdyno.engine.inquiry import CallPlan, Inquirer
from dbdyno.model.error import ServerError
from dbdyno.model.own_query import OwnQuery
from dbdyno.model.plan_tree import Moment, PlanNode, PlanTree, PlanTrees
from dbdyno.run.arm import Run
from dbdyno.run.inquiry_session import inquiry, traits_of, writable
from dbdyno.run.own_calls import calls

TUPLES = 8
"""So many tuples of a query's values are planned for, the heaviest."""
RUN_TUPLES = 2
"""So many of them run for their rows."""
QUERY_S_MAX, ARM_S_MAX = 20.0, 60.0
"""After so long none of a query's plans is run any more, and none of an arm's."""


@dataclass(frozen=True, kw_only=True)
class PlanInquiry:
    """The queries of a workload whose plans are asked for."""

    workload: str
    queries: Sequence[OwnQuery]
    slow: Collection[str] = ()  # queries whose plans are not run

    def trees(self, runs: Sequence[Run]) -> Mapping[str, PlanTrees]:
        """By arm the plans of all queries; twice of those that the arms plan otherwise."""
        first = {run.arm.name: tuple(self._arm(run, self.queries)) for run in runs}
        otherwise = differing(list(first.values()))
        again = [query for query in self.queries if query.name in otherwise]
        return {
            run.arm.name: PlanTrees(
                workload=self.workload,
                engine=traits_of(run).job,
                trees=(*first[run.arm.name], *self._again(run, again)),
            )
            for run in runs
        }

    def _arm(self, run: Run, queries: Sequence[OwnQuery]) -> Iterator[PlanTree]:
        begun_s = time.monotonic()
        for query in queries:
            in_time = time.monotonic() - begun_s < ARM_S_MAX
            try:
                with inquiry(run) as inquirer:
                    yield from self._query(run, inquirer, query, in_time=in_time)
            except ServerError:
                yield PlanTree(query=query.name, unavailable="the connection was lost")

    def _query(
        self, run: Run, inquirer: Inquirer, query: OwnQuery, *, in_time: bool
    ) -> Iterator[PlanTree]:
        may_run = query.name not in self.slow and (writable(run) or not query.writes)
        to_plan = calls(query, traits_of(run), TUPLES)
        begun_s = time.monotonic()
        for place, call in enumerate(to_plan, start=1):
            in_time = in_time and time.monotonic() - begun_s < QUERY_S_MAX
            runs = may_run and in_time and place <= RUN_TUPLES
            explained = inquirer.explain(call, run=runs)
            if runs and explained.root is None:
                runs, explained = False, inquirer.explain(call)
            ran = explained.root is not None and explained.root.ran
            yield tree(query, place, explained, ran=runs and ran)
        if to_plan and query.protocol == "prepared" and traits_of(run).placeholders:
            explained = inquirer.explain(to_plan[0], generic=True)
            yield structs.replace(tree(query, 1, explained), generic=True)

    def _again(self, run: Run, queries: Sequence[OwnQuery]) -> Iterator[PlanTree]:
        """The plans by another sample; none where the server cannot be given one for the while."""
        if not queries or run.server.made is None:
            return
        try:
            with inquiry(run) as inquirer, inquirer.anew():
                for query in queries:
                    to_plan = calls(query, traits_of(run), TUPLES)
                    for place, call in enumerate(to_plan, start=1):
                        yield tree(query, place, inquirer.explain(call), moment="again")
        except ServerError:
            return


def tree(
    query: OwnQuery, place: int, explained: CallPlan, *, ran: bool = False, moment: Moment = "first"
) -> PlanTree:
    """The plan of a call, as it is kept."""
    return PlanTree(
        query=query.name,
        place=place,
        moment=moment,
        root=explained.root,
        unavailable=explained.unavailable,
        ran=ran,
        pages=explained.pages,
        settings=explained.settings,
    )


def differing(arms: Sequence[Sequence[PlanTree]]) -> Collection[str]:
    """The names of queries that not all arms plan alike."""
    forms: dict[tuple[str, int, bool], set[PlanNode]] = {}
    for tree in chain.from_iterable(arms):
        if tree.root is not None:
            forms.setdefault((tree.query, tree.place, tree.generic), set()).add(tree.root.form)
    return {query for (query, _, _), of_call in forms.items() if len(of_call) > 1}
