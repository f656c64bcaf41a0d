"""Runs the Rust tests for `make test`, several programs at a time: most wait for time to pass.

What speaks to servers is tested both by epoll and by io_uring. Other tests run meanwhile, beside
which one can be late: a program that fails runs once more, after all others. The exit status says
whether all went well then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

AT_ONCE = 3
BOTH_WAYS = ("hostile", "live", "null")
CARGO = ("cargo", "test", "--locked", "--quiet")


def main() -> int:
    """Builds and runs them; returns the exit status."""
    built = said("--no-run", "--message-format", "json-render-diagnostics")
    if built.returncode != 0:
        return built.returncode
    runs = [*programs(built.stdout), partial(said, "--doc")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = [told(done) for done in pool.map(lambda run: run(), runs)]
    failed = [run for run, status in zip(runs, statuses, strict=True) if status]
    statuses = [told(run()) for run in failed]
    return int(any(statuses))


def said(*words: str) -> subprocess.CompletedProcess[str]:
    """What cargo says to these words; its errors go to standard error."""
    return subprocess.run([*CARGO, *words], stdout=subprocess.PIPE, text=True, check=False)


def programs(messages: str) -> Iterator[partial[subprocess.CompletedProcess[str]]]:
    """How each program runs that cargo has built, those first that run both ways."""
    tests = {}
    for line in messages.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            tests[message["executable"]] = message["target"]["name"]
    by_io_uring = {"DYNO_TEST_WAIT": "io_uring"}
    both = [(path, by_io_uring) for path, name in tests.items() if name in BOTH_WAYS]
    for path, variables in [*both, *((path, {}) for path in tests)]:
        yield partial(
            subprocess.run, [path, "--quiet"], env={**os.environ, **variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip


def told(done: subprocess.CompletedProcess[str]) -> int:
    """Prints what a program has said, in one piece; returns its exit status."""
    print(" ".join(done.args), done.stdout, sep="\n", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
