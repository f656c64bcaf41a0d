"""A headless Chromium that tests drive by the DevTools protocol, over a pipe.

No browser of its own and no library: a command is a line of JSON that ends with a zero byte, the
answer has its number, and what comes between are events.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_S_MAX = 120.0  # a busy host is slow; a browser that says nothing for so long is dead
END_S_MAX = 20.0
SAVED_S_MAX = 60.0


class Tab:
    """One page of the browser: commands, JavaScript, and what the console was told."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser = browser
        self.session = session

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """A command's answer; AssertionError where the browser refuses it."""
        return self.browser.ask(method, self.session, **parameters)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise's value where it is one."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(
        self,
        condition: str,
        seconds_max: float = 60.0,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Waits until a JavaScript expression is true; calls `meanwhile` until then."""
        ends = time.monotonic() + seconds_max
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < ends, f"never true within {seconds_max} s: {condition}"
            meanwhile()
            time.sleep(0.05)

    def hover(self, place: Callable[[], tuple[float, float]], condition: str) -> None:
        """Moves the mouse to a place until a JavaScript expression is true.

        Asks for the place each time: a chart moves while others above it are being drawn.
        """

        def move() -> None:
            x, y = place()
            self.mouse("mouseMoved", x - 1, y + 1)
            self.mouse("mouseMoved", x, y)

        self.wait(condition, meanwhile=move)

    def width(self, pixels: int, height: int = 900, *, mobile: bool = False) -> None:
        """Makes the window this wide; `mobile` as a telephone is."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=pixels,
            height=height,
            deviceScaleFactor=2 if mobile else 1,
            mobile=mobile,
        )

    def media(self, kind: str = "", **features: str) -> None:
        """Sets the medium (`print`) and its features: `prefers_color_scheme="dark"`."""
        named = [{"name": key.replace("_", "-"), "value": features[key]} for key in features]
        self.ask("Emulation.setEmulatedMedia", media=kind, features=named)

    def open(self, path: Path) -> None:
        """Opens a file and waits until its scripts have run."""
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.wait(f"location.href === {json.dumps(path.resolve().as_uri())}")
        self.wait("document.readyState === 'complete'")

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """An event of the mouse, as if it came from a hand: `mousePressed`, `mouseMoved` …"""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot")["data"])

    def paper(self, **options: object) -> bytes:
        """The page as PDF."""
        asked = {"printBackground": True, "preferCSSPageSize": True} | options
        return base64.b64decode(self.ask("Page.printToPDF", **asked)["data"])

    @property
    def said(self) -> list[str]:
        """Warnings and errors of the console, exceptions, and what the page was refused."""
        return [words for event in self._events() if (words := _problem(event))]

    def _events(self) -> Iterator[dict[str, Any]]:
        return (one for one in self.browser.events if one.get("sessionId") == self.session)


def _problem(event: Mapping[str, Any]) -> str:
    parameters = event["params"]
    match event["method"]:
        case "Runtime.exceptionThrown":
            return json.dumps(parameters["exceptionDetails"])
        case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
            return json.dumps(parameters["args"])
        case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
            return str(parameters["entry"]["text"])
    return ""


class Pipe:
    """The two ends of the pipe to a running Chromium."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self.writing = writing
        self.events: list[dict[str, Any]] = []
        self._number = 0
        self._rest = b""

    def ask(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Sends a command and waits for its answer; events on the way are kept."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        command |= {} if session is None else {"sessionId": session}
        os.write(self.writing, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next()
            if "method" in message:
                self.events.append(message)
            elif message["id"] == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result

    def _next(self) -> dict[str, Any]:
        parts = [self._rest]
        while b"\0" not in parts[-1]:
            ready, _, _ = select.select([self.reading], [], [], ANSWER_S_MAX)
            assert ready, f"the browser has said nothing for {ANSWER_S_MAX} s"
            read = os.read(self.reading, 1 << 20)
            assert read, "the browser has ended"
            parts.append(read)
        first, _, self._rest = b"".join(parts).partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message


class Browser:
    """Pages of a Chromium that share cookies and downloads with each other and with no others."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self.events = pipe.events
        self._context = {
            "browserContextId": self.ask("Target.createBrowserContext")["browserContextId"]
        }

    def ask(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """The answer to a command for the whole browser, or a session of it."""
        return self._pipe.ask(method, session, **parameters)

    def save_in(self, folder: Path) -> None:
        """Saves downloads in a folder from now on."""
        self.ask(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(folder),
            **self._context,
        )

    def tab(self) -> Tab:
        """A new page whose console is listened to."""
        target = self.ask("Target.createTarget", url="about:blank", **self._context)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        made = Tab(self, session)
        for domain in ("Page", "Runtime", "Log"):
            made.ask(f"{domain}.enable")
        return made

    def close(self) -> None:
        """Closes the pages and forgets what they kept."""
        self.ask("Target.disposeBrowserContext", **self._context)


def saved(path: Path) -> bytes:
    """What a page saved there, once it is whole."""
    ends = time.monotonic() + SAVED_S_MAX
    while not path.exists() or path.stat().st_size == 0:
        assert time.monotonic() < ends, f"{path.name} was not saved within {SAVED_S_MAX} s"
        time.sleep(0.05)
    return path.read_bytes()


def program() -> str:
    """Where Chromium is; skips the test where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here to open the page in: `apt-get install chromium`")
    return found


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A browser that knows nothing of earlier ones and saves downloads in `folder/saved`.

    All of a process are of one Chromium: starting one takes longer than many a page.
    """
    browser = Browser(_running())
    browser.events.clear()
    browser.save_in(folder / "saved")
    try:
        yield browser
    finally:
        browser.close()


@cache
def _running() -> Pipe:
    """The Chromium of this process; it ends with it."""
    path = program()
    folder = Path(tempfile.mkdtemp(prefix="dyno-chromium-"))
    to_browser, writing = os.pipe()
    reading, from_browser = os.pipe()
    # It reads commands from descriptor 3 and answers on 4: the shell can name these.
    command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
    with (folder / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", command, path, *_options(folder)],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    os.close(to_browser)
    os.close(from_browser)
    pipe = Pipe(reading, writing)
    atexit.register(_end, pipe, process, folder)
    return pipe


def _options(folder: Path) -> list[str]:
    return [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--no-first-run",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder / 'profile'}",
    ]


def _end(pipe: Pipe, process: subprocess.Popen[bytes], folder: Path) -> None:
    os.close(pipe.writing)  # upon which Chromium ends
    try:
        process.wait(END_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    os.close(pipe.reading)
    shutil.rmtree(folder, ignore_errors=True)
