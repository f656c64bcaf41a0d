"""Reads a server's log files into calls: csvlog, jsonlog and stderr of PostgreSQL.

`files.py` opens files and puts them in order, `csv_log.py`, `json_log.py` and `stderr_log.py` read
records, and `calls.py` makes calls of the records of a session.
"""
