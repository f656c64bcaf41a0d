"""Writes docs/export.md from the tables of an export: `python tools/export_page.py`."""

from pathlib import Path

from dbdyno.report.export import manual

PATH = Path(__file__).parent.parent / "docs" / "export.md"


if __name__ == "__main__":
    PATH.write_text(manual.document(), encoding="utf-8")
