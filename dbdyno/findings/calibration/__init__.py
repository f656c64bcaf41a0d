"""How far the base differs from itself."""
