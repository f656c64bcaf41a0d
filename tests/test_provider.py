"""Metrics of a provider: a table with times, laid beside the windows by the clock."""

from pathlib import Path

import pytest

import command
import result_builder
from dbdyno.analysis import compare
from dbdyno.analysis.compare import provider
from dbdyno.model import ToldFacts
from dbdyno.model.error import ResultError
from dbdyno.store import Results, imported
from dbdyno.store.imported import ImportFormat

TABLE = """Time,CPU Utilization [%],IOPS
2026-11-24T12:00:00Z,50,100
2026-11-24T12:01:00Z,70,
2026-11-24T12:02:00Z,90,300
"""
NOON = 1_795_521_600.0
"""2026-11-24T12:00:00Z in seconds since 1970."""


def table(text: str = TABLE, **changes: object) -> provider.ProviderTable:
    return provider.read(text, ImportFormat(name="m.csv", **changes))


def test_a_row_holds_until_the_next_one_and_the_last_as_long_as_the_others() -> None:
    found = table()
    assert found.begins_s == (NOON, NOON + 60, NOON + 120)
    assert found.ends_s == (NOON + 60, NOON + 120, NOON + 180)
    assert [(one.title, one.unit) for one in found.columns] == [
        ("CPU Utilization", "%"),
        ("IOPS", ""),
    ]
    assert found.columns[1].values == (100.0, None, 300.0)
    gap = table("time,v\n0000000010,1\n0000000070,2\n0000000130,3\n0000000900,4\n")
    assert gap.ends_s == (70.0, 130.0, 190.0, 960.0), "nothing is known of a gap"
    assert table("time,v\n1795521600,1\n", every_s=30.0).ends_s == (NOON + 30,)


def test_times_without_a_zone_take_that_of_the_option_and_clocks_can_be_shifted() -> None:
    local = TABLE.replace("Z", "")
    assert table(local, zone="+02:00").begins_s[0] == NOON - 7200
    assert table(shift_s=-5.0).begins_s[0] == NOON - 5


def test_a_window_has_the_mean_and_the_greatest_of_rows_that_lie_mostly_in_it() -> None:
    # A third of the first row, all of the second, half of the third.
    told = provider.told(table(), NOON + 40, NOON + 150)
    found = {value.metric: value for value in told}
    assert found["provider.CPU Utilization.mean"].value == pytest.approx((70 * 60 + 90 * 30) / 90)
    assert found["provider.CPU Utilization.max"].value == 90
    assert found["provider.CPU Utilization.mean"].title == "CPU Utilization, mean of 2 values"
    assert found["provider.IOPS.mean"].value == 300, "an empty value counts for nothing"
    assert provider.told(table(), NOON + 10, NOON + 20) == (), "a row of a minute says nothing"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n1,2\n", "line 1: no column `time` or `timestamp`; call the one with times so"),
        ("", "line 1: no column `time` or `timestamp`; call the one with times so"),
        ("time,b\n", "line 1: no line of values follows; export it again"),
        ("time,b\nnoon,2\n", "line 2: `noon` is no time; write 2026-11-24T13:05:00Z, or seconds"),
        ("time,b\n2026-11-24T12:00:00,2\n", "line 2: `2026-11-24T12:00:00` names no zone; add"),
        ("time,b\n1795521600,x\n", "line 2: column `b`: `x` is no number; leave it empty"),
        ("time,b\n1795521600,1,2\n", "line 2: 3 values under 2 columns; correct the line"),
        ("time,b\n1795521660,1\n1795521600,2\n", "line 3: its time is not after the line before"),
        ("time,b\n1795521600,1\n", "line 2: the only line of values; say how long it holds"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_line(text: str, line: str) -> None:
    with pytest.raises(ResultError) as raised:
        table(text)
    assert str(raised.value).startswith(f"m.csv: {line}")


def test_an_imported_table_stands_with_what_steps_tell_and_is_kept_as_it_came(tmp_path: Path):
    folder = result_builder.build(tmp_path, arms=("old", "new"), blocks=1, steps=("l.i0", "qr100"))
    file = tmp_path / "cloud.csv"
    words = ("import", "metrics", folder, file)

    def refused(*options: str) -> str:
        ended = command.dyno(*words, *options)
        assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
        return ended.stderr

    assert f"{file}: cannot be read: No such file" in refused()
    file.write_bytes(b"time,\xe9\n")
    assert f"{file}: not UTF-8; save it as UTF-8" in refused()
    (block,) = Results.open(folder).blocks()
    steps = [step for run in block.runs() for step in run.steps()]
    ends = [end for step in steps if (at := provider.window(step)) is not None for end in at]
    begin, step_s = min(ends), (max(ends) - min(ends)) / 400
    lines = [f"{begin + place * step_s:.6f},{place}" for place in range(401)]
    file.write_text("timestamp,iops\n\n" + "\n".join(lines) + "\n")
    said = f"1 metrics of 401 times: {len(steps)} of {len(steps)} measured steps have some\n"
    assert command.dyno(*words).stderr == said
    assert command.dyno(*words).stderr == "cloud.csv is there already\n"
    (kept,) = imported.all_of(folder)
    assert kept.text == file.read_text()
    told = [facts.numbers for step in compare.load(folder).steps for facts in step.each(ToldFacts)]
    assert told
    assert all((numbers["provider.iops.max"] or 0) <= 400 for numbers in told)
    assert command.dyno(*words, "--arm", "old").stderr.startswith("1 metrics")
    assert "--arm: no arm `odl`; did you mean `old`" in refused("--arm", "odl")
    assert "check its zone, or give `--shift-s`" in refused("--shift-s", "1e6")
    assert len(list(imported.all_of(folder))) == 2, "what is refused is not kept"
