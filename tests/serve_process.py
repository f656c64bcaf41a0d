"""`dyno serve` in a process of its own, for a browser."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import own_lab

END_S_MAX = 30.0


@contextmanager
def serving(*roots: Path, options: tuple[str, ...] = ()) -> Iterator[str]:
    """The link that the server prints; the server ends with the block."""
    command = own_lab.command("serve", *roots, "--port", "0", *options)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, line
        yield found.group()
        process.send_signal(signal.SIGINT)
        assert process.wait(END_S_MAX) == 0, process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
