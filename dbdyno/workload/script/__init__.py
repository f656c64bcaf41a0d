"""pgbench's script language: SQL and backslash commands in a file become a job's instructions.

    source      a script's text, and complaints that show a place in it
    sql         cuts SQL into commands, as psql's and pgbench's common lexer does
    token       cuts an expression into tokens
    value       what a script has to know of a value of its workload file
    function    which functions there are, and how many arguments each takes
    expression  parses an expression, as a tree
    command     the commands of a script, parsed one by one
    flow        whether conditionals match, and pipelines and transactions end
    compile     commands become instructions, statements and variables of a job
    files       finds and reads scripts, and brings those of a step into its job

What pgbench refuses is refused, and so is what would end its clients in any case; docs/workload.md
says where this departs from it.
"""

from dbdyno.workload.script.compile import CompiledScript, Scripts
from dbdyno.workload.script.source import ScriptText

__all__ = ["CompiledScript", "ScriptText", "Scripts"]
