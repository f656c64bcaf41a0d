"""The tables of an application's queries. As tables.py has the others."""

from __future__ import annotations

from dbdyno.report.export.form import ExportTable, table

QUERIES: tuple[ExportTable, ...] = (
    table(
        "answers", """what an application's query answers on an arm beside the base, asked before
        anything was timed; no value of an answer is kept""",
        """
        workload  | text    | | the workload's name
        step      | text    | | the query's name, which is that of its step
        base      | text    | | the arm to compare with
        arm       | text    | | the arm's name
        word      | text    | | the gravest of its calls: fails, fails on the base, different, …
        detail    | text    | | the error's class, or what differs; null: nothing more is known
        calls     | integer | | calls, each with other values, that were made on both
        calls_so  | integer | | of these, with this word
        """,
        (),
    ),
    table(
        "plan_trees", """how an application's query is planned on an arm beside the base, in a
        normal form without values""",
        """
        workload  | text    | | the workload's name
        step      | text    | | the query's name, which is that of its step
        base      | text    | | the arm to compare with
        arm       | text    | | the arm's name
        word      | text    | | changed, generic changed, unstable, other estimate, same, not known
        detail    | text    | | where the plans part; null: nowhere
        calls     | integer | | calls, each with other values, that were planned for on both
        calls_so  | integer | | of these, with another plan
        base_cost | number  | | the base's plan's cost in the planner's unit, where it changed
        arm_cost  | number  | | the same of the arm's
        base_plan | text    | | the base's plan where it changed, a node a line
        arm_plan  | text    | | the same of the arm's
        """,
        (),
    ),
)  # fmt: skip
