"""What makes the load of a step."""
