"""What servers do for an operation, counted."""
