"""What becomes of an application's plans, told without its data."""
