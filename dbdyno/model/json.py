"""What JSON text is read into."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
