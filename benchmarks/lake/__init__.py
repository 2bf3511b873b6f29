"""The cost of a lake: measured steps, a model of them, and what it says of 100 TB."""
