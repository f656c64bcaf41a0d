"""What a report does not show, and why."""
