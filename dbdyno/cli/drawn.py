"""Values for captured queries of a race of which a view has counts alone: drawn before its plan."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.cli.exit_status import say
from dbdyno.parts import number

if TYPE_CHECKING:
    from dbdyno.capture.folder import DrawOutcome
    from dbdyno.model import Plan
    from dbdyno.plan.race import Race

STEP = "values"
"""The query in whose place values are drawn, in a folder that is gone afterwards."""
PROBE = f"""
[queries.{STEP}]
text = "{STEP}.sql"
calls = 1
"""


def draw_missing(wanted: Race) -> None:
    """Draws what queries of a captured folder lack, from the data of the base. Raises DynoError.

    The caller has the host's lock. Nothing is done where there are no data to draw from.
    """
    from dbdyno import workload
    from dbdyno.capture import engines, folder
    from dbdyno.run import drawn_values

    base = wanted.arms[0]
    path = Path(wanted.workload or "") / folder.WORKLOAD
    if not path.is_file() or not (base.elsewhere or wanted.restore):
        return
    places_of = engines.places(base.engine)
    if places_of is None or not (queries := workload.undrawn(path)):
        return
    say(f"draws values for {number.queries(len(queries))} that no log has, from the base's data")
    with tempfile.TemporaryDirectory(prefix="dyno-draw-") as scratch:
        app = Path(scratch) / STEP
        app.mkdir()
        head = path.read_text(encoding="utf-8").partition("\n[queries.")[0]
        (app / folder.WORKLOAD).write_text(head + PROBE, encoding="utf-8")
        (app / f"{STEP}.sql").write_text("SELECT 1\n")
        drawn = drawn_values.drawn(probing(wanted, app), STEP, queries, places_of)
    folder.add_drawn(path.parent, drawn)
    for line in summary(drawn):
        say(line)


def probing(wanted: Race, app: Path) -> Plan:
    """The plan of a race of the same data, whose one query is the probe. Raises DynoError."""
    from dbdyno import plan as plans
    from dbdyno.host import capacity, place
    from dbdyno.plan import race as races

    path = app / f"{STEP}.toml"
    probe = replace(
        wanted, command=None, workload=str(app), steps=(), count=False, counter=False, tolerate=None
    )
    text = races.text_of(probe, path, capacity.here(place.nearest(place.data_root())))
    return plans.parse(text, path)


def summary(drawn: Sequence[DrawOutcome]) -> Iterator[str]:
    """What came of it, a line for all that fit and one for each that does not."""
    fits = sum(bool(query.samples) for query in drawn)
    yield f"{fits} of {number.queries(len(drawn))} find as many rows as at the source"
    for query in drawn:
        if not query.samples:
            yield f"{query.name}: {query.words}"
