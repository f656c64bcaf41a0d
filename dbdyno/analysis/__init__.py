"""From result files to a comparison: derive, compare, explain. Pure but for reading the files."""
