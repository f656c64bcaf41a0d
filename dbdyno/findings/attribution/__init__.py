"""Which of several factors makes two arms differ."""
