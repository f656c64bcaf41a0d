"""Plans that come along are run by their names, and copied whole or not at all."""

import os
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.cli import main
from dbdyno.model.error import DiskError, PlanError
from dbdyno.plan import shipped_plans
from dbdyno.plan.shipped_plans import ShippedPlan

PLANS = shipped_plans.plans()


def run(*words: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["dyno", *words])
    try:
        return main()
    except SystemExit as ended:
        return int(ended.code or 0)


def test_each_plan_has_a_name_of_its_own_and_says_what_it_is_for() -> None:
    assert len({shipped.name for shipped in PLANS}) == len(PLANS) >= 50
    for shipped in PLANS:
        assert 20 < len(shipped.description) < 170, shipped.name
        assert " dyno " not in f" {shipped.description} ", shipped.name


@pytest.mark.long
@pytest.mark.parametrize("shipped", PLANS, ids=lambda shipped: shipped.name)
def test_a_copy_is_the_plan_with_all_that_it_takes(shipped: ShippedPlan, tmp_path: Path) -> None:
    first, *_ = shipped_plans.copy(shipped.name, tmp_path)
    assert first == tmp_path / f"{shipped.name}.toml"
    assert first.read_bytes() == shipped.path.read_bytes()
    assert plan.load(first).workloads == plan.load(shipped.path).workloads


def test_a_plan_is_copied_shown_and_run_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("plan", "copy", "pgbench-scripts", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().err.splitlines() == [
        "wrote pgbench-scripts.toml",
        "wrote scripts/read.sql",
        "wrote scripts/transfer.sql",
    ]
    assert run("plan", "show", "pgbench-scripts", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == Path("pgbench-scripts.toml").read_text()
    assert run("calibrate", "calibrate-small", "--dry-run", monkeypatch=monkeypatch) == 0
    assert "ghost" in capsys.readouterr().out
    assert run("run", "calibrate-smal", monkeypatch=monkeypatch) == 2
    assert "did you mean `calibrate-small`?" in capsys.readouterr().err


def test_a_file_of_ones_own_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert shipped_plans.located(Path("upgrade")).parent == shipped_plans.folder()
    Path("upgrade").touch()
    for own in ("upgrade", "upgrade.toml", "some/upgrade"):
        assert shipped_plans.located(Path(own)) == Path(own)


def test_a_copy_replaces_nothing(tmp_path: Path) -> None:
    shipped_plans.copy("pgbench-scripts", tmp_path)
    assert shipped_plans.copy("counts-other-benchmarks", tmp_path) == [
        tmp_path / "counts-other-benchmarks.toml"  # its scripts are there already, the same
    ]
    (tmp_path / "counts-other-benchmarks.toml").unlink()
    script = tmp_path / "scripts" / "read.sql"
    script.write_text("SELECT 1;")
    before = sorted(tmp_path.rglob("*"))
    for name, there in [("counts-other-benchmarks", script), ("pgbench-scripts", None)]:
        with pytest.raises(PlanError) as error:
            shipped_plans.copy(name, tmp_path)
        assert str(error.value) == (
            f"{there or tmp_path / 'pgbench-scripts.toml'}: is there already: move it, or name "
            "another folder by --to"
        )
    assert sorted(tmp_path.rglob("*")) == before and script.read_text() == "SELECT 1;"


def test_a_full_disk_leaves_no_part_of_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write, written = shipped_plans.write_atomically, []

    def fills_up(path: Path, content: bytes) -> None:
        if len(written) == 2:
            raise DiskError(f"{path}: {os.strerror(28)}")
        written.append(path)
        write(path, content)

    monkeypatch.setattr(shipped_plans, "write_atomically", fills_up)
    with pytest.raises(DiskError):
        shipped_plans.copy("farm", tmp_path)
    assert written and not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_plan_that_comes_along_is_taken_apart_from_a_copy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("attribute", "upgrade", "--arm", "pg18", monkeypatch=monkeypatch) == 2
    assert "run `dyno plan copy upgrade`, then take upgrade.toml" in capsys.readouterr().err
