"""All that is said of a plan and its host before anything starts."""
