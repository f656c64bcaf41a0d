"""Counts the work of a server's processes under Valgrind's callgrind.

`program` finds it and writes its command line, `counts` reads what it has written.
"""
