"""Codecs that others wrote the engine of: second opinions on what our own codecs read."""
