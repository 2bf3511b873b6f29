"""Kaitai classes, by the official compiler."""
