"""The Containerfile, and the script that it shares with `tools/wheel_trial`."""

import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMAGE = (ROOT / "Containerfile").read_text()
SCRIPT = (ROOT / "container" / "install").read_text()


def words(instruction: str) -> list[str]:
    """What the only line of an instruction says."""
    (line,) = re.findall(rf"(?m)^{instruction} (.*)$", IMAGE)
    return str(line).split()


def test_the_image_is_not_roots_and_lives_in_its_volume() -> None:
    (account,), (volume,), (folder,) = (words(name) for name in ("USER", "VOLUME", "WORKDIR"))
    variables = dict(word.split("=", 1) for word in words("ENV"))
    assert volume == folder == variables["HOME"]
    assert f"useradd --create-home --home-dir {folder} {account}\n" in SCRIPT
    assert variables["PATH"].startswith("/opt/dyno/bin:") and "-m venv /opt/dyno\n" in SCRIPT
    assert IMAGE.index("RUN ") < IMAGE.index("USER ") < IMAGE.index("ENTRYPOINT")


def test_all_that_is_copied_gets_past_the_list_of_what_is_not() -> None:
    *sources, target = words("COPY")
    everything, *kept = (ROOT / ".containerignore").read_text().split()
    assert everything == "*"
    for source in sources:
        assert any(fnmatch(source, pattern[1:] + "*") for pattern in kept), source
        assert f"{target}{Path(source).name}" in " ".join(words("RUN"))
    assert (ROOT / sources[0]).is_file()


def test_the_trial_takes_the_images_script_and_variables() -> None:
    trial = (ROOT / "tools" / "wheel_trial").read_text()
    assert "sh /trial/install /trial/*.whl" in trial and "sed -n 's/^ENV //p'" in trial
    for shell, script in (("sh", "container/install"), ("bash", "tools/wheel_trial")):
        subprocess.run([shell, "-n", ROOT / script], check=True)
