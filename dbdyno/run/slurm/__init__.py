"""Blocks by Slurm: one job per block, on nodes that the scheduler chooses.

`runner` is what a command uses, `batch` follows jobs up to a look, `collect` takes what they have
measured, `job` is what runs on a node; `spool` has the files between them, and `cluster` is all
that is said to Slurm.
"""
