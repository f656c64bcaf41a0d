"""The Lua file that sysbench runs: the step's script, with its threads held at both ends.

sysbench loads it once for each thread. Nothing in it runs between the events of a thread: it
stands before the first one and after the last one, and in the thread that reports each second.
Threads tell when they are let go and when they are done, as lines may be read late on a busy host.
"""

import json
from pathlib import Path

from dbdyno.run.driver.sysbench.report import BEGUN, OVER, READY

TEXT = """
local load = {how}
load({script})
local begin, finish = thread_init, thread_done
local ffi = require("ffi")
ffi.cdef[[
   typedef struct {{ int64_t seconds, ns; }} dyno_time;
   int dyno_clock(int, dyno_time *) __asm__("clock_gettime");
]]
local now = ffi.new("dyno_time")
local function say(word)
   ffi.C.dyno_clock(1, now)  -- CLOCK_MONOTONIC
   io.write(string.format("%s %d.%09d\\n", word, tonumber(now.seconds), tonumber(now.ns)))
end
function thread_init(id)
   if begin then begin(id) end
   io.write("{ready}\\n")
   io.read("*l")
   say("{begun}")
end
function thread_done(id)
   say("{over}")
   io.read("*l")
   if finish then finish(id) end
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
    return TEXT.format(how=how, script=quoted, ready=READY, begun=BEGUN, over=OVER)
