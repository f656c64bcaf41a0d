"""Steps at several numbers of clients: what more of them bring."""
