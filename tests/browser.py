"""A headless Chromium that tests drive by the DevTools protocol, over a pipe.

No browser of its own and no library: a command is a line of JSON that ends with a zero byte, the
answer has its number, and what comes between are events.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_S_MAX = 120.0  # a busy host is slow; a browser that says nothing for so long is dead
END_S_MAX = 20.0


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

    def wait(self, condition: str, seconds_max: float = 60.0) -> None:
        """Waits until a JavaScript expression is true."""
        ends = time.monotonic() + seconds_max
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < ends, f"never true within {seconds_max} s: {condition}"
            time.sleep(0.05)

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
        return [words for event in self.browser.events if (words := _problem(event))]


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


class Browser:
    """A running Chromium and the two ends of its pipe."""

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

    def tab(self) -> Tab:
        """A new page whose console is listened to."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        made = Tab(self, session)
        for domain in ("Page", "Runtime", "Log"):
            made.ask(f"{domain}.enable")
        return made


def program() -> str:
    """Where Chromium is; skips the test where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: the page is not opened in a browser")
    return found


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """A Chromium that keeps its things in `folder` and saves downloads in `folder/saved`."""
    path = program()
    to_browser, writing = os.pipe()
    reading, from_browser = os.pipe()
    log = (folder / "chromium.log").open("wb")
    # It reads commands from descriptor 3 and answers on 4: the shell can name these.
    command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
    process = subprocess.Popen(
        ["bash", "-c", command, path, *_options(folder)],
        pass_fds=(to_browser, from_browser),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        browser = Browser(reading, writing)
        saved = str(folder / "saved")
        browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=saved)
        yield browser
        browser.ask("Browser.close")
    finally:
        os.close(writing)
        os.close(reading)
        log.close()
        _end(process)


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


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(END_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
