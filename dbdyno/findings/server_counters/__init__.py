"""The server's own counters over a step: pages of its cache, InnoDB, the binary log."""
