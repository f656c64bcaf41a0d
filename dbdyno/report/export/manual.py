"""docs/export.md: how to export, every table with its columns, and questions in SQL to start from.

The tables themselves generate the page; a test compares, and asks every question.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill

from dbdyno.report.export.form import RESULT, RUN, ExportColumn, ExportTable
from dbdyno.report.export.tables import TABLES

QUESTIONS: Mapping[str, str] = {
    "Ratios by step, as reports show them relative to the base": """
SELECT step, arm, metric, kind, estimate, low, high, blocks
FROM comparisons
WHERE headline AND arm <> base
ORDER BY workload, ordinal, arm
""",
    "Verdicts, with the figures behind them": """
SELECT step, arm, step_verdict, metric, verdict, round(100 * (estimate - 1), 1) AS change_pct,
       q, visible, blocks_needed
FROM verdicts
WHERE family = 'primary'
ORDER BY workload, ordinal, arm, metric
""",
    "p99 over time in one step, one column per arm (mean over the blocks)": """
PIVOT (
  SELECT arm, ceil(second) AS second, p99_us
  FROM ticks
  WHERE step = 'qr100' AND kind = 'query' AND judged
)
ON arm USING round(avg(p99_us)) GROUP BY second ORDER BY second
""",
    "CPU per query by arm and owner, in microseconds": """
SELECT step, arm, owner, round(sum(cpu_us) / sum(rate * window_s), 1) AS cpu_us_per_query
FROM costs NATURAL JOIN steps
WHERE headline = 'qps' AND judged
GROUP BY ALL ORDER BY step, owner, arm
""",
    "Steps that missed their target, and by how much": """
SELECT step, arm, block, target, achieved, round(100 * (1 - achieved / target), 1) AS missing_pct
FROM steps
WHERE NOT held AND judged
ORDER BY missing_pct DESC
""",
    "The canary over all steps, in the order of their runs": """
PIVOT (
  SELECT started, arm, block, void, step, metric, value
  FROM metrics NATURAL JOIN steps
  WHERE metric LIKE 'canary%'
)
ON metric USING any_value(value) ORDER BY started
""",
    "Statements that found no row": """
SELECT step, arm, block, name, per_s, rows_per_s, round(100 * (1 - found), 1) AS missed_pct
FROM statements
WHERE found < 0.99 AND judged
ORDER BY missed_pct DESC
""",
    "Throughput by scale and clients, clients side by side (mean over the blocks)": """
PIVOT (
  SELECT arm, sweep, parameter_value AS scale, clients, rate
  FROM steps NATURAL JOIN swept
  WHERE parameter = 'scale' AND measured AND judged
)
ON clients USING round(avg(rate)) GROUP BY arm, sweep, scale ORDER BY arm, sweep, scale
""",
    "The five fastest steps of each arm, also per client": """
SELECT arm, workload, step, clients, round(avg(rate)) AS per_s,
       round(avg(rate) / clients) AS per_client
FROM steps
WHERE measured AND judged
GROUP BY arm, workload, step, clients
QUALIFY row_number() OVER (PARTITION BY arm ORDER BY avg(rate) DESC) <= 5
ORDER BY arm, per_s DESC
""",
    "Variation between blocks, relative to the slowest; three blocks and more": """
SELECT workload, step, arm, count(*) AS blocks, round(min(rate)) AS least,
       round(max(rate)) AS most, round(100 * (max(rate) / min(rate) - 1), 1) AS variation_pct
FROM steps
WHERE measured AND judged AND rate > 0
GROUP BY workload, step, arm
HAVING count(*) > 2
ORDER BY variation_pct DESC, workload, step, arm
""",
    "The fastest step of each arm that keeps p99 under 10 ms in every block": """
SELECT arm, workload, step, clients, round(avg(rate)) AS per_s,
       round(max(p99_us) / 1000, 2) AS p99_ms
FROM steps NATURAL JOIN response
WHERE response."of" = 'kind' AND name = 'query' AND measured AND judged
GROUP BY arm, workload, step, clients
HAVING max(p99_us) < 10_000
QUALIFY row_number() OVER (PARTITION BY arm ORDER BY avg(rate) DESC) = 1
ORDER BY arm
""",
    "Response times by requested rate, with the actual rate": """
SELECT workload, arm, sweep, clients, parameter_value AS asked, round(avg(rate)) AS per_s,
       round(avg(p50_us)) AS p50_us, round(avg(p99_us)) AS p99_us
FROM steps NATURAL JOIN swept NATURAL JOIN response
WHERE parameter = 'rate' AND response."of" = 'kind' AND name = 'query' AND judged
GROUP BY workload, arm, sweep, clients, asked
ORDER BY workload, arm, sweep, clients, asked
""",
    "Each arm's peak over the clients, and the rest with the most clients": """
SELECT workload, sweep, arm, clients, fewest, most, round(peak) AS per_s, ratio, low, high,
       drop_factor, drop_ratio
FROM peaks
ORDER BY workload, sweep, arm
""",
    "What sessions did, most frequent first (`[observe] waits_sessions`)": """
SELECT count(*) AS samples, state, kind, event, query, pid
FROM wait_samples
WHERE kind <> 'idle' AND judged
GROUP BY ALL ORDER BY samples DESC
""",
}
"""Questions about a result, in SQL."""

HEAD = """# Export

Generated from `tables.py` and `manual.py` in `dbdyno/report/export/` by `tools/export_page.py`;
change it there.

`dyno export` writes a result as tables for SQL, spreadsheets and data frames. The result folder
([results.md](results.md)) remains the original; export from it as often as you like.

```
dyno export results/demo --to demo.duckdb                  all tables, for SQL
dyno export results/demo results/other --to all.duckdb     several plans together
dyno export results/demo --to steps.csv                    one table: steps
dyno export results/demo --to ticks.parquet --table ticks  one table, named
dyno export results/demo --to demo/ --format csv           one file per table in a folder
dyno export results/demo --flame flames/                   flame graphs of profiled steps
```

- The extension selects the format: `.duckdb`, `.csv`, `.json` (one array of objects) or
  `.parquet`. A folder ends in `/` or already exists; its files are Parquet unless you pass
  `--format`.
- dyno replaces an existing file, whole or not at all.
- In a DuckDB file, every table and column has its comment (`duckdb_tables()`,
  `duckdb_columns()`).
- The export includes failed steps and void or unfinished blocks. Reports count only rows with
  `judged`; your means should too. A null means unknown, never 0.
- dyno omits what a damaged file contains, and says so.

Exports are written by DuckDB, an extra of the package: `pip install duckdb`, or install dyno as
`dbdyno[export]`.

In Python, the same tables are pandas data frames (`pip install pandas`, or `dbdyno[frames]`). dyno
makes each when you first ask for it:

```python
import dbdyno

result = dbdyno.read("results/demo")  # or several folders
result.steps.query("judged").groupby(["step", "arm"]).rate.mean()
result.ticks  # every second of every step
```

A frame is whole in memory; for a plan of many hours, query a DuckDB file instead.

## Flame graphs

`--flame FOLDER` writes a folder for each profiled step and arm, such as
`point-query/01-point/pg18-beside-pg17/`, with what the server's CPU does for each operation:

- `pg18.svg`: the arm's flame graph, coloured by the change since the base. Red costs more itself,
  blue less. Any browser opens it, with zoom and search.
- `pg17.svg`: the base's own graph, coloured the other way. Red is what the base has more, such
  as functions that only it calls.
- `pg18-1ns.folded.txt`, `pg17-1ns.folded.txt`: folded stacks, `caller;callee COUNT`; the name says
  for how many nanoseconds a count stands. speedscope, the Firefox Profiler and the scripts of
  FlameGraph read them.
- `pg18.speedscope.json`: both arms for speedscope, in microseconds.

A name is `function@program`; the root is the owner of the process, as in the table of costs.
Counts are the means of the judged blocks that have a profile of both arms.

## Questions to start from

Ask them of a DuckDB file: `duckdb demo.duckdb`, or `duckdb.connect("demo.duckdb").sql(…)` in
Python. `NATURAL JOIN steps` adds the columns of `steps` to any table of steps, because the two
share only the columns that identify a step.
"""

TABLES_HEAD = """## Tables

Each row begins with `result` and `plan`. A row of a step of a run continues with the other seven:
"""


def document() -> str:
    """The whole page."""
    parts = [HEAD]
    parts += [f"{title}:\n\n```sql\n{sql.strip()}\n```\n" for title, sql in QUESTIONS.items()]
    parts += [TABLES_HEAD, _rows((*RESULT, *RUN))]
    parts += [_section(table) for table in TABLES]
    return "\n".join(parts)


def _section(table: ExportTable) -> str:
    shared = len(RESULT)
    begins = "`result`, `plan`"
    if table.columns[shared : shared + len(RUN)] == RUN:
        shared += len(RUN)
        begins = "a step of a run"
    row = fill(f"One row: {table.row}. Begins with {begins}.", 100, break_on_hyphens=False)
    return f"### `{table.name}`\n\n{row}\n\n" + _rows(table.columns[shared:])


def _rows(columns: Sequence[ExportColumn]) -> str:
    lines = ["| column | type | unit | what |", "|---|---|---|---|"]
    lines += [
        f"| `{column.name}` | {column.type} | {column.unit} | {column.what} |" for column in columns
    ]
    return "\n".join(lines) + "\n"
