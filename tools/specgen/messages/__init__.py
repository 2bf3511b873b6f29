"""Columns of messages."""
