"""Writes docs/metrics.md from the table of metrics: `python tools/metric_table.py`."""

from __future__ import annotations

from pathlib import Path

from dbdyno import metric

PATH = Path(__file__).parent.parent / "docs" / "metrics.md"


def main() -> None:
    """Writes the file."""
    PATH.write_text(metric.document(), encoding="utf-8")


if __name__ == "__main__":
    main()
