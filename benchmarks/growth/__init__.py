"""How the time and the memory of each command grow with its input."""
