"""The history of a log, what can be recovered of it, and how well that is proven."""
