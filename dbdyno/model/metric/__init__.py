"""The table of metrics: each is one row, with its unit, its direction and its computation.

The first twenty are the columns of the Insert Benchmark's published tables, under their published
names and in their order (the twenty-first is the arm's name). A row says where its computation
departs from the published scripts. The other rows are ours. `docs/metrics.md` is generated from
this table by `tools/metric_table.py`; `dbdyno.analysis.step.assemble` computes them.

An *operation* is what a step's headline counts: a row inserted (`ips`), a query (`qps`; of
transactions every statement, BEGIN and COMMIT included) or a row scanned (`scan`), read or
updated (`riops`); of `seconds` and `mbps` what its role did, such as one statement.
"""

from dbdyno.model.metric.cost import COST
from dbdyno.model.metric.counter import COUNTER
from dbdyno.model.metric.debt import DEBT
from dbdyno.model.metric.device import DEVICE
from dbdyno.model.metric.published import PUBLISHED
from dbdyno.model.metric.row import Metric
from dbdyno.model.metric.service import RESPONSES, SERVICE
from dbdyno.model.metric.standby import STANDBY

__all__ = ["METRICS", "RESPONSES", "Metric", "by_name", "document", "held", "less_is_better"]

METRICS: tuple[Metric, ...] = (*PUBLISHED, *SERVICE, *COST, *COUNTER, *DEBT, *DEVICE, *STANDBY)

HELD_SHARE = 0.95
"""Of a target rate, from which on it counts as held (spec insert-benchmark.md 6.3)."""


def held(achieved: float, target: float) -> bool:
    """Whether a rate was held: 95 % of it, rounded, as in the published reports."""
    return achieved >= round(HELD_SHARE * target)


_BY_NAME = {metric.name: metric for metric in METRICS}


def by_name(name: str) -> Metric:
    """The metric of this name. Raises KeyError where there is none."""
    return _BY_NAME[name]


def title_of(name: str) -> str:
    """A metric's title; a name that is no metric's stands for itself, as that of several steps."""
    return by_name(name).title if name in _BY_NAME else name


def less_is_better(name: str | None) -> bool:
    """Whether less of a metric is better, as of costs and times; no metric's name is not."""
    known = _BY_NAME.get(name or "")
    return known is not None and known.direction == "lower"


def document() -> str:
    """docs/metrics.md."""
    lines = [
        "# Metrics",
        "",
        "Generated from `dbdyno/model/metric/` by `tools/metric_table.py`; change the table there.",
        "",
        "An *operation* is what a step's headline counts: a row inserted (`ips`), a query (`qps`;",
        "for transactions every statement, BEGIN and COMMIT included), a row scanned (`scan`), or",
        "a row read or updated (`riops`). For `seconds` and `mbps` it is one action of the",
        "headline's role, such as a statement.",
        "",
        "An operation counts if it began in the window (in turns: after settling), and dyno waits",
        "for its end. A rate is their number divided by the time that connections were at them,",
        "times the connections ([method.md](method.md#how-operations-count)); a cost is divided by",
        "that rate times the window. Other programs and older results count what ended in the",
        "window.",
        "",
        "dyno computes rates and costs as differences of counters over exactly the window, not as",
        "means of samples. Waits are the exception, because no server counts them. `NA` means that",
        "the machine or the version does not report a value. *of* names the servers that have a",
        "metric; dyno never compares it with other servers.",
        "",
        "*over* is how a figure is taken over blocks. No word: the geometric mean, compared by the",
        "geometric mean of the blocks' ratios; `sum`: the arithmetic mean, compared by the mean of",
        "the blocks' differences, so that parts add up to their whole. What is 0 in a block of an",
        "arm is taken as a `sum` in that step, but for the headline and its CPU. `largest`: of the",
        "blocks, and `share`: the arithmetic mean; neither is compared.",
    ]
    for title, published in (("Published columns", True), ("Ours", False)):
        lines += [
            "",
            f"## {title}",
            "",
            "| name | unit | better | over | of | what | how |",
            "|" + "---|" * 7,
        ]
        better = {"higher": "more", "lower": "less", "neutral": ""}
        lines += [
            f"| `{m.name}` | {m.unit} | {better[m.direction]} | {over} | {servers} | {m.title} "
            f"| {m.how} |"
            for m in METRICS
            for over in ["" if m.over == "ratio" else m.over]
            for servers in ["" if m.servers == "all" else m.servers]
            if m.published is published
        ]
    return "\n".join(lines) + "\n"
