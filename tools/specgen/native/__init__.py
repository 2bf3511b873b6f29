"""Emits the core of the native codec."""
