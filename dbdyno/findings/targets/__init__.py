"""The rates that a step asks for, and how each arm held them."""
