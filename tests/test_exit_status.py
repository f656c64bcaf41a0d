"""The status of a race with failed steps, from the comparison that it has shown."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from comparison_builder import comparison
from dbdyno.analysis import compare
from dbdyno.cli import exit_status
from dbdyno.model.plan_record import ApplicationRecord
from dbdyno.store import Results


@pytest.mark.parametrize(("troubles", "status"), [(False, 0), (True, 1)])
def test_a_comparison_that_was_shown_is_not_loaded_again(
    troubles: bool, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use = SimpleNamespace(application=ApplicationRecord(queries=()))
    results = SimpleNamespace(failed_steps=lambda: 1, plan=SimpleNamespace(workloads=(use,)))
    loaded = []
    monkeypatch.setattr(Results, "open", lambda folder: results)
    monkeypatch.setattr(compare, "load", loaded.append)
    shown = comparison(troubles=troubles)
    assert shown.failed is bool(status)
    assert exit_status.of_result(Path("out"), shown) == status
    assert not loaded
