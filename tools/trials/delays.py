"""Servers whose operations take a known time: which ratio is told, and in which word.

Both arms sleep for their own time in each statement, so the true ratio of their throughput is
known. On the in-process server the clock is virtual, and what is told is exact but for the rule
that counts.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from bench import mysql
from dbdyno.model import Json
from dbdyno.model.engine import TRAITS
from dbdyno.model.error import DynoError
from trials.beside import last_line
from trials.trial import Column, Figures, Measure, Side, Trial

PAIRS_S = ((0.195, 0.205), (0.019, 0.021), (0.1001, 0.1032), (1.24, 1.26))
"""The length of an operation in the base and in the arm."""
WHOLE_S, TURNS_S, TURN_S, CONNECTIONS, BLOCKS = 10, 8, 1, 4, 3
LIMIT_S = 1200
STEP = "wait"
WORKLOAD = """
[parameters]
seconds = 10
[statements.wait]
protocol = "prepared"
any = "SELECT pg_sleep(current_setting('trial.delay_us')::float8 / 1e6)"
mysql = "SELECT SLEEP(@@server_id / 1e6)" # a number of an arm that changes nothing else
[[steps]]
name = "wait"
seconds = "{seconds}"
writes = false
headline = { metric = "qps", role = "query", count = "operations" }
roles.query = { run = "wait", connections = CONNECTIONS }
"""
PLAN = """
name = "delays"
base = "base"
[arms.base]
{base}
[arms.arm]
{arm}
[[workloads]]
name = "./waits.toml"
parameters = {{ seconds = {seconds} }}
[schedule]
blocks = {blocks}
void = {{ foreign = 1.0 }}
{way}
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row: where the delays are, and how the arms are interleaved."""

    engine: str
    turns: bool
    base_s: float
    arm_s: float

    @property
    def name(self) -> str:
        """What the table calls it."""
        server = TRAITS[self.engine].product
        way = f"turns of {TURN_S} s" if self.turns else f"{WHOLE_S} s whole"
        return f"{server}, {way}, {1e3 * self.base_s:g} → {1e3 * self.arm_s:g} ms"

    @property
    def true(self) -> float:
        """The arm's throughput by the base's."""
        return self.base_s / self.arm_s

    def plan(self) -> str:
        """The plan of both arms."""
        way = f'interleave = "turn"\nturn_s = {TURN_S}' if self.turns else ""
        return PLAN.format(
            base=self._arm(self.base_s),
            arm=self._arm(self.arm_s),
            seconds=TURNS_S if self.turns else WHOLE_S,
            blocks=BLOCKS,
            way=way,
        )

    def _arm(self, delay_s: float) -> str:
        delay_us = round(1e6 * delay_s)
        if self.engine == "fake":
            return f'engine = "fake"\nfake = {{ default_us = {delay_us} }}'
        if self.engine == "postgres":
            return f'version = "18"\nsettings = {{ "trial.delay_us" = "{delay_us}" }}'
        build = mysql.newest(self.engine)
        if build is None:
            raise DynoError(mysql.missing(self.engine))
        place = f'engine = "{self.engine}"\nbase_dir = "{build.base_dir}"'
        return f'{place}\nsettings = {{ server_id = "{delay_us}" }}'


CASES = tuple(
    Case(engine=engine, turns=turns, base_s=base_s, arm_s=arm_s)
    for engine, turns in (("fake", False), *product(("postgres", *mysql.VARIABLES), (False, True)))
    for base_s, arm_s in PAIRS_S
)
"""The fake cannot take turns: its clock does not run while others measure."""


@contextmanager
def opened() -> Iterator[Mapping[str, Measure]]:
    """What measures each case; `dyno run` starts the servers."""
    yield {case.name: partial(measure, case) for case in CASES}


def measure(case: Case, side: Side) -> Figures:
    """Runs the plan and compares. Raises DynoError where that fails."""
    with tempfile.TemporaryDirectory(prefix="dyno-trial-") as place:
        folder = Path(place)
        written = WORKLOAD.replace("CONNECTIONS", str(CONNECTIONS))
        (folder / "waits.toml").write_text(written)
        (folder / "delays.toml").write_text(case.plan())
        dyno(side, "run", folder / "delays.toml", "--out", folder, "--wait", "--quiet")
        compared = json.loads(dyno(side, "compare", folder / "delays", "--json"))
    return figures(case, compared)


def figures(case: Case, compared: Json) -> Figures:
    """What the comparison says of the step, beside what is true."""
    (step,) = [one for one in compared["steps"] if one["step"] == STEP]
    (arm,) = step["arms"]
    told = arm["metrics"]["qps"]
    found: dict[str, float | str] = {"true": case.true, "word": str(told["verdict"])}
    for name, key in (("ratio", "estimate"), ("low", "low"), ("high", "high")):
        if told[key] is not None:
            found[name] = told[key]
    if told["estimate"] is not None:
        found["off"] = 100 * (told["estimate"] / case.true - 1)
    return found


def dyno(side: Side, *words: str | Path) -> str:
    """What a side's `dyno` prints. Raises DynoError in its last line."""
    done = subprocess.run(
        [*side.dyno, *map(str, words)],
        cwd=side.package, env=side.environment, timeout=LIMIT_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        said = last_line(done.stderr.splitlines())
        raise DynoError(f"`dyno {words[0]}` of {side.name} ended with {done.returncode}: {said}")
    return done.stdout


TRIAL = Trial(
    name="delays",
    question="which ratio of throughput is told where operations take a known time?",
    rounds=1,
    minutes=45,
    rows=tuple(case.name for case in CASES),
    columns=(
        Column(figure="true", heading="true ratio", digits=4),
        Column(figure="ratio", heading="told ratio", digits=4),
        Column(figure="low", heading="from", digits=4),
        Column(figure="high", heading="to", digits=4),
        Column(figure="off", heading="off by, %", digits=2),
        Column(figure="word", heading="word"),
    ),
    opened=opened,
)
