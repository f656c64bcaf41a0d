"""The Lua file that sysbench runs: the step's script, with its threads held at both ends.

sysbench loads it once for each thread. Nothing in it runs between the events of a thread: it
stands before the first one and after the last one, and in the thread that reports each second.
"""

from __future__ import annotations

import json
from pathlib import Path

from dbdyno.run.driver.sysbench.report import OVER, READY

TEXT = """
local load = {how}
load({script})
local begin, finish = thread_init, thread_done
local function held(word, work, id)
   io.write(word .. "\\n")
   io.read("*l")
   if work then work(id) end
end
function thread_init(id)
   if begin then begin(id) end
   held("{ready}", nil, id)
end
function thread_done(id)
   held("{over}", finish, id)
end
function sysbench.hooks.report_intermediate(stat)
   io.write(string.format("dyno: second %.9f %.9f %d %d %d %d %d %d %d\\n",
      stat.time_total, stat.time_interval, stat.threads_running, stat.events,
      stat.reads, stat.writes, stat.other, stat.errors, stat.reconnects))
end
sysbench.hooks.report_cumulative = nil
"""


def text(script: str | Path) -> str:
    """The file for a script: a path, or the name of one that comes with sysbench."""
    how = "dofile" if isinstance(script, Path) else "require"
    quoted = json.dumps(str(script), ensure_ascii=False)
    return TEXT.format(how=how, script=quoted, ready=READY, over=OVER)
