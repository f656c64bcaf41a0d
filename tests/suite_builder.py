"""A made-up comparison of the published microbenchmarks, for the tests of their tables.

Two arms or more, the steps of the set of 32 in the order in which they run, hidden steps, two steps
before the writes, and a sweep over clients; pg18 finds a row in 10 % of its deletes.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

import comparison_facts as facts
from comparison_builder import Made, all_cells, one_run
from dbdyno.findings.statements.facts import StatementUse
from dbdyno.findings.step_pairs import plan as step_pairs
from dbdyno.model import Comparison, Extent, StepComparison, StepRun
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.plan_record import WorkloadRecord
from run_builder import changed

WORKLOAD = "sysbench"
POINT, RANGE, AGGREGATE, WRITE = (
    "point queries",
    "range queries without aggregation",
    "range queries with aggregation",
    "writes",
)
CLIENTS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Plain:
    """A step of the suite: what it is like for the base arm, and what the other arm does of it."""

    name: str
    group: str | None
    rate: float
    lift: float = 1.0
    measured: bool = True


STEPS = (
    Plain("load", None, 182_400, 1.02),
    Plain("point-query.warm", POINT, 24_800, 1.0, measured=False),
    Plain("postwrite.pre", None, 0, 1.0, measured=False),
    Plain("scan.warmpre", RANGE, 2_510_000, 1.0, measured=False),
    Plain("point-query.pre", POINT, 25_310, 1.03),
    Plain("range-notcovered-si.pre", RANGE, 5_512, 1.02),
    Plain("update-inlist", WRITE, 3_320, 1.31),
    Plain("update-index", WRITE, 11_911, 1.12),
    Plain("update-nonindex", WRITE, 14_003, 1.02),
    Plain("update-one", WRITE, 19_031, 1.056),
    Plain("update-zipf", WRITE, 15_220, 1.01),
    Plain("write-only", WRITE, 17_810, 1.04),
    Plain("read-write_range=10", WRITE, 14_002, 0.99),
    Plain("read-write_range=100", WRITE, 9_871, 0.985),
    Plain("postwrite", None, 0, 1.0, measured=False),
    Plain("scan.warm", RANGE, 2_500_000, 1.0, measured=False),
    Plain("scan", RANGE, 2_606_000, 1.203),
    Plain("read-only_range=10", AGGREGATE, 21_300, 0.985),
    Plain("read-only_range=100", AGGREGATE, 14_800, 0.99),
    Plain("read-only_range=10000", AGGREGATE, 391, 1.05),
    Plain("read-only-simple", AGGREGATE, 9_410, 1.0),
    Plain("read-only-sum", AGGREGATE, 8_820, 1.0),
    Plain("read-only-order", AGGREGATE, 5_990, 0.99),
    Plain("read-only-distinct", AGGREGATE, 5_730, 0.99),
    Plain("read-only-count", AGGREGATE, 9_020, 1.02),
    Plain("point-query", POINT, 25_946, 1.043),
    Plain("random-points_range=10", POINT, 12_480, 1.01),
    Plain("random-points_range=100", POINT, 2_911, 1.0),
    Plain("random-points_range=1000", POINT, 318, 1.0),
    Plain("hot-points", POINT, 4_697, 2.047),
    Plain("points-covered-pk", POINT, 3_640, 0.93),
    Plain("points-notcovered-pk", POINT, 3_120, 1.0),
    Plain("range-covered-pk", RANGE, 9_830, 0.61),
    Plain("range-notcovered-pk", RANGE, 7_710, 0.96),
    Plain("points-covered-si.warm", POINT, 3_000, 1.0, measured=False),
    Plain("points-covered-si", POINT, 3_560, 0.9),
    Plain("points-notcovered-si", POINT, 2_960, 0.99),
    Plain("range-covered-si", RANGE, 9_310, 0.97),
    Plain("range-notcovered-si", RANGE, 5_140, 1.01),
    Plain("delete", WRITE, 21_340, 1.46),
    Plain("insert", WRITE, 14_188, 1.048),
)
SWEPT = tuple(
    Plain(f"point-query@clients={clients}", POINT, 26_000 * clients**0.8, 1.0 + clients / 100)
    for clients in CLIENTS
)
TRANSACTIONS: Mapping[str, int] = {  # statements of each, BEGIN and COMMIT among them
    "read-only_range=10": 16,
    "read-only_range=100": 16,
    "read-only_range=10000": 16,
    "read-write_range=10": 20,
    "read-write_range=100": 20,
    "write-only": 6,
}


def comparison(
    *,
    blocks: int = 2,
    arms: Sequence[str] = ("pg17", "pg18"),
    swept: bool = False,
    seconds: float = 600,
    names: Sequence[str] | None = None,
) -> Comparison:
    """The made-up comparison; `swept`: with a step at several numbers of clients; `names`: less."""
    chosen = [
        one for one in (*STEPS, *(SWEPT if swept else ())) if names is None or one.name in names
    ]
    steps = tuple(
        _step(ordinal, one, arms, blocks, seconds) for ordinal, one in enumerate(chosen, start=1)
    )
    suite = WorkloadRecord(name=WORKLOAD, set="32", groups=(POINT, WRITE))
    return Comparison(
        title="sysbench, 1 table of 50M rows, 1 client",
        label="made up: no server was measured",
        base=arms[0],
        arms=tuple(arms),
        blocks=blocks,
        host=facts.host(),
        generator=facts.generator(),
        servers={arm: facts.server(arm) for arm in arms},
        plan=structs.replace(facts.plan(arms, blocks), workloads=(suite,)),
        steps=steps,
        findings={"StepPairFacts": step_pairs.derived(steps)},
        differences=facts.differences(arms),
        doubts=(),
        incomplete=None,
    )


def _step(
    ordinal: int, plain: Plain, arms: Sequence[str], blocks: int, seconds: float
) -> StepComparison:
    runs = {
        arm: tuple(
            _run(ordinal, plain, place, arm, block, seconds) for block in range(1, blocks + 1)
        )
        for place, arm in enumerate(arms)
    }
    headline = _headline(plain)
    cells = all_cells(headline, [runs[arm] for arm in arms])
    return StepComparison(
        workload=WORKLOAD,
        ordinal=ordinal,
        step=plain.name,
        headline=headline,
        cells=cells,
        group=plain.group,
    )


def _headline(plain: Plain) -> str | None:
    if plain.rate == 0:
        return None
    return {"load": "ips", "scan": "scan"}.get(plain.name, "qps")


def _run(ordinal: int, plain: Plain, place: int, arm: str, block: int, seconds: float) -> StepRun:
    """A run like those of the other builder, under this step's name and with its statements."""
    headline = _headline(plain)
    rate = max(plain.rate, 1.0)
    made = Made(plain.name, "ips" if plain.name == "load" else "qps", rate, seconds, None,
                4e5 / rate, 9e5 / rate, plain.lift)  # fmt: skip
    run = one_run(ordinal, made, arm, block, place=place, troubles=False)
    draw = random.Random(f"{plain.name} {arm} {block} statements")
    own = run.metrics[made.headline] or 0.0
    found = (0.1 if place else 0.37) if plain.name == "delete" else 1.0
    metrics = {**run.metrics, **_more(plain, own, found, draw)}
    words = f"{100 * found:.0f} % of `delete` found a row"
    return changed(
        run,
        workload=WORKLOAD,
        headline=headline,
        measured=plain.measured and headline is not None,
        metrics=metrics if headline else {},
        series={name: one for name, one in run.series.items() if ".client." not in name},
        fairness=(),
        extent=Extent(clients=1, connections=1, tables=1),
        group=plain.group,
        statements=tuple(_statements(plain, own, found)) if headline else (),
        doubts=(Doubt(subject=DoubtSubject.NO_ROW, words=words),) if found < 1 else (),
    )


def _more(
    plain: Plain, rate: float, found: float, draw: random.Random
) -> Mapping[str, float | None]:
    """The metrics that the microbenchmarks have beside those of the Insert Benchmark."""
    each = TRANSACTIONS.get(plain.name, 1)
    control = 2 * rate / each if each > 1 else 0.0
    more: dict[str, float | None] = {
        "tps": rate / each,
        "statements_ps": rate - control,
        "control_ps": control,
        "rows_ps": rate * found,
        "found_share": 100 * found,
        "rpq": 0.0,
        "rkbpq": 0.0,
        "wkbpq": 1.2 * math.exp(draw.gauss(0, 0.02)) if plain.group == WRITE else 0.0,
    }
    if plain.name == "scan":
        more |= {
            "scan": rate,
            "scan_krows_client": rate / 1e3,
            "qps": rate / 5e7,
            "tps": rate / 5e7,
        }
    return more


def _statements(plain: Plain, rate: float, found: float) -> Sequence[StatementUse]:
    role = "write" if plain.group == WRITE else "query"

    def use(name: str, kind: str, per_s: float, share: float | None) -> StatementUse:
        rows = per_s * (share or 0.0)
        return StatementUse(
            role=role, name=name, kind=kind, per_s=per_s, rows_per_s=rows, found=share
        )

    each = TRANSACTIONS.get(plain.name)
    if each is None:
        return [use(plain.name.partition("_")[0], "statement", rate, found)]
    per_s = rate / each
    return [
        use("begin", "control", per_s, None),
        use("point", "statement", per_s * (each - 2), 1.0),
        use("commit", "control", per_s, None),
    ]
