"""How the operations of a step ended: completed, rolled back as they were to, failed."""
