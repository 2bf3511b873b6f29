"""What happened to a log, what can be had of it, and how far that is proven."""
