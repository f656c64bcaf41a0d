"""In what the arms differ, planned or not."""
