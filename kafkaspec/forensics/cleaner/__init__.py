"""The effects of a broker's cleaner and retention on a log: when, by which rule, why not yet."""
