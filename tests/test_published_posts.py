"""A result beside the post that its plan repeats: arms by name, steps by steps, plain values."""

import re
from pathlib import Path

import pytest

import published
import published_data
from dbdyno.model.error import ResultError
from result_builder import build, plant

POST = """
title = "made up"
url = "https://example.org/"
author = "nobody"
date = "2026-01"
label = "tiny"
machine = "none"
clients = 1
plan = "example"
arms = ["17 plain", "18 sync", "18 worker"]
figures = "absolute"
compared = [["17 plain", "18 sync"], ["18 sync", "18 worker"]]

[here]
pg17 = "17 plain"
pg18 = "18 sync"
pg18w = "18 worker"

[throughput]
qr100 = [100, 105, 90]

[inserts]
"l.i1" = { ips = [100, 100, 100] }

[merges]
"l.i1" = { disk_wrqmps = [0, 0, 0] }

["queries by queries"]
by = "qr100"
arms = ["17 plain"]
qr500 = ["flat"]

["what the device wrote"]
values = true
arms = ["17 plain", "18 sync"]
qr100 = { wmbps = [[10, 20], "–"] }
"""


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tiny.toml").write_text(POST)
    monkeypatch.setattr(published, "STUDIES", tmp_path)
    return tmp_path


def result(folder: Path, name: str = "example") -> Path:
    faster = {"pg17": 1.0, "pg18": 1.05, "pg18w": 0.9}
    return build(
        folder,
        arms=tuple(faster),
        steps=("l.i1", "qr100", "qr500"),
        planted=lambda arm, step, block: plant(step, faster=faster[arm]),
        name=name,
    )


def printed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert published.main([str(word) for word in words]) == 0
    return capsys.readouterr().out


@pytest.mark.long
def test_a_plan_s_result_finds_its_post_and_each_published_pair(
    studies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, result(studies))
    pairs = re.findall(r"^### (`.*)$", text, re.M)
    assert pairs == ["`pg18` against `pg17`", "`pg18w` against `pg18`"]
    rows = re.findall(r"^\| qr100 \| (\d.*) \|$", text, re.M)
    assert rows[0].startswith("1.05 ▲ | 1.05 (1.05–1.05) | up beyond 3 %")
    assert rows[1].startswith("0.86 ▼ | 0.86 (0.86–0.86) | down beyond 3 %")
    assert all(row.endswith("agrees") for row in rows)
    # another metric than the headline has a row of its own, without the CPU of the headline
    assert re.search(r"^\| l\.i1, `ips` \| 1\.00 \| .* \| – \| \w+ \|$", text, re.M)
    assert "disk_wrqmps" not in text  # 0 by 0 is no ratio


@pytest.mark.long
def test_steps_are_divided_by_a_step_of_the_same_arm_and_values_stand_beside_ours(
    studies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, result(studies))
    by_step = re.findall(
        r"^\| qr500 \| qr100 \| flat \| `(\w+)` \| (\S+) .*\| ([\w ]+) \|$", text, re.M
    )
    assert [arm for arm, _, _ in by_step] == ["pg17", "pg18", "pg18w"]
    assert all(float(ratio) > 0 and verdict != "no figure" for _, ratio, verdict in by_step)
    assert re.search(r"^\| qr100, `wmbps` \| 10\.0–20\.0 \| – \| ", text, re.M)
    counts = re.search(
        r"\[tiny\]\(https://example.org/\): queries by queries \| (\d) \| (\d) \| (\d) \| 0", text
    )
    assert counts is not None and sum(map(int, counts.groups())) == 3


@pytest.mark.long
def test_any_result_can_be_set_beside_a_post(studies: Path, capsys: pytest.CaptureFixture[str]):
    other = result(studies, name="mine")
    as_words = ["--as", "pg17=18 sync", "--as", "pg18=18 worker", "--as", "pg18w=nothing"]
    text = printed(capsys, other, "--study", "example", *as_words)
    assert "tiny: 18 worker ÷ 18 sync" in text and "18 sync ÷ 17 plain" not in text
    assert published.main([str(other), "--study", "none"]) == 2
    assert "there is no study `none`; there is `example`" in capsys.readouterr().err
    assert published.main([str(other), "--study", "example", "--as", "pg19=x"]) == 2
    assert "write ARM=PUBLISHED" in capsys.readouterr().err


@pytest.mark.long
def test_arms_that_stand_for_nothing_are_said(studies: Path, capsys: pytest.CaptureFixture[str]):
    only = POST[: POST.index('["queries by queries"]')]
    (studies / "tiny.toml").write_text(only)
    words = [
        str(result(studies)),
        *(w for a in ("pg17", "pg18", "pg18w") for w in ("--as", f"{a}=x")),
    ]
    assert published.main(words) == 2
    error = capsys.readouterr().err
    assert "stand for two of the study; say which by --as ARM=PUBLISHED" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("qr100 = [100, 105, 90]", "qr100 = [100]"), "`throughput`, qr100: 1 figures for 3 arms"),
        (('label = "tiny"', 'lable = "tiny"'), "tiny.toml: .*lable"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(studies: Path, change: tuple[str, str], message: str):
    (studies / "tiny.toml").write_text(POST.replace(*change))
    with pytest.raises(ResultError, match=message):
        published_data.read(studies)
