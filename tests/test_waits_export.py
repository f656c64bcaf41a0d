"""Every session of every sample in an export, and the query of the study on them."""

import json
from pathlib import Path

import pandas
import pytest

import dbdyno
from dbdyno.model.wait_samples import SESSION_COLUMNS
from dbdyno.report.export import manual, write
from result_builder import build
from result_planted import MONO_NS, SECOND_NS
from test_export import ask


@pytest.mark.long
def test_every_session_of_every_sample_is_a_row_and_the_studys_query_counts_them(tmp_path: Path):
    made = build(tmp_path, blocks=1, steps=("qr100",))
    waiting = [71, "role:query", "active", "IO", "DataFileRead", "point", "SELECT 1", 5_000_000, 0]
    idle = [72, "role:query", "idle", "idle", "", "", "COMMIT", None, None]
    writer = [None, "background:io write", None, "IO", "io/file/x", "", "", None, None]
    sample = {"took_us": 300, "sessions": [], "idle": {}, "by_session": [waiting, idle, writer]}
    header = {"asked_ns": SECOND_NS, "application": "dyno waits", "version_num": 170006}
    lines = [
        header | {"by_session": list(SESSION_COLUMNS)},
        *(sample | {"mono_ns": MONO_NS + at * SECOND_NS} for at in (-1, 1, 2, 300)),
        {"end": True, "samples": 4, "late": 0, "cpu_us": 900.0, "failed": None},
    ]
    (folder,) = made.glob("blocks/001/pg17/*/*-qr100")
    (folder / "waits.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = dbdyno.read(made).wait_samples
    assert found["sample"].tolist() == [1, 1, 1, 2, 2, 2], (
        "those outside of the window do not count"
    )
    assert found.second.tolist() == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    first = found.iloc[0]
    assert first.query_start == pandas.Timestamp("1970-01-01 00:00:05")
    assert pandas.isna(found.iloc[2].pid)
    path = tmp_path / "asked.duckdb"
    write.export([made], write.wish(str(path), None, None))
    (sql,) = [sql for name, sql in manual.QUESTIONS.items() if name.startswith("What sessions")]
    assert set(ask(path, sql)) == {
        (2, "active", "IO", "DataFileRead", "SELECT 1", 71),
        (2, None, "IO", "io/file/x", None, None),
    }
