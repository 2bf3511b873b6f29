"""Whole log directories without a broker, each with a file that says what is true of it."""
