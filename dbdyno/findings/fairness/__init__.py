"""How evenly a step served its clients, and the seconds in which it stood still."""
