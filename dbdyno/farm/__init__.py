"""The farm: follows branches night after night, finds what changed, and reports it (docs/farm.md).

Decisions are pure (`chain`, `alarm`); whatever acts is given to them.
"""
