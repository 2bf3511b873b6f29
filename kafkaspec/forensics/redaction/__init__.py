"""Erase or hash keys, values and headers of records, and leave all else of a log as it is."""
