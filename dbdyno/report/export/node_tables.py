"""The table of what nodes found. As tables.py has the others."""

from __future__ import annotations

from dbdyno.report.export.form import Table, table

NODES: tuple[Table, ...] = (
    table(
        "nodes", """a node's ratio of an arm to the base in a step by a primary metric, over its
        judged blocks, and what all nodes of the step say together; only if two nodes or more
        measured the step (docs/method.md)""",
        """
        workload  | text    | | the workload's name
        ordinal   | integer | | the step's place in its workload, from 1
        step      | text    | | the step's name
        base      | text    | | the arm to compare with
        arm       | text    | | the arm's name
        metric    | text    | | the metric's name
        node      | text    | | its name
        blocks    | integer | | its blocks in which both arms have the metric
        ratio     | number  | | geometric mean of these blocks' ratios, arm by base
        low       | number  | | lower end of its 95 % interval; null: no node has two blocks
        high      | number  | | upper end of its 95 % interval
        agreement | text    | | of all nodes: whether they disagree
        p         | number  | | p that all have one ratio; null: no node has two blocks
        q         | number  | | the same, adjusted over the arm's steps and primary metrics
        spread    | number  | | standard deviation between nodes, as a share
        spread_low  | number | | lower end of its 95 % interval
        spread_high | number | | upper end of its 95 % interval
        machines_ratio | number | | ratio on machines of which the nodes are a sample
        machines_low   | number | | lower end of its 95 % interval
        machines_high  | number | | upper end of its 95 % interval
        freedom        | integer | | its degrees of freedom: nodes less one
        """,
        (),
    ),
)  # fmt: skip
