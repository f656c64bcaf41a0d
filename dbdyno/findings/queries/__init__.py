"""Tables of queries of an application."""
