"""The host, the servers and the load generator that measured."""
