"""Make what the explorer knows of the specification, and bundle it."""
