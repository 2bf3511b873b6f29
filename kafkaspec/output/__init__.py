"""Outputs that are complete or not there, and that touch no input."""
