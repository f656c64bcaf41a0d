"""The tables that say why arms differ, by function.

As tables.py has the others.
"""

from __future__ import annotations

from dbdyno.report.export.form import Table, table

CAUSES: tuple[Table, ...] = (
    table(
        "functions", """a function, or a subsystem, of an arm's server in a profiled step, over all
        judged blocks with profiles, beside the base; the functions of a step add up to the CPU of
        the whole server, and so do its subsystems (docs/profiles.md)""",
        """
        workload  | text    | | the workload's name
        ordinal   | integer | | the step's place in its workload, from 1
        step      | text    | | the step's name
        base      | text    | | the arm to compare with; the arm itself if it is the only one
        arm       | text    | | the arm's name
        kind      | text    | | function or subsystem
        name      | text    | | its name; ? for all that has no symbol in a binary
        binary    | text    | | the function's binary; null for a subsystem
        subsystem | text    | | the function's subsystem; null: no table knows it
        blocks    | integer | | blocks in which both arms have a profile
        base_us   | number  | µs | CPU per operation by itself, the base's mean of blocks
        arm_us    | number  | µs | the same of the arm
        more_us   | number  | µs | mean difference within blocks, arm less base
        low_us    | number  | µs | lower end of its 95 % interval; null with one block
        high_us   | number  | µs | upper end of its 95 % interval
        q         | number  | | p of no change, adjusted within step and arm; null: not tested
        base_whole_us | number | µs | CPU per operation with what it calls, the base's mean
        arm_whole_us  | number | µs | the same of the arm
        more_whole_us | number | µs | mean difference within blocks, arm less base
        low_whole_us  | number | µs | lower end of its 95 % interval
        high_whole_us | number | µs | upper end of its 95 % interval
        """,
        (),
    ),
)  # fmt: skip
