"""A query of an application as a step: its SQL, and how it is named."""
