"""What a report is made of, and how figures are written in it."""
