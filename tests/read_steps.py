"""A small workload for tests: one table, filled, then steps that read it or say that they write."""

NAMES = ("one", "two", "three", "four")
"""The steps; `two` is hidden, and runs another statement."""
HEAD = """
[parameters]
seconds = 3
warmup_s = 0
[tables.t]
create.any = "CREATE TABLE {t} (id int)"
[tables.t.fill]
rows = 1000
columns = { id = ":row" }
[values]
id = { uniform = [1, 1000] }
[statements]
point = { protocol = "prepared", any = "SELECT id FROM {t} WHERE id = :id" }
other = { protocol = "prepared", any = "SELECT id FROM {t} WHERE id > :id LIMIT 1" }
"""
STEP = """
[[steps]]
name = "NAME"
seconds = "{seconds}"
warmup_s = "{warmup_s}"
writes = WRITES
"""
SHOWN = """headline = { metric = "qps", role = "query", count = "operations" }
roles.query = { run = "point" }
"""
HIDDEN = """measured = false
roles.query = { run = "other" }
"""


def text(**writes: bool) -> str:
    """The workload; no step writes but those of which it is said."""
    steps = (
        STEP.replace("NAME", name).replace("WRITES", str(writes.get(name, False)).lower())
        + (HIDDEN if name == "two" else SHOWN)
        for name in NAMES
    )
    return HEAD + "".join(steps)
