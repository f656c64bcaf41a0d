"""Queries that an arm plans otherwise."""
