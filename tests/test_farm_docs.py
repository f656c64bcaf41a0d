"""The pages and files of a farm: each key is told, units are valid, the image takes the script."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dbdyno.farm import file
from dbdyno.farm.file import Branch, FarmForm
from dbdyno.farm.findings import FindingReport, ReportedChange

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "howto" / "farm.md").read_text()
FILES = ROOT / "dbdyno/plan/shipped" / "farm"


def keys_of_tables() -> set[str]:
    """What stands as code in the first column of the page's tables."""
    rows = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    return {key for row in rows for key in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("form", [FarmForm, Branch], ids=["farm", "branches"])
def test_each_key_of_the_file_is_told(form: type[FarmForm]) -> None:
    assert set(form.model_fields) - {"branches"} <= keys_of_tables()


def test_each_key_of_the_report_is_told() -> None:
    assert set(FindingReport.__struct_fields__) <= keys_of_tables()
    assert all(f"`{field}`" in PAGE for field in ReportedChange.__struct_fields__)


def test_the_file_to_start_from_is_read() -> None:
    farm = file.load(FILES / "farm.toml")
    assert farm.branch("master").pinned == "REL_18_0"


def test_image_and_service_are_made_by_one_script() -> None:
    image = (FILES / "Containerfile").read_text()
    assert "RUN sh /tmp/dyno/install /tmp/dyno/*.whl" in image
    assert "sh farm/install /tmp/*.whl" in PAGE
    script = (FILES / "install").read_text()
    for unit in FILES.glob("*.service"):
        text = unit.read_text()
        assert "User=dyno" in text and "useradd" in script
        assert "ExecStart=/opt/dyno/bin/dyno watch /srv/dyno/farm.toml" in text
    assert "python3 -m venv /opt/dyno" in script and "--home-dir /srv/dyno dyno" in script


def test_the_script_is_one_that_a_shell_reads() -> None:
    subprocess.run(["sh", "-n", FILES / "install"], check=True)


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="no systemd-analyze here: `apt-get install systemd`",
)
def test_the_units_are_valid(tmp_path: Path) -> None:
    for unit in FILES.glob("dyno-watch*"):
        text = unit.read_text().replace("/opt/dyno/bin/dyno", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    units = sorted(map(str, tmp_path.iterdir()))
    assert len(units) == 3
    checked = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False
    )
    said = [line for line in checked.stderr.splitlines() if str(tmp_path) in line]
    assert not said, said
