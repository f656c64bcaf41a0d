"""PostgreSQL: builds, servers, settings, and what its statistics say."""
