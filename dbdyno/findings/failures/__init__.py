"""How operations failed, were tried again, or missed their latency limit."""
