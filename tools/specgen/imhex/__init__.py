"""Emit a pattern for ImHex."""
