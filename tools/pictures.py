"""Takes the three pictures of docs/ from a race on this machine: `make pictures`.

docs/race.png is the race in its terminal, docs/live.png the page of `dyno serve` while it runs,
docs/report.png the first page of its report. Chromium photographs all three. On a busy machine a
race may end undecided: `python tools/pictures.py RESULT` takes the report of a given result.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import terminal_picture
from terminal_picture import screen

DOCS = Path(__file__).parent.parent / "docs"
RACE = ("dyno", "race", "12", "18", "--steps", "hot-points,point-query")
"""The first step's difference is known and published, so that a busy machine decides it, too."""
COLUMNS, ROWS = 100, 12
REPORT, LIVE = (1100, 800), (1100, 1000)
"""Width and height of the windows, in points of the page."""
BYTES_MAX = 300_000
SCALES = (2.0, 1.5, 1.25, 1.0, 0.75)
"""Dots of a picture for a point of the page: the first of these that keeps it small is taken."""
LOADED_MS_MAX = 20_000
PAUSE_S = 45
"""Between two pictures of the live page: Chromium takes processors from the race."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def main(results: list[str]) -> None:
    """Races, and writes the pictures; or the report's alone, of one of `results`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if results:
            photograph_report(Path(results[0]), folder)
            return
        (folder / "results").mkdir()
        terminal = terminal_picture.Terminal(RACE, columns=COLUMNS, folder=folder)
        with ThreadPoolExecutor() as pool, serving(folder) as link:
            race = pool.submit(terminal.read)
            live = watch(race, link, folder)
        written = race.result()
        (plan,) = folder.glob("results/*/plan.json")
        photograph_report(plan.parent, folder)
        photograph_race(written, DOCS / "race.png", folder)
        shutil.copy(live, DOCS / "live.png")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """`dyno serve` of the results in `folder`, and its address."""
    command = ["dyno", "serve", "--port", "0", "--open"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            found = re.search(r"http://\S+", server.stderr.readline())
            assert found, "dyno serve did not say its address"
            yield found[0]
        finally:
            server.terminate()


def watch(race: Future[str], link: str, folder: Path) -> Path:
    """The last picture of the live page that was taken while the race ran."""
    live, now = folder / "live.png", folder / "now.png"
    while not race.done():
        time.sleep(PAUSE_S)
        for plan in folder.glob("results/*/plan.json"):
            photograph(f"{link}live/{plan.parent.name}", now, LIVE)
            if not race.done():
                now.replace(live)
    return live


def photograph_report(result: Path, folder: Path) -> None:
    """Writes a picture of the first page of a result's report."""
    report = folder / "report.html"
    subprocess.run(["dyno", "report", result, "--html", report], check=True)
    photograph(report.as_uri(), DOCS / "report.png", REPORT)


def photograph_race(written: str, file: Path, folder: Path) -> None:
    """Writes a picture of the race's terminal: while it runs, and below that at its end."""
    running, shown, ended = written.rpartition(terminal_picture.CURSOR_SHOWN)
    assert shown, "the race had no live display"
    prompt = f"$ {' '.join(RACE)}"
    windows = [
        terminal_picture.svg(lines, title=title, columns=COLUMNS)
        for title, lines in (
            ("while it runs", [prompt, *screen(running)[-ROWS:]]),
            ("at its end", screen(ended)),
        )
    ]
    sizes = [re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', window)[0] for window in windows]
    page = folder / "terminal.html"
    blocks = "".join(
        f'<div style="height: {size[1]}px">{its}</div>'
        for size, its in zip(sizes, windows, strict=True)
    )
    page.write_text(f'<body style="margin: 0">{blocks}</body>', encoding="utf-8")
    width, height = float(sizes[0][0]), sum(float(size[1]) for size in sizes)
    photograph(page.as_uri(), file, (round(width), round(height)))


def photograph(link: str, file: Path, window: tuple[int, int]) -> None:
    """Writes what a window shows of a page, as a PNG of less than `BYTES_MAX`.

    Raises StopIteration where this machine has no Chromium.
    """
    program = next(path for name in CHROMIUM if (path := shutil.which(name)))
    for scale in SCALES:
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--force-device-scale-factor={scale}", f"--window-size={window[0]},{window[1]}",
            f"--timeout={LOADED_MS_MAX}", f"--screenshot={file}", link,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        if file.stat().st_size < BYTES_MAX:
            return
    raise ValueError(f"{link}: its picture is never below {BYTES_MAX} bytes: a smaller window")


if __name__ == "__main__":
    main(sys.argv[1:])
