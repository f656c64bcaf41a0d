"""The tables that say why arms differ, by function, counted work and factor.

As tables.py has the others.
"""

from __future__ import annotations

from dbdyno.report.export.form import Table, table

CAUSES: tuple[Table, ...] = (
    table(
        "work", """the work of an operation of a counted step: what an arm's server executes for it
        in user space, a mean over repeats, beside the base (docs/counts.md)""",
        """
        workload   | text    | | the workload's name
        step       | text    | | the step's name
        base       | text    | | the arm to compare with
        arm        | text    | | the arm's name
        word       | text    | | more, less, same, open or failed
        reason     | text    | | why it failed, or is open against expectation; else null
        repeats    | integer | | counts of each arm, each by a fresh server
        operations | integer | | operations counted in each repeat
        fills      | integer | | fills that each arm had of its own; 0: both began from the same
        base_instructions | number | | instructions of an operation, the base's
        arm_instructions  | number | | the same of the arm
        ratio      | number  | | of instructions, arm by base; null: it failed
        low        | number  | | lower end of its 95 % interval
        high       | number  | | upper end of its 95 % interval
        margin     | number  | | the share below which work is the same
        base_atomics      | number | | atomic instructions of an operation, the base's
        arm_atomics       | number | | the same of the arm
        base_system_calls | number | | system calls of an operation, the base's
        arm_system_calls  | number | | the same of the arm
        base_log_bytes     | number | bytes | log of an operation, the base's; null: not told
        base_pages_hit     | number | | pages found in the server's cache, the base's
        base_pages_read    | number | | pages that were not in it, the base's
        base_pages_dirtied | number | | how often a page was marked as changed, the base's
        arm_log_bytes      | number | bytes | log of an operation, the arm's
        arm_pages_hit      | number | | pages found in the server's cache, the arm's
        arm_pages_read     | number | | pages that were not in it, the arm's
        arm_pages_dirtied  | number | | how often a page was marked as changed, the arm's
        base_background    | number | | instructions of background processes, apart, the base's
        arm_background     | number | | the same of the arm; null: not told
        atomics_word      | text   | | more, fewer or open; null: the same
        system_calls_word | text   | | the same of system calls
        operations_needed | integer | | to tell one more of both; null: there were as many
        """,
        (),
    ),
    table(
        "work_functions", """a function in an operation of a counted step, a mean over repeats,
        beside the base; functions by themselves add up to the session's instructions""",
        """
        workload  | text    | | the workload's name
        step      | text    | | the step's name
        base      | text    | | the arm to compare with
        arm       | text    | | the arm's name
        function  | text    | | its name; ? for all that has no symbol in a binary
        binary    | text    | | the function's binary
        subsystem | text    | | the function's subsystem
        changed   | boolean | | whether it differs beyond what repeats differ by
        base_instructions | number | | by itself, in an operation, the base's
        arm_instructions  | number | | the same of the arm
        base_whole_instructions | number | | with what it calls, the base's
        arm_whole_instructions  | number | | the same of the arm
        base_calls   | number | | calls in an operation, the base's
        arm_calls    | number | | the same of the arm
        base_atomics | number | | atomic instructions by itself, the base's
        arm_atomics  | number | | the same of the arm
        base_system_calls | number | | system calls by itself, the base's
        arm_system_calls  | number | | the same of the arm
        """,
        (),
    ),
    table(
        "effects", """what a factor of `dyno attribute` does to a metric of a step, over all judged
        blocks: a ratio of the arm that is taken apart to the base (docs/attribute.md)""",
        """
        workload | text    | | the workload's name
        ordinal  | integer | | the step's place in its workload, from 1
        step     | text    | | the step's name
        metric   | text    | | the step's headline, or the server's CPU per operation
        kind     | text    | | effect, interaction, whole (arm by base) or remainder (of the whole)
        factor   | text    | | the factor; null: of them all
        other    | text    | | the other factor of an interaction
        ratio    | number  | | what the metric is multiplied by; null: no block has all its arms
        low      | number  | | lower end of its 95 % interval; null with one block
        high     | number  | | upper end of its 95 % interval
        blocks   | integer | | blocks that have all arms that tell it
        q        | number  | | p of no effect, adjusted over the metric's effects; null: not tested
        """,
        (),
    ),
)  # fmt: skip
