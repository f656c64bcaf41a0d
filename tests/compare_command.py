"""`dyno compare` within the process of a test."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dbdyno import cli

Dyno = Callable[..., tuple[int, str, str]]


@pytest.fixture(name="dyno")
def _dyno(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Dyno:
    """`dyno compare` as CI calls it: exit status, standard output, standard error."""

    def called(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dyno", "compare", *map(str, arguments)])
        try:
            status = cli.main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return called
