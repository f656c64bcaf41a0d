"""The sysbench microbenchmarks on real servers: what the server's log says that it was sent."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno import plan, runner
from dbdyno.model import Json
from dbdyno.server import Build, fetch
from dbdyno.store import Results, StepFolder

pytestmark = pytest.mark.live

ROWS = 3_000
TABLES = 2
PLAN = """
name = "suite"
[arms.a]
base_dir = "{base_dir}"
memory = "256MB"
config = "x10a"
settings = {{ log_statement = "all", log_line_prefix = "%a|%p ", autovacuum = "off" }}
[server]
data_dir = "{data}"
[[workloads]]
name = "sysbench"
set = "{set}"
parameters = {{ clients = 2, tables = {tables}, rows = {rows}, seconds = 0.5, write_seconds = 0.5, \
scan_warm_s = 0.3, warmup_s = 0.2, pause_s = 0 }}
{more}
"""
