"""Runs the tests for `make test`, with `--all` for `make test-all`; other words go to pytest.

The parts start together and share the processors: tests of Rust and tests with servers wait most of
their time, for windows to pass and servers to start, while tests without servers compute. Each part
says its words when it has ended; the last lines say how many passed, failed and were skipped, and
by which commands comes what was skipped for want of a program or a server.

WITHOUT_SERVERS_AS may name a command that runs the tests without servers, as CI runs them by
another account.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
FAST = "not soak and not long and (not live or capability)"
REST = "not soak and (long or hypothesis or (live and not capability))"
EXAMPLES = {"DYNO_TEST_EXAMPLES": "100"}
"""How many examples of each property `make test-all` tries; `make test` those of conftest.py."""
NO_TESTS = 5
"""Pytest's status where the words that it was given leave no test."""
BRINGS = re.compile(r"`((?:apt-get install|dyno server fetch|pip install|make) [^`]+)`")
ONLY_LIVE = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.live", re.MULTILINE)
PERCENT = re.compile(r"\[ *(\d+)%\]$", re.MULTILINE)
PROGRESS_S = 60
"""How often a line says how far the parts have come."""
TEST_S_MAX = 900
"""How long a test may take before its process is ended as one that hangs."""
RUST = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Tests that one command runs."""

    name: str
    words: Sequence[str | Path]
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a part has come to."""

    part: Part
    status: int
    seconds: float
    passed: int
    failed: int
    skipped: list[str]  # reasons, one of each test

    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.part.name}: {self.passed} passed, {self.failed} failed, "
            f"{len(self.skipped)} skipped in {self.seconds:.0f} s"
        )


def main(arguments: Sequence[str]) -> int:
    """Runs all parts; returns the exit status."""
    everything = "--all" in arguments
    words = [word for word in arguments if word != "--all"]
    with tempfile.TemporaryDirectory(prefix="dyno-suite-") as folder:
        parts = [
            *([] if words else [rust(everything)]),
            *pytests(Path(folder), everything=everything, words=words),
        ]
        names = ", ".join(part.name for part in parts)
        print(f"side by side, each with its words once it has ended: {names}", flush=True)
        with ThreadPoolExecutor(len(parts)) as pool:
            runs = {pool.submit(run, part, Path(folder)): part for part in parts}
            while wait(runs, timeout=PROGRESS_S).not_done:
                said = [
                    progress(part, Path(folder)) for job, part in runs.items() if not job.done()
                ]
                print("under way:", ", ".join(said), flush=True)
            outcomes = [job.result() for job in runs]
    print(*closing(outcomes), sep="\n")
    return int(any(outcome.status for outcome in outcomes))


def rust(everything: bool) -> Part:
    """The tests of Rust."""
    more = ["--all"] if everything else []
    return Part(name="rust", words=[sys.executable, ROOT / "tools" / "rust_tests.py", *more])


def pytests(folder: Path, *, everything: bool, words: Sequence[str]) -> list[Part]:
    """The tests of Python, with servers and without."""
    chosen = REST if everything else FAST
    # No part's processes read files in which it has no test: to read all takes each half a minute.
    texts = {} if words else {file: file.read_text() for file in test_files()}
    marks = ("mark.live",) if everything else ("mark.live", "mark.capability")
    live = [file for file, text in texts.items() if all(mark in text for mark in marks)]
    alone = [file for file, text in texts.items() if not ONLY_LIVE.search(text)]
    variables = EXAMPLES if everything else {}
    processors = len(os.sched_getaffinity(0))
    # A processor serves several that wait for servers; each process takes a while to begin.
    waiting = 4 if everything else 2
    return [
        Part(
            name="with servers",
            words=[
                *pytest(folder, "with servers", f"live and {chosen}", waiting * processors),
                *("--dist", "loadgroup"),
                *words,
                *live,
            ],
            variables=variables,
        ),
        Part(
            name="without servers",
            words=[
                *shlex.split(os.environ.get("WITHOUT_SERVERS_AS", "")),
                *pytest(folder, "without servers", f"not live and {chosen}", processors),
                *("--dist", "worksteal"),
                *words,
                *alone,
            ],
            variables=variables,
        ),
    ]


def test_files() -> list[Path]:
    """Every file of Python tests."""
    return sorted((ROOT / "tests").glob("test_*.py"))


def pytest(folder: Path, name: str, chosen: str, processes: int) -> list[str | Path]:
    """How pytest runs the tests that an expression of marks chooses."""
    return [
        *(sys.executable, "-m", "pytest", "-m", chosen, "-n", str(processes)),
        *("-o", f"cache_dir=.pytest_cache/{name}", f"--junitxml={folder / name}.xml"),
        # A test that hangs ends its process, says where it stood, and fails.
        *("-o", f"faulthandler_timeout={TEST_S_MAX}", "-o", "faulthandler_exit_on_timeout=true"),
    ]


def run(part: Part, folder: Path) -> Outcome:
    """Runs a part to its end, and prints in one piece what it has said."""
    begin = time.monotonic()
    with log(part, folder).open("w") as output:
        done = subprocess.run(
            part.words,
            cwd=ROOT,
            env=os.environ | part.variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    said = log(part, folder).read_text(errors="replace")
    print(f"--- {part.name}", said, sep="\n", flush=True)
    report = folder / f"{part.name}.xml"
    counts = of_report(report) if report.exists() else of_rust(said)
    passed, failed, skipped = counts
    return Outcome(
        part=part,
        status=0 if done.returncode == NO_TESTS else done.returncode,
        seconds=time.monotonic() - begin,
        passed=passed,
        failed=failed or int(done.returncode not in (0, NO_TESTS)),
        skipped=skipped,
    )


def log(part: Part, folder: Path) -> Path:
    """Where a part's words are kept until it has ended."""
    return folder / f"{part.name}.log"


def progress(part: Part, folder: Path) -> str:
    """How far a part has come; its name alone where it does not tell."""
    percents = PERCENT.findall(log(part, folder).read_text(errors="replace"))
    return f"{part.name} {percents[-1]} %" if percents else part.name


def of_report(report: Path) -> tuple[int, int, list[str]]:
    """How many tests of a JUnit report passed and failed, and why others were skipped."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = sum(
        case.find("failure") is not None or case.find("error") is not None for case in cases
    )
    reasons = [case.find("skipped") for case in cases]
    skipped = [reason.get("message", "") for reason in reasons if reason is not None]
    return len(cases) - failed - len(skipped), failed, skipped


def of_rust(said: str) -> tuple[int, int, list[str]]:
    """The same from what the programs of cargo's tests have said."""
    counts = [tuple(map(int, found)) for found in RUST.findall(said)]
    passed, failed, ignored = (sum(column) for column in zip((0, 0, 0), *counts, strict=True))
    return passed, failed, ["ignored"] * ignored


def closing(outcomes: Sequence[Outcome]) -> list[str]:
    """The last lines."""
    skipped = [reason for outcome in outcomes for reason in outcome.skipped]
    brought = Counter(
        found.group(1) if (found := BRINGS.search(reason)) else "" for reason in skipped
    )
    other = brought.pop("", 0)
    by = [f"{count} by `{command}`" for command, count in brought.most_common()]
    by += [f"{other} for the reasons above"] if other else []
    notes = os.environ.get("DYNO_TEST_NOTES", "").splitlines()
    passed, failed = (
        sum(getattr(outcome, name) for outcome in outcomes) for name in ("passed", "failed")
    )
    return [
        *(outcome.line() for outcome in outcomes),
        *notes,
        *(
            [f"skipped tests run once their servers and programs are here: {', '.join(by)}"]
            if by
            else []
        ),
        f"tests: {passed} passed, {failed} failed, {len(skipped)} skipped",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
