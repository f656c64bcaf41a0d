"""A row of the table of metrics, and how rows are written."""

from dataclasses import dataclass, replace
from typing import Literal

from dbdyno.model.metric.over import Over

Direction = Literal["higher", "lower", "neutral"]
Servers = Literal["all", "PostgreSQL", "InnoDB"]
"""Which servers can have a metric; MySQL and MariaDB keep what is measured here in InnoDB."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A named quantity."""

    name: str
    unit: str
    direction: Direction  # which way is better; neutral: neither
    title: str
    how: str  # how it is computed, from what, and where that departs from what is published
    published: bool
    digits: int  # after the point, for display
    over: Over = "ratio"  # how it is taken over blocks
    servers: Servers = "all"  # others do not have it, so that it is never compared with theirs


def own(  # noqa: PLR0913 (a row has so many columns)
    name: str, unit: str, direction: Direction, digits: int, texts: str, over: Over = "ratio"
) -> Metric:
    """A metric of ours from "title | how"; line breaks within the texts do not count."""
    title, how = " ".join(texts.split()).split(" | ")
    return Metric(
        name=name,
        unit=unit,
        direction=direction,
        title=title,
        how=how,
        published=False,
        digits=digits,
        over=over,
    )


def published(name: str, unit: str, direction: Direction, digits: int, texts: str) -> Metric:
    """The same for a column of the published tables."""
    return replace(own(name, unit, direction, digits, texts), published=True)


def postgres(metric: Metric) -> Metric:
    """The metric as one that only PostgreSQL has."""
    return replace(metric, servers="PostgreSQL")


def innodb(metric: Metric) -> Metric:
    """The metric as one that only MySQL and MariaDB have."""
    return replace(metric, servers="InnoDB")


def wait(event: str, title: str, what: str) -> Metric:
    """A metric of the time in which the headline's role was seen to wait."""
    return own(
        f"wait_{event}_us_per_op", "µs/operation", "lower", 2,
        f"""{title} | time asleep in which sessions of the headline's role were seen to wait {what}:
        sampled, so NA without `[observe] waits`""", over="sum",
    )  # fmt: skip


def background(process: str, title: str, what: str) -> Metric:
    """A metric of the CPU of a part of the server's background."""
    return own(
        f"{process}_cpu_per_op", "µs/operation", "lower", 2,
        f"""CPU of {title} | CPU time in the window of {what}, divided by operations; of ended
        processes, the part that was read (background_cpu_per_op has all of it)""", over="sum",
    )  # fmt: skip
