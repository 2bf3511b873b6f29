"""What cleaner and retention of a broker make of a log: when, by which rule, and why not yet."""
