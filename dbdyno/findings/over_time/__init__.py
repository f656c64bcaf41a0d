"""The window of a step by the second: rates, longest responses, host and devices."""
