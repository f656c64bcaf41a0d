"""The kinds of processor time, as the kernel counts and host.jsonl keeps them."""

CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""In the order of /proc/stat; guest time is within user and nice (proc(5))."""
BUSY = ("user", "nice", "system", "irq", "softirq")
"""Those in which it works for this machine."""
