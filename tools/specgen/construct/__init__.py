"""Construct definitions."""
