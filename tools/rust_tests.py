"""Runs the Rust tests for `make test`, or with `--all` what `make test-all` adds.

Several programs run at a time: most wait for time to pass. `make test` runs each once, with few
examples of each property. What speaks to servers waits for them by epoll or by io_uring; `--all`
runs it by the other way, and looks for longer where inputs are made up.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

AT_ONCE = 3
CARGO = ("cargo", "test", "--locked", "--quiet", "--profile=lean", "--tests", "--no-run")
WAYS = {"hostile": "io_uring", "live": "epoll", "null": "epoll"}
"""By which way programs wait in `make test`; `--all` runs these by the other."""
OTHER_WAY = {"epoll": "io_uring", "io_uring": "epoll"}
MADE_UP = ("dyno_loadgen", "fake_runs", "fuzz")
"""Programs with properties and made-up inputs."""
FEW = {"PROPTEST_CASES": "64", "BOLERO_RANDOM_TEST_TIME_MS": "400"}
MANY = {"PROPTEST_CASES": "512", "BOLERO_RANDOM_TEST_TIME_MS": "4000"}


def main(arguments: Sequence[str]) -> int:
    """Builds and runs them; returns the exit status."""
    built = subprocess.run(
        [*CARGO, "--message-format=json-render-diagnostics"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        return built.returncode
    tests = programs(built.stdout)
    runs = further_runs(tests) if "--all" in arguments else first_runs(tests)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = [told(done) for done in pool.map(lambda run: run(), runs)]
    return int(any(statuses))


def programs(messages: str) -> dict[str, str]:
    """The programs that cargo has built, by the path; those first that take longest."""
    tests = {}
    for line in messages.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            tests[message["executable"]] = message["target"]["name"]
    return dict(sorted(tests.items(), key=lambda test: test[1] not in WAYS))


Run = partial[subprocess.CompletedProcess[str]]


def first_runs(tests: Mapping[str, str]) -> Iterator[Run]:
    """How each program runs once."""
    for path, name in tests.items():
        way = {"DYNO_TEST_WAIT": WAYS[name]} if name in WAYS else {}
        yield program(path, {**FEW, **way})


def further_runs(tests: Mapping[str, str]) -> Iterator[Run]:
    """How programs run that have more to try."""
    for path, name in tests.items():
        if name in WAYS:
            yield program(path, {"DYNO_TEST_WAIT": OTHER_WAY[WAYS[name]]})
        elif name in MADE_UP:
            yield program(path, MANY)


def program(path: str, variables: Mapping[str, str]) -> Run:
    """How a program runs."""
    return partial(
        subprocess.run, [path, "--quiet"], env={**os.environ, **variables}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip


def told(done: subprocess.CompletedProcess[str]) -> int:
    """Prints what a program has said, in one piece; returns its exit status."""
    print(" ".join(done.args), done.stdout, sep="\n", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
