"""What the devices of the data and of the log did in a window."""
