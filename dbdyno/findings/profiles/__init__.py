"""The CPU time of a server's functions for an operation, in each profiled arm beside the base."""
