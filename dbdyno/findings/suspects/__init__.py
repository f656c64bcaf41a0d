"""The commits to look at first: those that touched the functions whose cost changed."""
