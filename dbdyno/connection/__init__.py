"""The lab's own connections to servers: one file for each protocol, one for passwords."""
