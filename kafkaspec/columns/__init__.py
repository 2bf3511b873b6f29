"""Columns of the records of a log, with any codec: one reader, and the memory that it fills."""
