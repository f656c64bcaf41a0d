"""What each node found of an arm, and whether nodes disagree."""
