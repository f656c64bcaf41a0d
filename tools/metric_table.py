"""Writes docs/metrics.md from the tables of metrics and state: `python tools/metric_table.py`."""

from pathlib import Path

from dbdyno.model import metric
from dbdyno.model.metric import state

PATH = Path(__file__).parent.parent / "docs" / "metrics.md"


def page() -> str:
    """The whole page."""
    return f"{metric.document()}\n{state.document()}"


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
