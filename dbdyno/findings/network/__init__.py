"""The network between generators on other hosts and a step's server."""
