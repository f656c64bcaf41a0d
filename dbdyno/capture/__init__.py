"""`dyno capture`: an application's own queries, from a server's views and logs into a folder.

`log/` reads the files of a server's log into calls, `view.py` reads what the server has counted,
`gather.py` brings calls together by query, `join.py` puts both together, `coverage.py` says what
is left out, and `folder.py` writes the folder. `dialect.py` is what is asked of a parser of SQL.
"""
