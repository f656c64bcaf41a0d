"""Drivers make a step's load: dyno-loadgen, pgbench, sysbench, or a workload file's program."""
