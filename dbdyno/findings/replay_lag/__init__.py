"""How far a standby was behind its primary."""
