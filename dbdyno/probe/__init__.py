"""Observes the database: statistics views, sizes, plans."""
