"""A search of a commit among twenty, as tests ask for it."""

from dataclasses import dataclass, field

from dbdyno.model.bisection import Commit, Question
from dbdyno.model.error import ServerError
from dbdyno.model.size import Capacity

QUESTION = Question(
    command="dyno bisect /source --good a --bad b --workload point-query",
    repository="/source",
    commits=tuple(
        Commit(sha=f"{number:040x}"[::-1], subject=f"change {number}") for number in range(21)
    ),
    engine="postgres",
    flags="-O2",
    options=(),
    workload="sysbench",
    step="point-query",
    metric="qps",
    config=("x10a", "x10b"),
    by="throughput",
    smallest=0.01,
    minutes=1.0,
    host=Capacity(cores=2, memory_bytes=24 << 30, free_disk_bytes=50 << 30),
)


@dataclass
class Builder:
    """Builds commits at once, but for some."""

    broken: tuple[int, ...] = ()
    built: list[str] = field(default_factory=list)

    def index(self, sha: str) -> int:
        return next(n for n, one in enumerate(QUESTION.commits) if one.sha == sha)

    def wish(self, sha: str):
        return type("Named", (), {"name": f"b{self.index(sha)}"})()

    def built_version(self, sha: str) -> str:
        return "18.6"

    def is_there(self, sha: str) -> bool:
        return sha in self.built

    def build(self, sha: str, say: object) -> None:
        if self.index(sha) in self.broken:
            raise ServerError("compile failed: x.c:1: error")
        self.built.append(sha)
