"""Layout tables."""
