"""How to repeat a result."""
