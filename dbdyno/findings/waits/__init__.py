"""What sessions do, by samples, and where the time of an operation goes."""
