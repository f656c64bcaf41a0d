"""What makes figures doubtful: the heaviest on the first screen, all of them with each step."""
