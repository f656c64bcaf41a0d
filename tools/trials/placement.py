"""A planted loop, as each placement of clients and sessions shows it.

Both arms are one build; the arm's server also turns a loop of known length for each reply
(tools/plant.c). Which placement tells the loop, and with what scatter between blocks?
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from bench import mysql
from dbdyno.model import Json
from dbdyno.model.engine import TRAITS
from dbdyno.model.error import DynoError
from trials.delays import dyno
from trials.trial import ROOT, Column, Figures, Measure, Side, Trial

CLIENTS = (1, 2, 8)
TURNS = 640
"""Of the loop; a nanosecond each, about."""
BLOCKS, SECONDS = 4, 3
CPU = "cpu_per_op"
WORKLOAD = """
[parameters]
seconds = 4
warmup_s = 0.3
[tables.t]
create.any = "CREATE TABLE {t} (id int PRIMARY KEY, c char(120))"
[tables.t.fill]
rows = 100000
columns = { id = ":row", c = ":text" }
[values]
id = { uniform = [1, 100000] }
text = { text = { fill = "a", length = [100, 120], random = 0.1 } }
[statements]
point = { protocol = "prepared", any = "SELECT c FROM {t} WHERE id = :id" }
"""
STEP = """
[[steps]]
name = "{clients}"
seconds = "{{seconds}}"
warmup_s = "{{warmup_s}}"
writes = false
headline = {{ metric = "qps", role = "query", count = "operations" }}
roles.query = {{ run = "point", per = "step", connections = {clients} }}
"""
PLAN = """
name = "placement"
base = "plain"
[arms.plain]
{build}
environment = {{ LD_PRELOAD = "{library}" }}
[arms.planted]
{build}
environment = {{ LD_PRELOAD = "{library}", PLANT_TURNS = "{turns}" }}
[[workloads]]
name = "./points.toml"
parameters = {{ seconds = {seconds} }}
save = "post-fill"
restart = true
[schedule]
blocks = {blocks}
repeats_max = 0
{way}
"""
IN_TURN = 'interleave = "turn"\nturn_s = 0.3\n'
WAYS = {
    "free": IN_TURN,
    "together": f'{IN_TURN}placement = "together"',
}
"""What stands at the plan's end, by how clients and sessions run."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row: the engine, and where clients and sessions run."""

    engine: str
    way: str

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{TRAITS[self.engine].product}, {self.way}"

    def plan(self, library: Path) -> str:
        """The plan of a server without the loop and one with it."""
        if self.engine == "postgres":
            build = 'version = "18"'
        elif (here := mysql.newest(self.engine)) is not None:
            build = f'engine = "{self.engine}"\nbase_dir = "{here.base_dir}"'
        else:
            raise DynoError(mysql.missing(self.engine))
        return PLAN.format(
            build=build,
            library=library,
            turns=TURNS,
            seconds=SECONDS,
            blocks=BLOCKS,
            way=WAYS[self.way],
        )


CASES = tuple(Case(engine=engine, way=way) for engine, way in product(("postgres", "mysql"), WAYS))


@contextmanager
def opened() -> Iterator[Mapping[str, Measure]]:
    """What measures each case, with the compiled loop."""
    with compiled() as library:
        yield {case.name: partial(measure, case.plan(library)) for case in CASES}


@contextmanager
def compiled() -> Iterator[Path]:
    """The library that turns the loop."""
    with tempfile.TemporaryDirectory(prefix="dyno-trial-") as place:
        folder = Path(place)
        folder.chmod(0o755)  # the account that runs servers reads the library
        library = folder / "plant.so"
        source = ROOT / "tools/plant.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        yield library


def measure(plan: str, side: Side, clients: Sequence[int] = CLIENTS) -> Figures:
    """Runs a plan of a plain arm and a planted one, and compares. Raises DynoError if it fails."""
    with tempfile.TemporaryDirectory(prefix="dyno-trial-") as place:
        folder = Path(place)
        steps = "".join(STEP.format(clients=count) for count in clients)
        (folder / "points.toml").write_text(WORKLOAD + steps)
        (folder / "placement.toml").write_text(plan)
        dyno(side, "run", folder / "placement.toml", "--out", folder, "--wait", "--quiet")
        return figures(json.loads(dyno(side, "compare", folder / "placement", "--json")))


def figures(compared: Json) -> dict[str, str]:
    """By clients the cost of a query, what the loop adds to it, and the scatter of a block."""
    found = {}
    for step in compared["steps"]:
        (arm,) = step["arms"]
        seen = arm["metrics"].get(CPU, {})
        if seen.get("low") is None:  # a step that loads, or that failed
            continue
        more, low, high = (seen["base"] * (seen[key] - 1) for key in ("estimate", "low", "high"))
        scatter = 100 * math.expm1(seen["sd"])
        added = f"{more:+.2f} [{low:+.2f}, {high:+.2f}]"
        found[step["step"]] = f"{seen['base']:.1f} µs; {added} µs; {scatter:.1f} %"
        found["word"] = arm["outcome"] or arm["verdict"] or ""
    return found


TRIAL = Trial(
    name="placement",
    question=f"which placement shows a loop of {TURNS} turns in each reply?",
    rounds=1,
    minutes=20,
    rows=tuple(case.name for case in CASES),
    columns=tuple(
        Column(figure=str(clients), heading=f"{clients} clients: CPU; the loop; scatter")
        for clients in CLIENTS
    ),
    opened=opened,
)
